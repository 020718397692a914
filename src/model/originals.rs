//! The objects that one Rollout names, as the user wrote them.

use std::sync::Arc;

use super::{GatewayRef, Neighbors, Source};

/// What a Rollout's references lead to. Absent: there is no such object, or several equally near ones; a finding says which.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Originals {
    /// The workload that is released.
    pub workload: Option<Arc<Source>>,
    /// The stable Service; absent too when the Rollout routes nothing.
    pub service: Option<Arc<Source>>,
    /// The gateway objects, in the order of the Rollout's references.
    pub gateways: Vec<(GatewayRef, Option<Arc<Source>>)>,
    /// The HorizontalPodAutoscaler or ScaledObject that owns the workload's replicas, if there is one.
    pub autoscaler: Option<Arc<Source>>,
    /// What says which pods a subset of the Service has, and how to connect to it, and the Rollout does not name.
    pub definitions: Vec<Arc<Source>>,
    /// What the Rollout does not name and the release meets.
    pub neighbors: Neighbors,
}
