//! Every scenario, by name. One file a theme; a scenario is a function of its world.

mod by_hand;

use crate::world::World;

/// A story that has to end well.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    /// Its name and that of its namespace.
    pub(crate) name: &'static str,
    /// Whether it must run without neighbours.
    pub(crate) is_alone: bool,
    /// The story.
    pub(crate) run: fn(&mut World<'_>) -> Result<(), String>,
}

/// Returns all scenarios, in the order in which they start.
pub(crate) fn all() -> Vec<Scenario> {
    [by_hand::SCENARIOS].concat()
}

/// A scenario that may run beside others.
const fn beside(name: &'static str, run: fn(&mut World<'_>) -> Result<(), String>) -> Scenario {
    Scenario { name, is_alone: false, run }
}
