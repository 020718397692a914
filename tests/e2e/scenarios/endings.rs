//! Somebody takes the plan, the Rollout or the namespace away in mid-release.

use super::{Scenario, beside};
use crate::cluster::At;
use crate::release::begin;
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("plan-deleted-in-background", |world| plan_deleted(world, "Background")),
    beside("plan-deleted-in-foreground", |world| plan_deleted(world, "Foreground")),
    beside("plan-deleted-as-orphan", |world| plan_deleted(world, "Orphan")),
    beside("rollout-deleted", rollout_deleted),
    beside("namespace-deleted", namespace_deleted),
    beside("plan-deleted-at-rest", deleted_at_rest),
    beside("plan-deleted-while-the-agent-is-away", deleted_while_away),
];

fn plan_deleted(world: &mut World<'_>, propagation: &str) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.cluster.delete(running.world.at("RolloutPlan", running.name()), propagation)?;
    let world = running.world;
    world.wait("the plan to be gone", PATIENCE, || Ok(running.plan_object()?.is_none().then_some(())))?;
    running.assert_baseline()
}

fn rollout_deleted(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.world.cluster.delete(running.world.at("Rollout", running.name()), "Background")?;
    running.wait("the release to be taken back", |status| status["cursor"].is_null() && status["last"]["outcome"] == "Aborted")?;
    running.assert_baseline_without("Rollout")?;
    running.assert_no_fault()
}

fn namespace_deleted(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    let world = running.world;
    let at = At { kind: "Namespace", namespace: "", name: &world.namespace };
    world.cluster.delete(at, "Background")?;
    world.wait("the namespace to be gone", PATIENCE * 2, || Ok(world.cluster.get(at)?.is_none().then_some(())))
}

fn deleted_at_rest(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.remember()?;
    running.world.cluster.delete(running.world.at("RolloutPlan", running.name()), "Background")?;
    let world = running.world;
    world.wait("the plan to be gone", PATIENCE, || Ok(running.plan_object()?.is_none().then_some(())))?;
    running.assert_untouched()?;
    running.assert_no_fault()
}

fn deleted_while_away(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |_, _, text| text)?;
    running.wait_gate(1)?;
    running.agent.kill();
    running.world.cluster.delete(running.world.at("RolloutPlan", running.name()), "Background")?;
    running.world.cluster.delete(running.agent.lease(), "Background")?;
    running.agent.start()?;
    let world = running.world;
    world.wait("the plan to be gone", PATIENCE, || Ok(running.plan_object()?.is_none().then_some(())))?;
    running.assert_baseline()
}
