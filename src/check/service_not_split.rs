//! Another Service that selects the pods of the release: it sends requests to the new version by the number of pods, whatever
//! the steps declare.

use super::{percent, placed_at};
use crate::exposure::{Exposure, PodShare};
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "service-not-split";

/// Adds a finding for each Service that the Rollout does not name, at the first step in which new pods stand behind it.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let routed = originals.service.as_deref();
    // Without routing the steps declare pods alone, which is what such a Service does.
    let Some(routed) = routed.filter(|_| plan.spec.steps.iter().any(super::splits)) else { return };
    for service in &originals.neighbors.services {
        let name = service.manifest.name();
        let shares: Vec<PodShare> = exposure.by_pods.iter().map(|step| step.get(name).copied().unwrap_or(PodShare::Nothing)).collect();
        let Some(first) = shares.iter().position(|share| share.is_new()) else { continue };
        let known: Vec<f64> = shares.iter().filter_map(|share| share.known()).collect();
        let most = known.iter().copied().fold(0.0, f64::max);
        let share = match (shares[first], known.len() == shares.len()) {
            (PodShare::Known(share), true) if most > share => format!(": {}, up to {}", percent(share), percent(most)),
            (PodShare::Known(share), _) => format!(": {}", percent(share)),
            (PodShare::NotKnown | PodShare::Nothing, _) => String::new(),
        };
        let message = format!(
            "Service `{name}` selects the pods of both versions, and nothing splits its requests: from step {} on the new version gets a part of them by the number of pods{share}",
            first + 1
        );
        let help = format!(
            "send what is to follow the steps through Service `{}`; a Service that only scrapes or finds pods may stay as it is",
            routed.manifest.name()
        );
        findings.push(placed_at(Finding::warning(CODE, message).help(help), service, "/spec/selector"));
    }
}
