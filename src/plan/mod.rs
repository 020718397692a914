//! The plan as a file and as a machine of states: reading, writing, digest, size, and the ways from state to state.
//!
//! The types are `model`'s; nothing here renders a plan and nothing knows a gateway.

pub mod commands;
mod kept;
pub mod manifests;
pub mod permitted;
pub mod rights;
pub mod schema;
pub mod size;
pub mod states;
mod text;
pub mod validate;

pub use kept::kept;
pub use text::{PlanError, Sealed, digest, digest_of, document, from_text, from_value, sealed, to_text};
pub use validate::validate;

/// The API version of a plan.
pub const API_VERSION: &str = "rollout.dev/v1alpha1";
/// The kind of a plan.
pub const KIND: &str = "RolloutPlan";
/// The annotation that holds a plan's digest.
pub const DIGEST_ANNOTATION: &str = "rollout.dev/digest";

/// The plan of `tests/fixtures/plan.yaml`.
#[cfg(test)]
pub(crate) fn fixture() -> crate::model::Plan {
    from_text(include_bytes!("../../tests/fixtures/plan.yaml")).expect("the fixture is a plan")
}
