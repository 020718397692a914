//! A route to the Service of a release that the Rollout does not name: the steps do not split its requests.

use super::{is_pinned, percent, placed_at, splits};
use crate::exposure::{Exposure, PodShare};
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "route-not-split";

/// Adds a finding for each such route.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let Some(service) = originals.service.as_deref() else { return };
    let Some(first) = plan.spec.steps.iter().position(splits) else { return };
    let (number, name) = (first + 1, service.manifest.name());
    let share = exposure.by_pods.get(first).and_then(|step| step.get(name)).copied().unwrap_or(PodShare::Nothing);
    let consequence = match share {
        _ if is_pinned(plan, service) => {
            format!("its requests stay with the old version while traffic is split, from step {number} on, and get the new one at the end")
        }
        PodShare::Known(share) => {
            format!("from step {number} on the new version gets a part of its requests by the number of pods: {}", percent(share))
        }
        PodShare::NotKnown | PodShare::Nothing => {
            format!("from step {number} on the new version gets a part of its requests by the number of pods")
        }
    };
    for route in &originals.neighbors.routes {
        let message = format!("{} leads to Service `{name}`, and the Rollout does not name it: {consequence}", route.object);
        let help = format!("name the {} in `trafficRoutings` too, if its requests are to follow the steps", route.manifest.kind());
        findings.push(placed_at(Finding::warning(CODE, message).help(help), route, ""));
    }
}
