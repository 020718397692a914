//! A Service that the plan pins to one workload, and that selects pods of another: those would get no more requests.

use super::{is_pinned, location, named};
use crate::model::{Code, Finding, Originals, Plan, Source, is_job};

/// The finding's code.
pub(super) const CODE: Code = "service-shared";

/// Adds a finding for the pods of other workloads that requests through the pinned Service would no longer reach.
pub(super) fn check(plan: &Plan, originals: &Originals, findings: &mut Vec<Finding>) {
    let (Some(service), Some(workload)) = (originals.service.as_deref(), originals.workload.as_deref()) else { return };
    let (jobs, serving): (Vec<_>, Vec<_>) = others(plan, originals).partition(|other| is_job(other.manifest.kind()));
    let message = |others: &[&Source]| {
        format!(
            "Service `{}` selects the pods of {} as well: while traffic is split it selects those of {} alone, and the others get no requests through it",
            service.manifest.name(),
            named(others.iter().map(|other| format!("{} ({})", other.object, location(other)))),
            workload.object,
        )
    };
    let placed = |finding: Finding| finding.at(&service.path, service.places.at("/spec/selector")).about(&service.object);
    if !serving.is_empty() {
        let help = format!(
            "give {} a Service of its own, whose selector has a label that only its pods have, and name it in `trafficRoutings[].service` and in the routes",
            workload.object
        );
        findings.push(placed(Finding::error(CODE, message(&serving)).help(help)));
    }
    if !jobs.is_empty() {
        let help = "give pods that answer no requests other labels than the Service selects";
        findings.push(placed(Finding::warning(CODE, message(&jobs)).help(help)));
    }
}

/// Whether pods that answer requests would get no more of them.
pub(super) fn is_shared(plan: &Plan, originals: &Originals) -> bool {
    others(plan, originals).any(|other| !is_job(other.manifest.kind()))
}

/// The other workloads with pods behind the Service that the release pins.
fn others<'a>(plan: &Plan, originals: &'a Originals) -> impl Iterator<Item = &'a Source> {
    let is_pinned = originals.service.as_deref().is_some_and(|service| is_pinned(plan, service));
    originals.neighbors.workloads.iter().map(AsRef::as_ref).filter(move |other| is_pinned && has_pods(other))
}

/// A workload that is scaled to zero has no pods that could lose requests.
fn has_pods(workload: &Source) -> bool {
    workload.manifest.at("/spec/replicas").is_none_or(|replicas| *replicas != 0)
}
