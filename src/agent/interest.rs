//! What a plan in mid-release wants to be woken by.

use super::objects::Objects;
use super::served::Resource;
use super::shared::Interest;
use crate::model::{Await, Plan};
use crate::plan::rights::rights;

/// Returns the names and resources of all that the plan writes or waits for, and of what its workloads and Services keep pods
/// and addresses in where those are waited for. Nothing is watched that the plan gives no right to watch.
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
    let rights = rights(plan);
    let behind = [
        Resource::known("apps/v1", "ReplicaSet", "replicasets"),
        Resource::known("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    ];
    let may_watch = |resource: &Resource| {
        let mut rights = rights.iter().filter(|right| right.verb == "watch" && right.group == resource.group());
        rights.any(|right| right.resource == resource.plural)
    };
    interest.resources.extend(behind.into_iter().filter(may_watch));
    if let Some(objects) = objects {
        interest.resources.extend(objects.resources());
    }
    interest
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::model::{Await, Plan};
    use crate::plan::fixture;

    fn watched(plan: &Plan) -> Vec<String> {
        of(plan, None).resources.into_iter().map(|resource| resource.plural).collect()
    }

    #[test]
    fn endpoints_are_watched_only_where_they_are_waited_for() {
        let mut plan = fixture();
        assert_eq!(watched(&plan), ["replicasets", "endpointslices"]);
        let steps = plan.spec.steps.iter_mut().flat_map(|step| step.stages.iter_mut().chain(&mut step.enter_from_above));
        for stage in steps.chain(&mut plan.spec.finish).chain(&mut plan.spec.abort).chain(&mut plan.spec.abort_finish) {
            stage.awaits.retain(|wait| !matches!(wait, Await::Endpoints { .. }));
        }
        assert_eq!(watched(&plan), ["replicasets"]);
    }
}
