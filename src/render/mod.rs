//! From a Rollout and the objects it names to the plan of its release.

pub mod script_input;
