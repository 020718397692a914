//! What is not rendered, and why: said before any work.

use crate::model::{Finding, Rollout, Strategy};

/// The reason why this Rollout gets no plan, if there is one.
pub(super) fn of(rollout: &Rollout) -> Option<Finding> {
    let object = format!("Rollout {}/{}", rollout.namespace, rollout.reference.name);
    let at = |finding: Finding| Some(finding.at(&rollout.place.path, rollout.place.position).about(&object));
    if rollout.is_disabled {
        return at(Finding::note("rollout-disabled", "the Rollout is disabled: its workload is released at once, without a plan"));
    }
    let is_deployment = rollout.workload.kind == "Deployment" && rollout.workload.api_version.starts_with("apps/");
    match rollout.strategy {
        Strategy::Canary if is_deployment => None,
        Strategy::Canary | Strategy::Partition => {
            at(Finding::error("not-rendered-yet", format!("the Partition style of a {} is not rendered yet", rollout.workload.kind))
                .help("a Deployment with `enableExtraWorkloadForCanary: true` is rendered"))
        }
        Strategy::BlueGreen => at(Finding::error("not-rendered-yet", "the BlueGreen style is not rendered yet")
            .help("a Deployment with `canary` and `enableExtraWorkloadForCanary: true` is rendered")),
    }
}
