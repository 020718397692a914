//! The nouns of the product. Every value here is valid by construction; what users write is parsed elsewhere.
//!
//! Nothing here reads a file, a clock or a cluster.

mod catalog;
mod finding;
mod gateway;
pub mod hidden;
mod labels;
mod links;
mod manifest;
mod neighbors;
mod object_ref;
mod originals;
mod others;
mod place;
mod plan;
pub mod pointer;
mod replicas;
mod rollout;
mod status;
mod stored;
mod traffic;
mod weight;

pub use catalog::{Catalog, Resolution, ScriptKey, ScriptOrigin, ScriptSource, Source};
pub use finding::{Code, Finding, Severity};
pub use gateway::{
    Accepted, Clone as GatewayClone, Gateway, GatewayDeclaration, GatewayRef, HeaderModifierSupport, ListLimit, MatchSupport, Role,
    WeightSupport,
};
pub use labels::LabelSet;
pub use links::{Links, autoscalers, is_autoscaler, is_job, linked_kinds, pod_labels};
pub use manifest::{Manifest, ManifestError};
pub use neighbors::{NeighborIndex, Neighbors};
pub use object_ref::ObjectRef;
pub use originals::Originals;
pub use others::{Other, Others};
pub use place::{Place, Places, Position, Spot};
pub use plan::{
    Await, Binding, Deadline, DeadlineAction, Eviction, Gate, LateValue, ObjectKey, ObjectPaths, Plan, PlanSpec, PlanStep, Reference,
    Revision, ScriptUse, Stage, StepTraffic, Style, VersionKey,
};
pub use replicas::Replicas;
pub use rollout::{Pause, PodMetadata, Rollout, Routing, Step, Strategy};
pub use status::{
    Bindings, Bypass, Condition, Cursor, Ending, Failure, Hold, HoldCause, Last, Outcome, Part, Phase, PlanStatus, Purpose,
    REQUEST_ANNOTATION, Refreshed, Request, Suspended, Verb, Writer,
};
pub use stored::Stored;
pub use traffic::{HeaderModifier, HeaderValue, Match, MatchKind, NamedMatch, PathKind, PathMatch, Traffic};
pub use weight::Weight;
