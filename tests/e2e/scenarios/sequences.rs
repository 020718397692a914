//! One release after another, and over another.

use serde_json::json;

use super::{Scenario, before_pods, beside};
use crate::recorder::Release;
use crate::release::{Running, begin, prepare};
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("superseded", superseded),
    beside("superseded-then-aborted", superseded_then_aborted),
    beside("aborted-then-a-hostname-edit", aborted_then_edit),
    beside("aborted-then-a-fix", aborted_then_fix),
    beside("aborted-then-retried", aborted_then_retried),
    beside("refreshed-in-mid-step", refreshed),
    beside("bypassed", bypassed),
    beside("created-at-once", created_at_once),
    before_pods("edited-by-hand", edited_by_hand),
    before_pods("preview", preview),
];

/// The third version's manifests, in a third side `next`, and the plan from the first to it.
fn third(running: &Running<'_, '_>) -> Result<serde_json::Value, String> {
    running.world.side("after", "next", |_, text| text.replace("cart:8", "cart:9"))?;
    running.world.render_from("before", "next")
}

fn superseded(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    let plan = third(&running)?;
    running.replace_plan(plan)?;
    running.wait("the next release to begin", |status| status["last"]["outcome"] == "Superseded" && !status["cursor"].is_null())?;
    running.approve_to_the_end_from(0)?;
    running.assert_succeeded_as("next")
}

fn superseded_then_aborted(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    let plan = third(&running)?;
    let release = plan["spec"]["release"].clone();
    running.replace_plan(plan)?;
    running.wait("the gate of the next release", |status| status["release"] == release && status["cursor"]["part"] == "gate")?;
    running.ask("abort", 0)?;
    running.assert_aborted()
}

/// After an abort the same release with another hostname brings nothing back.
fn aborted_then_edit(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    for side in ["before", "after"] {
        running.world.side(side, side, |_, text| text.replace("cart.example.com", "basket.example.com"))?;
    }
    let plan = running.world.render()?;
    running.replace_plan(plan)?;
    running
        .wait("the new plan to be looked at", |status| status["observedGeneration"].as_u64().is_some_and(|generation| generation > 1))?;
    std::thread::sleep(std::time::Duration::from_secs(2));
    if !running.status()?["cursor"].is_null() {
        return Err(format!("the aborted release began again: {:#}", running.status()?));
    }
    running.assert_baseline()?;
    running.assert_no_fault()
}

fn aborted_then_fix(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()?;
    let plan = third(&running)?;
    running.replace_plan(plan)?;
    running.wait("the fix to begin", |status| !status["cursor"].is_null())?;
    running.approve_to_the_end_from(0)?;
    running.assert_succeeded_as("next")
}

fn aborted_then_retried(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.ask("retry", 0)?;
    running.wait("the release to begin again", |status| !status["cursor"].is_null())?;
    running.approve_to_the_end_from(0)?;
    running.assert_succeeded()
}

/// The plan is rendered again for another weight while a step holds: the same step with the new objects.
fn refreshed(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.side("after", "after", |_, text| text.replace("traffic: 10%", "traffic: 30%"))?;
    let plan = running.world.render()?;
    running.replace_plan(plan)?;
    let world = running.world;
    world.wait("the new weight", crate::world::PATIENCE, || {
        let route = world.get("VirtualService", "cart")?.unwrap_or_default()["spec"]["http"][0]["route"].clone();
        Ok((route[1]["weight"] == 30).then_some(()))
    })?;
    running.wait_gate(1)?;
    running.release = Release::of(&running.plan);
    running.approve_to_the_end_from(0)?;
    running.assert_succeeded()
}

/// The workload was rolled out past the plan: said, and never called a success.
fn bypassed(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let hand = running.world.plane.admin("a-hand")?;
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example.com/cart:8"}]);
    hand.patch(running.world.at("Deployment", "cart"), crate::cluster::Patch::Json, &patch)?;
    running.remember()?;
    running.agent.start()?;
    running.apply_plan()?;
    let status = running.wait_phase("Bypassed")?;
    if status["bypass"]["manager"] != "a-hand" {
        return Err(format!("who it was is not told: {}", status["bypass"]));
    }
    running.assert_untouched()
}

/// There is no workload yet: the target is created at once.
fn created_at_once(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    running.world.cluster.delete(running.world.at("Deployment", "cart"), "Foreground")?;
    let world = running.world;
    world.wait("the workload to be gone", crate::world::PATIENCE, || Ok(world.get("Deployment", "cart")?.is_none().then_some(())))?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait_phase("Succeeded")?;
    let image = world.get("Deployment", "cart")?.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    if image == "registry.example.com/cart:8" { Ok(()) } else { Err(format!("{image} runs")) }
}

/// A plan whose content is not what was reviewed is not run.
fn edited_by_hand(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    running.agent.start()?;
    running.plan["spec"]["steps"][0]["traffic"]["weight"] = json!(90);
    running.apply_plan()?;
    let status = running.wait("the refusal", |status| {
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["message"].as_str().is_some_and(|message| message.contains("digest")))
    })?;
    if !status["cursor"].is_null() && status["cursor"]["part"] != "check" {
        return Err(format!("it is run: {status:#}"));
    }
    running.assert_untouched()
}

/// A plan that releases nothing changes nothing.
fn preview(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let plan = running.world.render_from("before", "before")?;
    if !plan["spec"]["release"].is_null() {
        return Err("the plan releases something".to_owned());
    }
    running.agent.start()?;
    running.replace_plan(plan)?;
    running.wait_phase("Preview")?;
    running.assert_untouched()
}
