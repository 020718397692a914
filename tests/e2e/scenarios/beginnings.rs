//! What runs when a release begins: a rollout that is stuck, one that is in progress, a name as long as names may be.

use serde_json::{Value, json};

use super::{Scenario, beside};
use crate::release::{Running, prepare_installed};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("stuck-baseline-is-not-pinned", stuck_baseline),
    beside("restart-in-progress-is-waited-for", restart),
    beside("name-of-58-characters", |world| long_name(world, 58)),
    beside("name-of-63-characters", |world| long_name(world, 63)),
];

/// The version that git has as the base never gets ready, and the next one is merged over it: nothing is pinned to it.
fn stuck_baseline(world: &mut World<'_>) -> Result<(), String> {
    let is_workload = |file: &str| file.ends_with("deployment.yaml");
    world.example("own-script", |side, file, text| {
        if side == "before" && is_workload(file) { super::labelled(&text.replace("api:3", "api:4"), "never") } else { text }
    })?;
    world.side(
        "before",
        "first",
        |file, text| if is_workload(file) { text.replace("api:4", "api:3").replace(": never", ": fine") } else { text },
    )?;
    world.install("first")?;
    for manifest in world.manifests("before")?.iter().filter(|manifest| manifest["kind"] == "Deployment") {
        world.cluster.apply(manifest)?;
    }
    world.wait("a pod of the stuck version", PATIENCE, || {
        let status = world.get("Deployment", "api")?.unwrap_or_default()["status"].clone();
        Ok((status["unavailableReplicas"].as_u64() > Some(0) && status["updatedReplicas"].as_u64() > Some(0)).then_some(()))
    })?;
    let mut running = prepare_installed(world)?;
    running.agent.start()?;
    running.apply_plan()?;
    holds(&mut running)?;
    running.wait_event("NotRolledOut", "0 of 5 pods of revision")?;
    running.assert_untouched()?;
    let endpoints = running.world.endpoints("api")?;
    if endpoints < 4 {
        return Err(format!("{endpoints} pods are behind the Service"));
    }
    // What the message proposes; and a plan that begins with what runs then.
    for manifest in running.world.manifests("first")?.iter().filter(|manifest| manifest["kind"] == "Deployment") {
        running.world.cluster.apply(manifest)?;
    }
    let plan = running.world.render_from("first", "after")?;
    running.replace_plan(plan)?;
    running.approve_to_the_end()?;
    running.wait_phase("Succeeded").map(|_| ())
}

/// `kubectl rollout restart` just before the merge: the release begins when the last pod is of the revision that is pinned.
fn restart(world: &mut World<'_>) -> Result<(), String> {
    world.example("own-script", |_, file, text| if file.ends_with("deployment.yaml") { super::slow(&text, "3s") } else { text })?;
    world.install("before")?;
    let mut running = prepare_installed(world)?;
    let restarted = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}});
    running.world.merge("Deployment", "api", &json!({"spec": {"template": restarted}}))?;
    running.agent.start()?;
    running.apply_plan()?;
    holds(&mut running)?;
    let world = running.world;
    let name = running.name().to_owned();
    let mut least = usize::MAX;
    world.wait("the first gate", PATIENCE, || {
        least = least.min(world.endpoints("api")?);
        let status = world.get("RolloutPlan", &name)?.unwrap_or_default()["status"].clone();
        Ok((status["cursor"]["part"] == "gate").then_some(()))
    })?;
    if least < 4 {
        return Err(format!("{least} pods were behind the stable Service"));
    }
    running.approve_to_the_end()?;
    running.wait_phase("Succeeded").map(|_| ())
}

/// The API server cuts the names of pods, so that they do not tell revisions apart.
fn long_name(world: &mut World<'_>, length: usize) -> Result<(), String> {
    let long = format!("api-{}", "a".repeat(length - 4));
    world.example("own-script", |_, file, text| {
        if file.ends_with("deployment.yaml") {
            text.replacen("  name: api\n", &format!("  name: {long}\n"), 1)
        } else {
            text.replace("    kind: Deployment\n    name: api\n", &format!("    kind: Deployment\n    name: {long}\n"))
        }
    })?;
    world.install("before")?;
    let mut running = prepare_installed(world)?;
    running.agent.start()?;
    running.apply_plan()?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// The plan says that the baseline is not rolled out, and has written nothing.
fn holds(running: &mut Running<'_, '_>) -> Result<Value, String> {
    let status = running.wait("the hold", |status| status["cursor"]["hold"]["cause"] == "NotRolledOut")?;
    if status["phase"] == "Holding" { Ok(status) } else { Err(format!("the phase is {}", status["phase"])) }
}
