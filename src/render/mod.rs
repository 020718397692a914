//! From a Rollout and the objects it names to the plan of its release: complete states and the ways between them.
//!
//! Pure. All knowledge of kinds, orders and arithmetic is here, so that the agent needs none.

mod autoscaler;
mod baseline;
mod capability;
mod clone;
mod companion;
mod digests;
mod draft;
mod gateways;
mod keys;
mod order;
mod paths;
mod plan;
mod pod_labels;
mod pointers;
mod refusal;
mod result;
pub mod script_answer;
pub mod script_input;
mod scripts;
mod selector;
mod service;
mod service_ports;
mod steps;
mod traffic;
mod unmoved;
mod versions;
mod workload;

pub use companion::taken;
pub use plan::{Inputs, Rendered, plan};
pub use scripts::Scripts;
