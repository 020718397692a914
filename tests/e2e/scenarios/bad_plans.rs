//! Plans that cannot be run, each beside one that can: what is wrong is said in status and event, nothing is touched, and the
//! other plan goes its way.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, alone, beside};
use crate::cluster::{At, Patch};
use crate::release::{Running, prepare, prepare_both, snapshot};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("bad-plan-edited-by-hand", edited),
    beside("bad-plan-of-an-unknown-version", unknown_version),
    beside("bad-plan-for-another-baseline", other_baseline),
    beside("bad-plan-for-a-namespace-without-rights", without_rights),
    alone("bad-plan-of-a-kind-that-is-not-installed", not_installed),
];

/// The good release is of `cart`, the bad one of `api`.
fn pair<'a, 'b>(world: &'a mut World<'b>) -> Result<[Running<'a, 'b>; 2], String> {
    let [api, cart] = prepare_both(world, [("own-script", "api"), ("two-gateways", "cart")], |_, file, text| {
        // Whether they wait for each other is not the question here.
        if file.ends_with("rollout.yaml") { text.replace("gracePeriodSeconds: 5", "gracePeriodSeconds: 1") } else { text }
    })?;
    Ok([api, cart])
}

/// Whatever is wrong with it, the bad plan says so and is not begun, while the good one is carried to its end.
fn refused(bad: &mut Running<'_, '_>, good: &mut Running<'_, '_>, reason: &str, words: &str) -> Result<(), String> {
    let before = own_objects(bad)?;
    good.agent.start()?;
    bad.apply_plan()?;
    good.apply_plan()?;
    is_said(bad, reason, words)?;
    good.approve_to_the_end()?;
    good.neighbours.push(bad.plan.clone());
    good.assert_succeeded()?;
    good.assert_no_fault()?;
    if own_objects(bad)? != before {
        return Err("the refused plan has touched its objects".to_owned());
    }
    is_said(bad, reason, words)
}

/// In the status, in a condition and in an event.
fn is_said(bad: &mut Running<'_, '_>, reason: &str, words: &str) -> Result<(), String> {
    let status =
        bad.wait(&format!("the words {words:?}"), |status| status["waitingFor"].as_str().is_some_and(|said| said.contains(words)))?;
    let stalled = status["conditions"].as_array().into_iter().flatten().find(|condition| condition["type"] == "Stalled");
    if stalled.is_none_or(|stalled| stalled["status"] != "True" || !stalled["message"].as_str().is_some_and(|said| said.contains(words))) {
        return Err(format!("no condition says it: {:#}", status["conditions"]));
    }
    if !status["cursor"].is_null() && status["cursor"]["part"] != "check" {
        return Err(format!("it is run: {status:#}"));
    }
    bad.wait_event(reason, words)
}

/// The objects of the bad release, and none that it would make.
fn own_objects(bad: &Running<'_, '_>) -> Result<BTreeMap<(String, String), Value>, String> {
    let mut all = snapshot(bad.world)?;
    all.retain(|(kind, name), _| name.starts_with("api") && !matches!(kind.as_str(), "RolloutPlan" | "Rollout"));
    Ok(all)
}

fn edited(world: &mut World<'_>) -> Result<(), String> {
    let [mut api, mut cart] = pair(world)?;
    api.plan["spec"]["steps"][0]["traffic"]["weight"] = json!(90);
    refused(&mut api, &mut cart, "PlanRefused", "the plan's content has the digest")
}

fn unknown_version(world: &mut World<'_>) -> Result<(), String> {
    let [mut api, mut cart] = pair(world)?;
    api.plan["spec"]["steps"][0]["gate"] = json!({"moonPhase": "full"});
    refused(&mut api, &mut cart, "PlanRefused", "moonPhase")
}

fn other_baseline(world: &mut World<'_>) -> Result<(), String> {
    let [mut api, mut cart] = pair(world)?;
    let hand = api.world.plane.admin("a-hand")?;
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example.com/api:2-hotfix"}]);
    hand.patch(api.world.at("Deployment", "api"), Patch::Json, &patch)?;
    api.world.wait("the hotfix to be out", PATIENCE, || {
        let live = api.world.get("Deployment", "api")?.unwrap_or_default();
        Ok((live["status"]["updatedReplicas"] == 5 && live["status"]["availableReplicas"] == 5).then_some(()))
    })?;
    refused(&mut api, &mut cart, "Differs", "(`a-hand` wrote it")?;
    // The cure, and nobody tells the agent.
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example.com/api:3"}]);
    hand.patch(api.world.at("Deployment", "api"), Patch::Json, &patch)?;
    api.wait_long("the release to begin", Duration::from_secs(20), |status| status["cursor"]["part"] != "check")?;
    api.approve_to_the_end()?;
    api.wait_phase("Succeeded").map(|_| ())
}

/// Another namespace, in which nobody has granted the agent anything.
fn without_rights(world: &mut World<'_>) -> Result<(), String> {
    let name = format!("{}-bare", world.namespace);
    let mut bare = World::new(world.plane, &world.folder, &name)?;
    let mut cart = prepare(world, "two-gateways", |_, _, text| text)?;
    // The rights there are another agent's.
    let mut api = prepare(&mut bare, "own-script", |_, _, text| text)?;
    cart.agent.also_in(&name);
    refused(&mut api, &mut cart, "Forbidden", &format!("in `{name}`: apply what `rollout manifests --plans DIR` prints"))?;
    crate::agent::grant(api.world, "rollouts-after", cart.world)?;
    api.wait_long("the release to begin", Duration::from_secs(40), |status| status["cursor"]["part"] != "check")?;
    api.approve_to_the_end()?;
    api.assert_succeeded()?;
    api.assert_no_fault()
}

/// The kind of the route has no definition; when it gets one, the release begins by itself.
fn not_installed(world: &mut World<'_>) -> Result<(), String> {
    let [mut api, mut cart] = pair(world)?;
    let world = api.world;
    let at = At { kind: "CustomResourceDefinition", namespace: "", name: "trafficsplits.edge.example.com" };
    // With its definition the history of a kind is gone.
    world.tolerate_gaps();
    world.cluster.delete(at, "Background")?;
    world.wait("the definition to be gone", PATIENCE, || Ok(world.cluster.get(at)?.is_none().then_some(())))?;
    // Its objects have gone with it.
    cart.remember()?;
    let result = refused(
        &mut api,
        &mut cart,
        "NotServed",
        "the cluster does not serve TrafficSplit of edge.example.com/v1: install its CustomResourceDefinition",
    );
    // What comes next is looked at before the agent writes.
    cart.agent.process()?.signal("STOP");
    // Whatever has happened, the scenarios after this one need it.
    world.plane.install_definitions()?;
    result?;
    let manifests = world.manifests("before")?;
    let split = manifests.iter().find(|manifest| manifest["kind"] == "TrafficSplit").ok_or("no TrafficSplit")?;
    world.wait("the route to be applied", PATIENCE, || world.cluster.apply(split).map(Some))?;
    api.remember()?;
    cart.agent.process()?.signal("CONT");
    api.wait_long("the release to begin", Duration::from_secs(40), |status| status["cursor"]["part"] != "check")?;
    api.approve_to_the_end()?;
    api.neighbours.push(cart.plan.clone());
    api.assert_succeeded()?;
    api.assert_no_fault()
}
