//! Every example, from the plan to the end, by the agent.

use super::{Scenario, beside};
use crate::release::begin;
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("example-istio-subset", |world| succeeds(world, "istio-subset")),
    beside("example-nginx-ab", |world| succeeds(world, "nginx-ab")),
    beside("example-httproute-five-steps", |world| succeeds(world, "httproute-five-steps")),
    beside("example-two-gateways", |world| succeeds(world, "two-gateways")),
    beside("example-own-script", |world| succeeds(world, "own-script")),
    beside("slow-pods", slow_pods),
];

fn succeeds(world: &mut World<'_>, example: &str) -> Result<(), String> {
    let mut running = begin(world, example, |_, _, text| text)?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// New pods take their time, and no traffic goes anywhere before.
fn slow_pods(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "two-gateways", |side, _, text| if side == "after" { super::slow(&text, "4s") } else { text })?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}
