//! Plans played stage by stage without the agent: the plans are right, and the recorder sees what is wrong.

use serde_json::json;

use super::{Scenario, by_hand};
use crate::cluster::Patch;
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
    by_hand("recorder-is-red-for-a-route-that-goes", route_goes),
    by_hand("recorder-is-red-for-weights-of-nothing", weights_of_nothing),
    by_hand("recorder-is-red-for-a-dip-within-a-step", dip_within_a_step),
    by_hand("recorder-is-red-without-grace", without_grace),
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
    player.stages(&json!([
        {"write": ["HTTPRoute/shop@1"], "await": [{"grace": 3}]},
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

/// A rule of the user's is lost, then the whole route.
fn route_goes(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "two-gateways")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    world.cluster.delete(world.at("HTTPRoute", "cart"), "Background")?;
    world.wait("the route to go", PATIENCE, || Ok(world.get("HTTPRoute", "cart")?.is_none().then_some(())))?;
    expect(world, &release, &["HTTPRoute/cart GET /: the entry does not take the request any more"])
}

/// A route is written whose weights are all zero.
fn weights_of_nothing(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "own-script")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    let backends = world.get("TrafficSplit", "api")?.and_then(|split| split["spec"]["backends"].as_object().cloned());
    let nothing: serde_json::Map<_, _> = backends.into_iter().flatten().map(|(name, _)| (name, json!(0))).collect();
    world.cluster.patch(world.at("TrafficSplit", "api"), Patch::Merge, &json!({"spec": {"backends": nothing}}))?;
    expect(world, &release, &["TrafficSplit/api GET /: nobody behind no backend 100.0 %"])
}

/// The route goes back to what it was while the step holds, and comes again.
fn dip_within_a_step(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "own-script")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    player.step(2)?;
    player.stages(&json!([{"write": ["TrafficSplit/api@1"]}]))?;
    player.stages(&plan["spec"]["steps"][1]["stages"])?;
    expect(world, &release, &["TrafficSplit/api GET /: the new version falls to 0.0 %, below 50.0 %"])
}

/// The way back does not wait for gateways, which follow the route a moment later.
fn without_grace(world: &mut World<'_>) -> Result<(), String> {
    let (plan, release) = prepared(world, "own-script")?;
    let player = Player::new(world, &plan)?;
    world.mark(Phase::Rest)?;
    player.step(1)?;
    player.step(2)?;
    let mut abort = plan["spec"]["abort"].clone();
    for stage in abort.as_array_mut().into_iter().flatten() {
        if let Some(awaits) = stage["await"].as_array_mut() {
            awaits.retain(|wait| wait.get("grace").is_none());
        }
    }
    world.mark(Phase::Aborting)?;
    player.stages(&abort)?;
    world.mark(Phase::Aborted)?;
    let faults = world.faults(&release)?;
    let is_late = |fault: &String| fault.contains("nobody behind api-canary 50.0 %, by a gateway that follows 1500 ms late");
    if faults.iter().any(is_late) { Ok(()) } else { Err(format!("the recorder found only\n  {}", faults.join("\n  "))) }
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
