//! The way back, from everywhere.

use super::{Scenario, beside};
use crate::release::{Running, begin};
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("abort-at-step-1", |world| aborts_at(world, "nginx-ab", 1)),
    beside("abort-at-step-2", |world| aborts_at(world, "nginx-ab", 2)),
    beside("abort-at-step-1-subset", |world| aborts_at(world, "istio-subset", 1)),
    beside("abort-at-step-2-subset", |world| aborts_at(world, "istio-subset", 2)),
    beside("abort-at-step-3-httproute", |world| aborts_at(world, "httproute-five-steps", 3)),
    beside("abort-at-the-last-step", |world| aborts_at(world, "httproute-five-steps", 5)),
    beside("abort-on-the-way-into-a-step", aborts_on_the_way),
    beside("abort-within-finish", aborts_within_finish),
    beside("abort-within-finish-subset", |world| aborts_within_finish_of(world, "istio-subset")),
    beside("revert-in-mid-step", reverts),
];

/// Takes the release to a step's gate, also where the gate opens by itself.
pub(super) fn at_gate(running: &mut Running<'_, '_>, step: u64) -> Result<(), String> {
    for former in 1..step {
        running.wait(&format!("step {former} to be over or to ask"), |status| {
            status["cursor"]["part"] == "gate" && status["cursor"]["step"] == former
                || status["cursor"]["step"].as_u64().is_some_and(|at| at > former)
        })?;
        if running.needs_approval(former) {
            running.approve()?;
        }
    }
    running.wait_gate(step).map(|_| ())
}

fn aborts_at(world: &mut World<'_>, example: &str, step: u64) -> Result<(), String> {
    let mut running = begin(world, example, |_, _, text| text.replace("pause: {duration: 1}", "pause: {}"))?;
    at_gate(&mut running, step)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

fn aborts_on_the_way(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |side, _, text| if side == "after" { super::slow(&text, "5s") } else { text })?;
    running.wait("the way into step 1", |status| status["cursor"]["part"] == "stages" && status["cursor"]["written"] == true)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

fn aborts_within_finish(world: &mut World<'_>) -> Result<(), String> {
    aborts_within_finish_of(world, "two-gateways")
}

fn aborts_within_finish_of(world: &mut World<'_>, example: &str) -> Result<(), String> {
    let mut running = begin(world, example, |side, _, text| if side == "after" { super::slow(&text, "4s") } else { text })?;
    let last = running.steps();
    at_gate(&mut running, last)?;
    if running.needs_approval(last) {
        running.approve()?;
    }
    // The new pods of the workload are on their way.
    let workload = running.plan["spec"]["workload"]["name"].as_str().unwrap_or_default().to_owned();
    let world = running.world;
    world.wait("the workload to be upgraded in part", crate::world::PATIENCE, || {
        let status = world.get("Deployment", &workload)?.unwrap_or_default()["status"].clone();
        let updated = status["updatedReplicas"].as_u64().unwrap_or(0);
        let is_finishing = running.status()?["cursor"]["part"] == "finish";
        Ok((is_finishing && updated > 0 && updated < 5).then_some(()))
    })?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

/// Git goes back to what runs: the plan's target is the release's original.
fn reverts(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "nginx-ab", |_, _, text| text.replace("duration: 1", "duration: 60"))?;
    running.wait_gate(1)?;
    let back = running.world.render_from("after", "before")?;
    let id = back["spec"]["release"].clone();
    running.world.cluster.apply(&back)?;
    // The release is taken back, and with that the release that git asks for is complete.
    running.wait("the way back", |status| status["cursor"]["part"] == "abort" || status["cursor"].is_null())?;
    running.wait("the end", |status| status["cursor"].is_null() && status["last"]["release"] == id)?;
    running.assert_baseline()?;
    running.assert_no_fault()
}
