//! Clusters in which something is wrong: the release holds, says why, and goes on when it is cured.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, before_pods, beside};
use crate::release::{Running, begin, prepare};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("never-ready-pods-hold", |world| pods_hold(world, "never")),
    beside("failing-pods-hold", |world| pods_hold(world, "failing")),
    beside("quota-holds", quota),
    beside("canary-deployment-deleted", canary_deleted),
    beside("owner-applies-the-route-again", owner_applies_route),
    beside("foreign-edit-of-a-weight", foreign_edit),
    before_pods("baseline-differs", baseline_differs),
    beside("missing-right-before-the-first-write", missing_right),
    beside("scaled-in-mid-step", scaled),
    beside("scaled-before-the-start", scaled_before),
];

/// No traffic moves before the pods are ready, and the way back is open.
fn pods_hold(world: &mut World<'_>, sort: &'static str) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", move |side, _, text| if side == "after" { super::labelled(&text, sort) } else { text })?;
    let said = running.wait("the wait for pods to be told", |status| {
        status["cursor"]["written"] == true && status["waitingFor"].as_str().is_some_and(|text| text.contains("cart-canary"))
    })?;
    thread::sleep(Duration::from_secs(3));
    if running.status()?["cursor"]["stage"] != said["cursor"]["stage"] {
        return Err(format!("it went on without pods: {:#}", running.status()?));
    }
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

fn quota(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "own-script", |_, _, text| text)?;
    let namespace = running.world.namespace.clone();
    running.world.cluster.create(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": namespace}, "spec": {"hard": {"pods": "5"}},
    }))?;
    let world = running.world;
    world.wait("the quota to count", PATIENCE, || {
        Ok((world.get("ResourceQuota", "pods")?.unwrap_or_default()["status"]["used"]["pods"] == "5").then_some(()))
    })?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait("the wait for pods", |status| status["cursor"]["part"] == "stages" && status["cursor"]["written"] == true)?;
    thread::sleep(Duration::from_secs(3));
    if running.status()?["cursor"]["part"] != "stages" {
        return Err(format!("it went on without pods: {:#}", running.status()?));
    }
    running.world.cluster.delete(running.world.at("ResourceQuota", "pods"), "Background")?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// Somebody deletes the canary Deployment while the step holds: it is made again.
fn canary_deleted(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.cluster.delete(running.world.at("Deployment", "cart-canary"), "Background")?;
    let world = running.world;
    world.wait("the canary Deployment to be ready again", PATIENCE, || {
        let status = world.get("Deployment", "cart-canary")?.unwrap_or_default()["status"].clone();
        let is_answered = world.endpoints("cart-canary")? > 0;
        Ok((status["readyReplicas"].as_u64().unwrap_or(0) > 0 && is_answered).then_some(()))
    })?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    // The pods were gone for a moment, by another's hand.
    let faults = running.world.faults(&running.release)?;
    let others: Vec<&String> = faults.iter().filter(|fault| !fault.contains("nobody behind cart-canary")).collect();
    if others.is_empty() { Ok(()) } else { Err(format!("the recorder found {others:#?}")) }
}

/// The owner applies its VirtualService while the step holds, with a timeout more: the weight stays or comes back at once.
fn owner_applies_route(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    let manifests = running.world.manifests("after")?;
    let mut route = manifests.into_iter().find(|manifest| manifest["kind"] == "VirtualService").ok_or("no VirtualService")?;
    route["spec"]["http"][0]["timeout"] = json!("5s");
    running.world.cluster.apply(&route)?;
    let world = running.world;
    world.wait("the weight to come back", Duration::from_secs(5), || {
        let route = world.get("VirtualService", "cart")?.unwrap_or_default()["spec"]["http"][0]["route"].clone();
        Ok((route[1]["weight"] == 10).then_some(()))
    })?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    let faults = running.world.faults(&running.release)?;
    // The owner's route may be there for a moment, and nothing else is wrong.
    let is_expected = |fault: &String| fault.contains("VirtualService/cart GET /: the new version falls to 0.0 %, below 10.0 %");
    if faults.iter().all(is_expected) { Ok(()) } else { Err(format!("the recorder found {faults:#?}")) }
}

fn foreign_edit(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.merge("TrafficSplit", "api", &json!({"spec": {"backends": {"api": 0, "api-canary": 100}}}))?;
    let world = running.world;
    world.wait("the weights to come back", Duration::from_secs(5), || {
        Ok((world.get("TrafficSplit", "api")?.unwrap_or_default()["spec"]["backends"] == json!({"api": 99, "api-canary": 1})).then_some(()))
    })?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    let faults = running.world.faults(&running.release)?;
    // The recorder saw the edit, and nothing else.
    let is_as_expected = faults.len() == 1 && faults[0].contains("gets 100.0 %, which is more than 1.0 %");
    if is_as_expected { Ok(()) } else { Err(format!("the recorder found {faults:#?}")) }
}

/// What runs is not what the plan begins with: nothing is touched, and the field and its writer are named.
fn baseline_differs(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example.com/cart:6-hotfix"}]);
    let hand = running.world.plane.admin("a-hand")?;
    hand.patch(running.world.at("Deployment", "cart"), crate::cluster::Patch::Json, &patch)?;
    running.remember()?;
    running.agent.start()?;
    running.apply_plan()?;
    let status = running.wait("the hold", |status| status["phase"] == "Holding" && status["cursor"]["hold"]["cause"] == "Differs")?;
    let message = status["cursor"]["hold"]["message"].as_str().unwrap_or_default();
    for part in ["Deployment", "image", "a-hand"] {
        if !message.contains(part) {
            return Err(format!("the hold does not name `{part}`: {message}"));
        }
    }
    running.assert_untouched()
}

fn missing_right(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    // Somebody takes the right to patch the route away.
    let mut role = running.world.get("Role", "rollout-agent")?.ok_or("no Role")?;
    let rules = role["rules"].as_array_mut().ok_or("a Role without rules")?;
    rules.retain(|rule| !rule["resources"].to_string().contains("httproutes"));
    let rules = json!({"rules": rules});
    running.world.merge("Role", "rollout-agent", &rules)?;
    running.agent.start()?;
    running.apply_plan()?;
    let status = running.wait("the hold", |status| status["phase"] == "Holding" && status["cursor"]["hold"]["cause"] == "Forbidden")?;
    let message = status["cursor"]["hold"]["message"].as_str().unwrap_or_default().to_lowercase();
    if !message.contains("httproute") {
        return Err(format!("the hold does not name the kind: {message}"));
    }
    running.assert_untouched()?;
    // The cure.
    crate::agent::install_rights(running.world, "rollouts-after")?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// Somebody scales the stable workload in mid-release: the number is theirs, and the canary's is a share of it.
fn scaled(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    for replicas in [8, 4, 12] {
        scale(running.world, replicas)?;
        canary_has(running.world, &running.plan, 1, replicas)?;
    }
    finishes_with(&mut running, 12)
}

/// The cluster has another number than git from the start.
fn scaled_before(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    scale(running.world, 11)?;
    let world = running.world;
    world.wait("eleven pods", PATIENCE, || {
        let live = world.get("Deployment", "cart")?.unwrap_or_default();
        Ok((live["status"]["availableReplicas"] == 11).then_some(()))
    })?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait_gate(1)?;
    canary_has(running.world, &running.plan, 1, 11)?;
    finishes_with(&mut running, 11)
}

fn scale(world: &World<'_>, replicas: u64) -> Result<(), String> {
    let scale = json!({"spec": {"replicas": replicas}});
    world.cluster.patch_sub(world.at("Deployment", "cart"), "scale", crate::cluster::Patch::Merge, &scale).map(|_| ())
}

/// Waits until the canary has as many pods as the step says of these replicas.
fn canary_has(world: &World<'_>, plan: &Value, step: u64, replicas: u64) -> Result<(), String> {
    let steps = plan["spec"]["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let share = &steps.iter().find(|known| known["name"] == format!("step-{step}")).ok_or("no such step")?["replicas"];
    let percent = share.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
    let wanted = percent.map(|percent| (percent * replicas).div_ceil(100)).or(share.as_u64()).unwrap_or_default().min(replicas);
    world.wait(&format!("{wanted} of {replicas} pods"), PATIENCE, || {
        let canary = world.get("Deployment", "cart-canary")?.unwrap_or_default();
        Ok((canary["spec"]["replicas"] == wanted).then_some(()))
    })
}

/// Every step has its share of these replicas, and the workload keeps them.
fn finishes_with(running: &mut Running<'_, '_>, replicas: u64) -> Result<(), String> {
    for step in 2..=running.steps() {
        running.approve()?;
        running.wait_gate(step)?;
        canary_has(running.world, &running.plan, step, replicas)?;
        let canary = running.world.get("Deployment", "cart-canary")?.unwrap_or_default();
        if canary["status"]["readyReplicas"] != canary["spec"]["replicas"] {
            return Err(format!("step {step} was reached with {} pods", canary["status"]["readyReplicas"]));
        }
    }
    running.approve_to_the_end()?;
    running.wait_phase("Succeeded")?;
    let live = running.world.get("Deployment", "cart")?.unwrap_or_default();
    if live["spec"]["replicas"] != replicas {
        return Err(format!("replicas were set to {}", live["spec"]["replicas"]));
    }
    running.assert_no_fault()
}
