//! What is not rendered, and why: said before any work.

use crate::model::{Finding, Rollout, Strategy};

/// The reason why this Rollout gets no plan, if there is one.
pub(super) fn of(rollout: &Rollout) -> Option<Finding> {
    let object = format!("Rollout {}/{}", rollout.namespace, rollout.reference.name);
    let at = |finding: Finding| Some(finding.at(&rollout.place.path, rollout.place.position).about(&object));
    if rollout.is_disabled {
        return at(Finding::note("rollout-disabled", "the Rollout is disabled: its workload is released at once, without a plan"));
    }
    let not_yet = |what: String| at(Finding::error("not-rendered-yet", format!("{what} is not rendered yet")).help(way_out(rollout)));
    match rollout.strategy {
        Strategy::Canary if is_deployment(rollout) => None,
        Strategy::Canary | Strategy::Partition => not_yet(format!("the Partition style of a {}", rollout.workload.kind)),
        Strategy::BlueGreen => not_yet("the BlueGreen style".to_owned()),
    }
}

fn is_deployment(rollout: &Rollout) -> bool {
    rollout.workload.kind == "Deployment" && rollout.workload.api_version.starts_with("apps/")
}

/// What gets a plan for the same workload.
fn way_out(rollout: &Rollout) -> &'static str {
    if !is_deployment(rollout) {
        return "only Deployments are: leave this Rollout with OpenKruise";
    }
    match rollout.strategy {
        Strategy::BlueGreen => "`canary: {enableExtraWorkloadForCanary: true, …}` is, which keeps the old pods as well",
        Strategy::Canary | Strategy::Partition if rollout.reference.api_version.ends_with("/v1alpha1") => {
            "the Canary style is, which keeps the old pods: the annotation `rollouts.kruise.io/rolling-style: canary`"
        }
        Strategy::Canary | Strategy::Partition => {
            "the Canary style is, which keeps the old pods: `enableExtraWorkloadForCanary: true` below `canary`"
        }
    }
}
