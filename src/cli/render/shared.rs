//! Releases of one change that touch the same object: legal, but they cannot run at the same time.

use std::collections::BTreeMap;

use super::shown::Reported;
use crate::model::{Finding, ObjectKey, Plan};

/// The objects of others that a release changes; none where nothing is released. What only the plan makes is its own.
pub(super) fn changed(plan: &Plan) -> Vec<ObjectKey> {
    let objects = plan.spec.paths.iter().filter(|entry| !entry.paths.iter().any(String::is_empty)).map(|entry| entry.object.clone());
    if plan.spec.release.is_some() { objects.collect() } else { Vec::new() }
}

/// One finding for each object that several releases change.
pub(super) fn notes(reports: &[Reported<'_>]) -> Vec<Finding> {
    let mut by_object: BTreeMap<(&str, &str, &ObjectKey), Vec<&Reported<'_>>> = BTreeMap::new();
    for report in reports {
        for object in &report.changed {
            by_object.entry((&report.catalog.environment, &report.namespace, object)).or_default().push(report);
        }
    }
    by_object.retain(|_, reports| reports.len() > 1);
    by_object.into_iter().map(|((_, namespace, object), reports)| note(namespace, object, &reports)).collect()
}

fn note(namespace: &str, object: &ObjectKey, reports: &[&Reported<'_>]) -> Finding {
    let mut names: Vec<String> = reports.iter().map(|report| format!("{}/{}", report.namespace, report.name)).collect();
    names.sort();
    let message = format!("the releases of {} change {object}: the agent runs one after the other", names.join(", "));
    let finding = Finding::note("object-shared", message).about(format!("{object} in {namespace}"));
    let last = reports.iter().max_by_key(|report| &report.name);
    let rollout = last.and_then(|report| report.catalog.rollouts.iter().find(|rollout| is_of(rollout, report)));
    let finding = match rollout {
        Some(rollout) => finding.at(&rollout.place.path, rollout.place.position),
        None => finding,
    };
    finding.help("release them in two changes, or give each an object of its own, if neither shall wait for the other")
}

fn is_of(rollout: &crate::model::Rollout, report: &Reported<'_>) -> bool {
    rollout.namespace == report.namespace && rollout.reference.name == report.name
}
