//! Every scenario, by name. One file a theme; a scenario is a function of its world.

mod abort;
mod approvals;
mod assets;
mod bad_plans;
mod beginnings;
mod crash;
mod endings;
mod engines;
mod jumps;
mod neighbours;
mod people;
mod played;
mod sequences;
mod sharing;
mod success;
mod trouble;

use crate::world::World;

/// A story that has to end well.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    /// Its name and that of its namespace.
    pub(crate) name: &'static str,
    /// Whether it must run without neighbours.
    pub(crate) is_alone: bool,
    /// Whether the agent carries the plan out.
    pub(crate) needs_agent: bool,
    /// Whether there have to be pods.
    pub(crate) needs_pods: bool,
    /// The story.
    pub(crate) run: fn(&mut World<'_>) -> Result<(), String>,
}

/// Returns all scenarios, in the order in which they start: the long ones first.
pub(crate) fn all() -> Vec<Scenario> {
    [
        jumps::SCENARIOS,
        approvals::SCENARIOS,
        bad_plans::SCENARIOS,
        beginnings::SCENARIOS,
        crash::SCENARIOS,
        success::SCENARIOS,
        abort::SCENARIOS,
        people::SCENARIOS,
        trouble::SCENARIOS,
        neighbours::SCENARIOS,
        sharing::SCENARIOS,
        sequences::SCENARIOS,
        endings::SCENARIOS,
        engines::SCENARIOS,
        played::SCENARIOS,
        assets::SCENARIOS,
    ]
    .concat()
}

/// A scenario that may run beside others.
const fn beside(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, needs_agent: true, needs_pods: true, run }
}

/// A scenario in which nothing comes so far that pods are needed.
const fn before_pods(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, needs_agent: true, needs_pods: false, run }
}

/// A scenario without the agent.
const fn by_hand(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, needs_agent: false, needs_pods: true, run }
}

/// A scenario that shakes the control plane.
const fn alone(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: true, needs_agent: true, needs_pods: true, run }
}

/// A Deployment's pods get ready after so long.
fn slow(text: &str, time: &str) -> String {
    in_template(text, "annotations", &format!("e2e.rollout.dev/ready-after: {time}"))
}

/// A Deployment's pods carry the label that tells kwok what becomes of them.
fn labelled(text: &str, sort: &str) -> String {
    text.replace(LABELS, &format!("{LABELS}        e2e.rollout.dev/pod: {sort}\n"))
}

/// Adds a map to the pod template's metadata.
fn in_template(text: &str, field: &str, entry: &str) -> String {
    text.replace(LABELS, &format!("    metadata:\n      {field}:\n        {entry}\n      labels:\n"))
}

/// Other steps for the Rollout of an example, with a second of grace.
fn with_steps(file: &str, text: &str, steps: &str) -> String {
    if !file.ends_with("rollout.yaml") {
        return text.to_owned();
    }
    let (start, rest) = text.split_once("      steps:\n").expect("a Rollout has steps");
    let (_, routing) = rest.split_once("      trafficRoutings:\n").expect("the examples route traffic");
    let routing = match routing.split_once("gracePeriodSeconds: 5") {
        Some((before, after)) => format!("{before}gracePeriodSeconds: 1{after}"),
        None => routing.replacen("      - service: ", "      - gracePeriodSeconds: 1\n        service: ", 1),
    };
    format!("{start}      steps:\n{steps}      trafficRoutings:\n{routing}")
}

/// How the metadata of a pod template begins in the examples.
const LABELS: &str = "    metadata:\n      labels:\n";
