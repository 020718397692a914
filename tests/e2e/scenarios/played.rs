//! Plans played stage by stage without the agent: the plans are right, and the recorder sees what is wrong.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Scenario, by_hand};
use crate::player::Player;
use crate::recorder::{Phase, Release};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    by_hand("by-hand-istio-subset", |world| succeeds(world, "istio-subset")),
    by_hand("by-hand-nginx-ab", |world| succeeds(world, "nginx-ab")),
    by_hand("by-hand-httproute-five-steps", |world| succeeds(world, "httproute-five-steps")),
    by_hand("by-hand-two-gateways", |world| succeeds(world, "two-gateways")),
    by_hand("by-hand-own-script", |world| succeeds(world, "own-script")),
    by_hand("by-hand-abort", aborts),
    by_hand("recorder-is-red-for-the-order-of-openkruise", order_of_openkruise),
    by_hand("recorder-is-red-for-a-service-removed-first", service_removed_first),
    by_hand("recorder-is-red-for-a-step-not-taken", step_not_taken),
];

fn succeeds(world: &mut World<'_>, example: &str) -> Result<(), String> {
    let (plan, release) = prepared(world, example)?;
    Player::new(world, &plan)?.succeed()?;
    world.assert_no_fault(&release)
}

fn aborts(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "nginx-ab")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    player.step(2)?;
    player.abort()?;
    world.assert_no_fault(&release)
}

/// The stable Service is unpinned, the route restored, and only then the workload upgraded.
fn order_of_openkruise(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "httproute-five-steps")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    for step in 1..=player.steps() {
        player.step(step)?;
    }
    world.mark(Phase::Finishing)?;
    player.stages(&json!([{"write": ["Service/shop@1"]}]))?;
    world.wait("all pods behind the stable Service", PATIENCE, || Ok((world.endpoints("shop")? == 10).then_some(())))?;
    player.stages(&json!([{"write": ["HTTPRoute/shop@1"]}]))?;
    thread::sleep(Duration::from_secs(1));
    player.stages(&json!([
        {"write": ["Deployment/shop@2"], "await": [{"available": {"workload": "Deployment/shop"}}]},
        {"remove": ["Service/shop-canary", "Deployment/shop-canary"], "await": [{"gone": {"object": "Deployment/shop-canary"}}]},
    ]))?;
    world.mark(Phase::Succeeded)?;
    // Five old and five new pods behind the Service that the restored route names.
    expect(world, &release, &["HTTPRoute/shop GET /: the new version falls to 50.0 %, below 100.0 %"])
}

/// The canary Service goes while the route still names it.
fn service_removed_first(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "two-gateways")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    world.mark(Phase::Aborting)?;
    player.stages(&json!([{"remove": ["Deployment/cart-canary"], "await": [{"gone": {"object": "Deployment/cart-canary"}}]}]))?;
    world.wait("the pods to go", PATIENCE, || Ok((world.endpoints("cart-canary")? == 0).then_some(())))?;
    player.stages(&plan["spec"]["abort"])?;
    world.mark(Phase::Aborted)?;
    expect(
        world,
        &release,
        &[
            "HTTPRoute/cart GET /: cart:7 90.0 %, nobody behind cart-canary 10.0 %",
            "VirtualService/cart GET /: cart:7 90.0 %, nobody behind cart-canary 10.0 %",
        ],
    )
}

/// A step is declared done and its route was never written.
fn step_not_taken(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "own-script")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    world.mark(Phase::Step(2))?;
    world.mark(Phase::Finishing)?;
    player.stages(&plan["spec"]["finish"])?;
    world.mark(Phase::Succeeded)?;
    expect(world, &release, &["TrafficSplit/api GET /: the step ends with 1.0 % for the new version, not 50.0 %"])
}

/// The old version runs, the plan is rendered, the recorder runs.
fn prepared(world: &mut World<'_>, example: &str) -> Result<(serde_json::Value, Release), String> {
    world.example(example, |_, _, text| text)?;
    world.install("before")?;
    let plan = world.render()?;
    let release = Release::of(&plan);
    world.record()?;
    Ok((plan, release))
}

/// The recorder finds these faults and no other.
fn expect(world: &World<'_>, release: &Release, expected: &[&str]) -> Result<(), String> {
    let faults = world.faults(release)?;
    if faults.len() == expected.len() && faults.iter().zip(expected).all(|(fault, part)| fault.contains(part)) {
        Ok(())
    } else {
        Err(format!("the recorder found\n  {}\nand not\n  {}", faults.join("\n  "), expected.join("\n  ")))
    }
}
