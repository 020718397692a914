//! A Rollout as the renderer reads it: both API versions, defaults filled in, every rule checked.

use std::collections::BTreeMap;

use super::{Deadline, GatewayRef, HeaderModifier, Place, Reference, Replicas, Traffic};

/// What the user wants of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// The object itself, as written: `rollouts.kruise.io/v1beta1 Rollout shop`.
    pub reference: Reference,
    /// The namespace, resolved.
    pub namespace: String,
    /// Where the object begins.
    pub place: Place,
    /// The workload that is released.
    pub workload: Reference,
    /// How the new version comes in.
    pub strategy: Strategy,
    /// At least one.
    pub steps: Vec<Step>,
    /// The Service and the gateway objects; absent when the release moves pods only.
    pub routing: Option<Routing>,
    /// Labels and annotations that only the new version's pods get (Canary style).
    pub pod_metadata: PodMetadata,
    /// `spec.disabled`: the user wants no progressive delivery now.
    pub is_disabled: bool,
    /// How long a step may take, from the Rollout's annotations.
    pub deadline: Option<Deadline>,
}

/// How the new version comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// A second workload beside the stable one.
    Canary,
    /// The workload itself, a part of its pods after the other.
    Partition,
    /// A full set of new pods beside the old ones.
    BlueGreen,
}

/// One step of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Pods of the new version.
    pub replicas: Replicas,
    /// Requests for the new version.
    pub traffic: Traffic,
    /// Changes to the headers of requests that reach the new version.
    pub header_modifier: Option<HeaderModifier>,
    /// What ends the step.
    pub pause: Pause,
    /// Where the step begins.
    pub place: Place,
}

/// What ends a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// A person's approval.
    Approval,
    /// So many seconds.
    Seconds(u32),
}

/// Who carries traffic to the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    /// The stable Service's name.
    pub service: String,
    /// Seconds to wait after routes have changed.
    pub grace_seconds: u32,
    /// Gateway objects, in the order written: custom references, then the Ingress, then the HTTPRoute.
    pub gateways: Vec<GatewayRef>,
    /// `disableGenerateCanaryService`: the gateway tells the versions apart by itself (subsets).
    pub is_subset_mode: bool,
    /// Where the routing begins.
    pub place: Place,
}

/// Labels and annotations for pods.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodMetadata {
    /// Labels, by key.
    pub labels: BTreeMap<String, String>,
    /// Annotations, by key.
    pub annotations: BTreeMap<String, String>,
}
