//! Every example, from the plan to the end, by the agent.

use super::{LABELS, Scenario, beside};
use crate::release::begin;
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("example-istio-subset", |world| succeeds(world, "istio-subset")),
    beside("example-nginx-ab", |world| succeeds(world, "nginx-ab")),
    beside("example-httproute-five-steps", |world| succeeds(world, "httproute-five-steps")),
    beside("example-two-gateways", |world| succeeds(world, "two-gateways")),
    beside("example-own-script", |world| succeeds(world, "own-script")),
    beside("slow-pods", slow_pods),
    beside("selector-changes", selector_changes),
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

/// Pods and the Service's selector get a label in one change, and the last step has one pod of five: that one never has to carry
/// everything while the others take their time.
fn selector_changes(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "httproute-five-steps", |side, _, text| {
        let text = match (text.find("      - replicas: 40%"), text.find("      trafficRoutings")) {
            (Some(third), Some(end)) => format!("{}{}", &text[..third], &text[end..]).replace("{duration: 300}", "{}"),
            _ => text,
        };
        if side != "after" {
            return text;
        }
        let text = text.replace(LABELS, &format!("{LABELS}        tier: front\n"));
        super::slow(&text.replace("  selector:\n    app: shop\n", "  selector:\n    app: shop\n    tier: front\n"), "3s")
    })?;
    for step in 1..=running.steps() {
        running.wait_gate(step)?;
        running.approve()?;
    }
    let mut least = usize::MAX;
    running.world.wait("the end", PATIENCE, || {
        let (endpoints, status) = (running.world.endpoints("shop")?, running.status()?);
        if status["phase"] == "Finishing" {
            least = least.min(endpoints);
        }
        Ok((status["phase"] == "Succeeded").then_some(()))
    })?;
    // The Deployment may take one of its five away at a time, and the canary is there for it.
    if !(4..=10).contains(&least) {
        return Err(format!("{least} pods were behind the Service at the end"));
    }
    running.assert_succeeded()?;
    running.assert_no_fault()
}
