//! Beside Flux and Argo CD: with the settings that a plan asks for, and without.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, before_pods, beside};
use crate::engine::{Engine, Sort};
use crate::release::{Running, prepare};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    before_pods("flux-reverts-without-settings", |world| reverts(world, Sort::Flux)),
    before_pods("argo-reverts-without-settings", |world| reverts(world, Sort::Argo)),
    before_pods("flux-holds-with-settings", |world| holds(world, Sort::Flux)),
    before_pods("argo-holds-with-settings", |world| holds(world, Sort::Argo)),
    before_pods("two-owners-of-a-plan", two_owners),
    beside("release-beside-flux", |world| releases(world, Sort::Flux)),
    beside("release-beside-argo", |world| releases(world, Sort::Argo)),
    beside("abort-beside-flux", |world| aborts(world, Sort::Flux)),
    beside("fight-with-flux", |world| fights(world, Sort::Flux)),
    beside("fight-with-argo", |world| fights(world, Sort::Argo)),
];

/// Somebody applied the plan by hand, then the engine brings one with fewer objects: nothing of the first stays, and the list of
/// who wrote which field does not grow with the plan.
fn two_owners(world: &mut World<'_>) -> Result<(), String> {
    let running = prepare(world, "two-gateways", |_, _, text| text)?;
    let world = running.world;
    world.plane.admin("kubectl")?.apply(&running.plan)?;
    let mut next = running.plan.clone();
    let objects = next["spec"]["objects"].as_object_mut().ok_or("a plan without objects")?;
    let gone = objects.keys().next().cloned().ok_or("a plan without objects")?;
    objects.remove(&gone);
    running.world.cluster.apply(&next)?;
    let live = world.get("RolloutPlan", running.name())?.ok_or("the plan is gone")?;
    if live["spec"] != next["spec"] {
        return Err(format!("`{gone}` is still there, or something else is not: {:#}", live["spec"]["objects"]));
    }
    let fields = live["metadata"]["managedFields"].to_string();
    if fields.len() > 2048 {
        return Err(format!("who wrote which field takes {} bytes: {fields}", fields.len()));
    }
    Ok(())
}

/// The measured row: without settings a foreign change is gone within one interval.
fn reverts(world: &mut World<'_>, sort: Sort) -> Result<(), String> {
    let running = prepare(world, "two-gateways", |_, _, text| text)?;
    let world = running.world;
    let engine = Engine::start(world, sort, world.manifests("before")?, None)?;
    weigh(&running)?;
    world.wait("the engine to write its own back", Duration::from_secs(8), || Ok((split(world)? == 1).then_some(())))?;
    engine.check()
}

/// The measured rows: with the settings the change stays, and of a commit all but the paths is synced.
fn holds(world: &mut World<'_>, sort: Sort) -> Result<(), String> {
    let running = prepare(world, "two-gateways", |_, _, text| text)?;
    let world = running.world;
    let engine = Engine::start(world, sort, world.manifests("before")?, Some(&running.plan))?;
    weigh(&running)?;
    thread::sleep(Duration::from_secs(5));
    if split(world)? != 2 {
        return Err("the engine wrote over a path that its settings name".to_owned());
    }
    let mut commit = world.manifests("after")?;
    for manifest in commit.iter_mut().filter(|manifest| manifest["kind"] == "Deployment") {
        manifest["spec"]["revisionHistoryLimit"] = json!(3);
    }
    engine.commit(commit);
    world.wait("the rest of the commit to be synced", PATIENCE, || {
        Ok((world.get("Deployment", "cart")?.unwrap_or_default()["spec"]["revisionHistoryLimit"] == 3).then_some(()))
    })?;
    let image = world.get("Deployment", "cart")?.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    if image != "registry.example.com/cart:7" || split(world)? != 2 {
        return Err(format!("the commit went past the settings: {image}"));
    }
    engine.check()
}

/// One commit brings manifests and plan; the engine syncs both all the time.
fn releases(world: &mut World<'_>, sort: Sort) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let engine = Engine::start(running.world, sort, running.world.manifests("before")?, Some(&running.plan))?;
    running.agent.start()?;
    engine.commit(with_plan(&running)?);
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    // It is at rest with what runs now.
    let writes = engine.writes();
    thread::sleep(Duration::from_secs(5));
    if engine.writes() != writes {
        return Err("the engine still finds differences after the release".to_owned());
    }
    engine.check()?;
    running.assert_no_fault()
}

/// After an abort git says the new version, and the old one runs: the engine leaves it.
fn aborts(world: &mut World<'_>, sort: Sort) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let engine = Engine::start(running.world, sort, running.world.manifests("before")?, Some(&running.plan))?;
    running.agent.start()?;
    engine.commit(with_plan(&running)?);
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.assert_aborted()?;
    thread::sleep(Duration::from_secs(5));
    running.assert_baseline()?;
    engine.check()?;
    running.assert_no_fault()
}

/// Without settings: the agent stops fighting and says who and which setting.
fn fights(world: &mut World<'_>, sort: Sort) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait_gate(1)?;
    let _engine = Engine::start(running.world, sort, running.world.manifests("before")?, None)?;
    let status = running.wait("the fight to be called off", |status| status["phase"] == "Stalled")?;
    let said = status.to_string();
    if said.contains(sort.manager()) { Ok(()) } else { Err(format!("the manager is not named: {status:#}")) }
}

/// The manifests of the new version, and the plan beside them.
fn with_plan(running: &Running<'_, '_>) -> Result<Vec<Value>, String> {
    let mut commit = running.world.manifests("after")?;
    commit.push(running.plan.clone());
    Ok(commit)
}

/// What an agent does to the route, under the agent's name.
fn weigh(running: &Running<'_, '_>) -> Result<(), String> {
    let agent = running.world.plane.admin("rollout-agent")?;
    let route = json!([{"destination": {"host": "cart"}, "weight": 80}, {"destination": {"host": "cart-canary"}, "weight": 20}]);
    let patch = json!([{"op": "add", "path": "/spec/http/0/route", "value": route}]);
    agent.patch(running.world.at("VirtualService", "cart"), crate::cluster::Patch::Json, &patch).map(|_| ())
}

/// Among how many destinations the route splits.
fn split(world: &World<'_>) -> Result<usize, String> {
    let route = world.get("VirtualService", "cart")?.unwrap_or_default();
    Ok(route["spec"]["http"][0]["route"].as_array().map_or(0, Vec::len))
}
