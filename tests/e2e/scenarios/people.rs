//! What people send: exactly the requests of kubectl-kruise, and our own commands.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::abort::at_gate;
use super::{Scenario, beside};
use crate::cluster::Patch;
use crate::release::begin;
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("pause-and-resume", pauses),
    beside("approval-too-early", approves_too_early),
    beside("jump-forward", |world| jumps(world, 1, 4)),
    beside("jump-back", |world| jumps(world, 4, 2)),
    beside("jump-back-by-kruise-index", jumps_by_index),
    beside("disable-in-mid-step", disables),
    beside("stale-request", stale_request),
];

/// An approval counts while paused, and nothing moves before `resume`.
fn pauses(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text.replace("duration: 1", "duration: 4"))?;
    running.wait_gate(1)?;
    running.approve()?;
    running.wait_gate(2)?;
    running.pause(true)?;
    running.wait_phase("Paused")?;
    // The gate's own time passes.
    thread::sleep(Duration::from_secs(6));
    if running.status()?["phase"] != "Paused" {
        return Err(format!("a paused release went on: {:#}", running.status()?));
    }
    running.pause(false)?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// `StepReady` written before the step is there opens no gate.
fn approves_too_early(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |side, _, text| if side == "after" { super::slow(&text, "4s") } else { text })?;
    running.wait("the way into step 1", |status| status["cursor"]["part"] == "stages")?;
    // kubectl-kruise reads the status before it writes.
    let world = running.world;
    world.wait("the Rollout's status", crate::world::PATIENCE, || {
        Ok((running.rollout_status()?["canaryStatus"]["currentStepState"] == "StepUpgrade").then_some(()))
    })?;
    let patch = json!({"status": {"canaryStatus": {"currentStepState": "StepReady"}}});
    world.cluster.patch_sub(world.at("Rollout", running.name()), "status", Patch::Merge, &patch)?;
    running.wait_gate(1)?;
    thread::sleep(Duration::from_secs(2));
    if running.status()?["cursor"]["part"] != "gate" || running.status()?["cursor"]["step"] != 1 {
        return Err(format!("an approval from before opened the gate: {:#}", running.status()?));
    }
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

fn jumps(world: &mut World<'_>, from: u64, to: u64) -> Result<(), String> {
    let mut running = begin(world, "httproute-five-steps", |_, _, text| text.replace("duration: 1", ""))?;
    at_gate(&mut running, from)?;
    running.ask("jump", to)?;
    running.wait_gate(to)?;
    running.approve_to_the_end_from(to)?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// `kubectl patch --subresource=status` of `nextStepIndex`.
fn jumps_by_index(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "httproute-five-steps", |_, _, text| text.replace("duration: 1", ""))?;
    at_gate(&mut running, 3)?;
    let patch = json!({"status": {"canaryStatus": {"nextStepIndex": 1}}});
    running.world.cluster.patch_sub(running.world.at("Rollout", running.name()), "status", Patch::Merge, &patch)?;
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

fn disables(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.merge("Rollout", running.name(), &json!({"spec": {"disabled": true}}))?;
    running.wait("the release to be taken back", |status| status["cursor"].is_null())?;
    running.assert_baseline()?;
    running.assert_no_fault()
}

/// A request that names another plan is refused, and says so.
fn stale_request(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    let request = json!({"verb": "approve", "digest": "sha256:of-another-plan", "step": 1, "id": "stale"});
    let patch = json!({"metadata": {"annotations": {"rollout.dev/request": request.to_string()}}});
    running.world.merge("RolloutPlan", running.name(), &patch)?;
    running.wait("the request to be refused", |status| status["handledRequest"] == "stale" && status["refusedRequest"].is_string())?;
    if running.status()?["cursor"]["part"] != "gate" || running.status()?["cursor"]["step"] != 1 {
        return Err(format!("it was obeyed: {:#}", running.status()?));
    }
    running.ask("approve", 1)?;
    running.wait_gate(2)?;
    running.ask("approve", 2)?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}
