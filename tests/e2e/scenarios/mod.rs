//! Every scenario, by name. One file a theme; a scenario is a function of its world.

mod abort;
mod crash;
mod endings;
mod engines;
mod neighbours;
mod people;
mod played;
mod sequences;
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
    /// The story.
    pub(crate) run: fn(&mut World<'_>) -> Result<(), String>,
}

/// Returns all scenarios, in the order in which they start: the long ones first.
pub(crate) fn all() -> Vec<Scenario> {
    [
        crash::SCENARIOS,
        success::SCENARIOS,
        abort::SCENARIOS,
        people::SCENARIOS,
        trouble::SCENARIOS,
        neighbours::SCENARIOS,
        sequences::SCENARIOS,
        endings::SCENARIOS,
        engines::SCENARIOS,
        played::SCENARIOS,
    ]
    .concat()
}

/// A scenario that may run beside others.
const fn beside(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, needs_agent: true, run }
}

/// A scenario without the agent.
const fn by_hand(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, needs_agent: false, run }
}

/// A scenario that shakes the control plane.
const fn alone(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: true, needs_agent: true, run }
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

/// How the metadata of a pod template begins in the examples.
const LABELS: &str = "    metadata:\n      labels:\n";
