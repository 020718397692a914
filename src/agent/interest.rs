//! What a plan in mid-release wants to be woken by.

use super::objects::Objects;
use super::served::Resource;
use super::shared::Interest;
use crate::model::{Await, Plan};

/// Returns the names and resources of all that the plan writes or waits for.
pub(super) fn of(plan: &Plan, objects: Option<&Objects>) -> Interest {
    let mut interest = Interest::default();
    interest.names.extend([plan.spec.rollout.name.clone(), plan.spec.workload.name.clone()]);
    interest.names.extend(plan.spec.paths.iter().map(|entry| entry.object.name().to_owned()));
    // A Service that is only waited for need not be an object of the plan.
    let steps = plan.spec.steps.iter().flat_map(|step| step.stages.iter().chain(&step.enter_from_above));
    let stages = steps.chain(&plan.spec.finish).chain(&plan.spec.abort).chain(&plan.spec.abort_finish);
    interest.names.extend(stages.flat_map(|stage| &stage.awaits).filter_map(|wait| match wait {
        Await::Endpoints { service, .. } => Some(service.clone()),
        Await::PodsReady { .. } | Await::Available { .. } | Await::Condition { .. } | Await::Grace(_) | Await::Gone { .. } => None,
    }));
    interest.resources.extend([
        Resource::known("apps/v1", "ReplicaSet", "replicasets"),
        Resource::known("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    ]);
    if let Some(objects) = objects {
        interest.resources.extend(objects.resources());
    }
    interest
}
