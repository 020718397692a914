//! From every step to every other, to the same, and to none: while a step waits and while it is being reached.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, beside, with_steps};
use crate::cluster::Patch;
use crate::release::{Running, begin};
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("every-jump-ingress", |world| everywhere(world, "nginx-ab")),
    beside("every-jump-subset", |world| everywhere(world, "istio-subset")),
    beside("every-jump-httproute-and-virtual-service", |world| everywhere(world, "two-gateways")),
    beside("jump-to-a-step-that-does-not-exist", nowhere),
];

/// Weights, matches, and both; pods come and go on the way.
const STEPS: &str = r#"      - replicas: 1
        traffic: 10%
      - replicas: 2
        matches:
        - headers:
          - name: x-beta
            value: "1"
      - replicas: 2
        traffic: 40%
      - replicas: 3
        traffic: 50%
        matches:
        - headers:
          - name: x-beta
            value: "1"
"#;
const LAST: u64 = 4;

/// A way through all ordered pairs of four steps, each step to itself too, that uses each pair once.
const CIRCUIT: [u64; 17] = [1, 1, 2, 2, 3, 3, 4, 4, 1, 3, 1, 4, 2, 4, 3, 2, 1];

fn everywhere(world: &mut World<'_>, example: &str) -> Result<(), String> {
    let mut running = begin(world, example, |_, file, text| with_steps(file, &text, STEPS))?;
    running.wait_gate(1)?;
    for pair in CIRCUIT.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        // The way of kubectl-kruise's users, where it can say it: the next step anyway is no jump.
        if from != to && to != from + 1 && (from + to) % 2 == 0 {
            by_index(&running, to)?;
        } else {
            running.ask("jump", to)?;
        }
        arrive(&mut running, to, "a waiting step", from)?;
    }
    for middle in 1..=LAST {
        for to in 1..=LAST {
            on_the_way(&mut running, middle, to)?;
        }
    }
    running.ask("jump", LAST)?;
    arrive(&mut running, LAST, "a waiting step", 4)?;
    running.approve()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// `kubectl patch --subresource=status` of `nextStepIndex`.
fn by_index(running: &Running<'_, '_>, to: u64) -> Result<(), String> {
    let step = running.status()?["cursor"]["step"].clone();
    let world = running.world;
    world.wait("the Rollout to say which step it is", Duration::from_secs(10), || {
        let status = &running.rollout_status()?["canaryStatus"];
        Ok((status["currentStepIndex"] == step && status["currentStepState"] == "StepPaused").then_some(()))
    })?;
    let patch = json!({"status": {"canaryStatus": {"nextStepIndex": to}}});
    world.cluster.patch_sub(world.at("Rollout", running.name()), "status", Patch::Merge, &patch).map(|_| ())
}

/// Asks for `to` while `middle` is being reached. A step that was reached in between proves nothing and is tried again.
fn on_the_way(running: &mut Running<'_, '_>, middle: u64, to: u64) -> Result<(), String> {
    for _ in 0..5 {
        running.ask("jump", middle)?;
        let what = format!("the way into step {middle}");
        running.wait(&what, |status| {
            let cursor = &status["cursor"];
            cursor["step"] == middle && cursor["part"] != "gate"
        })?;
        let asked = running.ask_and_see("jump", to)?;
        let was_on_the_way = asked["cursor"]["part"] != "gate" && asked["cursor"]["step"] == middle;
        arrive(running, to, "a step on the way", middle)?;
        if was_on_the_way {
            return Ok(());
        }
    }
    Err(format!("step {middle} was reached before anybody could ask for step {to}, five times"))
}

/// The gate of the step, with the jump obeyed and nothing left of it.
fn arrive(running: &mut Running<'_, '_>, to: u64, from_what: &str, from: u64) -> Result<(), String> {
    let id = running.asked();
    let arrived = running.wait(&format!("the gate of step {to}, from {from_what}, {from}"), |status| {
        let cursor = &status["cursor"];
        cursor["part"] == "gate" && cursor["step"] == to && cursor["goal"].is_null() && id_is(status, &id)
    });
    let status = arrived?;
    if status["refusedRequest"].is_string() {
        return Err(format!("from {from_what}, {from}, to {to}: refused: {}", status["refusedRequest"]));
    }
    Ok(())
}

fn id_is(status: &Value, id: &str) -> bool {
    id.is_empty() || status["handledRequest"] == id
}

/// Refused with words, and the release stays where it is.
fn nowhere(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    for step in [0, 3, 4_000_000_000] {
        running.ask("jump", step)?;
        let id = running.asked();
        let status = running.wait("the refusal", |status| status["handledRequest"] == id.as_str())?;
        let words = format!("the plan has the steps 1 to 2, no step {step}");
        if status["refusedRequest"] != words {
            return Err(format!("it is refused with {} and not with {words}", status["refusedRequest"]));
        }
    }
    by_index(&running, 7)?;
    let world = running.world;
    world.wait("the index to be put right", Duration::from_secs(10), || {
        Ok((running.rollout_status()?["canaryStatus"]["nextStepIndex"] == 2).then_some(()))
    })?;
    for words in ["the plan has the steps 1 to 2, no step 3", "`nextStepIndex: 7` is no step of the plan"] {
        running.wait_event("RequestRefused", words)?;
    }
    let status = running.status()?;
    if status["cursor"]["part"] != "gate" || status["cursor"]["step"] != 1 {
        return Err(format!("it went somewhere: {status:#}"));
    }
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}
