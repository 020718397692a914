//! Who gets the new version at a moment: from the live gateway objects, and the ready pods behind the Services.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cluster::{Cluster, Pods};
use super::plans::{at_paths, bound, is_workload, paths, workload};
use crate::model::{Bindings, Match, ObjectKey, Plan, Stage, VersionKey};
use crate::plan::states;

/// Who gets the new version.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traffic {
    /// The share of all requests that match nothing, in percent. Absent: the gateway objects are no state of the plan.
    pub percent: Option<u8>,
    /// Requests that match go to the new version, all of them.
    pub matches: Vec<Match>,
    /// Whether requests go to where no pod is ready.
    pub lost: bool,
}

/// Returns who gets the new version.
pub(super) fn traffic(plan: &Plan, cluster: &Cluster, bindings: &Bindings) -> Traffic {
    let new_pods: u32 = all_pods(plan, cluster).filter(|(key, pods)| is_new(plan, key, pods)).map(|(_, pods)| pods.ready).sum();
    let (mix, answers) = stable_side(plan, cluster);
    let Some(step) = (0..=plan.spec.steps.len()).rev().find(|step| routes_are_of(plan, cluster, bindings, *step)) else {
        return Traffic::default();
    };
    let declared = step.checked_sub(1).and_then(|index| plan.spec.steps[index].traffic.as_ref());
    let weight = declared.and_then(|traffic| traffic.weight).map_or(0.0, f64::from);
    let matches = declared.map(|traffic| traffic.matches.clone()).unwrap_or_default();
    let lost = (new_pods == 0 && (weight > 0.0 || !matches.is_empty())) || (!answers && weight < 100.0);
    let percent = weight + (100.0 - weight) * mix;
    Traffic { percent: Some(rounded(percent)), matches, lost }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 100")]
fn rounded(percent: f64) -> u8 {
    percent.round().clamp(0.0, 100.0) as u8
}

/// Whether the gateway objects are those of a step; 0 is the baseline.
fn routes_are_of(plan: &Plan, cluster: &Cluster, bindings: &Bindings, step: usize) -> bool {
    let state = states::at(&plan.spec, step).unwrap_or_default();
    let definitions = definitions(plan);
    let routes = plan.spec.paths.iter().map(|entry| &entry.object);
    let routes = routes.filter(|object| is_route(plan, object) && !definitions.contains(object));
    routes.into_iter().all(|object| {
        let wanted = state.get(object).map(|version| object.version(*version));
        match (wanted, cluster.objects.get(object)) {
            (Some(version), Some(live)) => {
                bound(plan, &version, bindings).is_ok_and(|wanted| at_paths(plan, object, live) == at_paths(plan, object, &wanted))
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    })
}

/// Gateway objects that others stand on: they are written before those when they are written first. By themselves they send
/// nothing anywhere.
fn definitions(plan: &Plan) -> BTreeSet<&ObjectKey> {
    let (mut definitions, mut known) = (BTreeSet::new(), BTreeSet::new());
    for step in &plan.spec.steps {
        let routes = |stage: &'_ Stage| stage.write.iter().any(|version| is_route(plan, version.object()));
        let last = step.stages.iter().rposition(routes).unwrap_or_default();
        let before = step.stages.iter().take(last).flat_map(|stage| &stage.write).map(VersionKey::object);
        definitions.extend(before.filter(|object| is_route(plan, object) && !known.contains(object)));
        // On the way out of a split it is the other way round.
        known.extend(step.stages.iter().flat_map(|stage| &stage.write).map(VersionKey::object));
    }
    definitions
}

fn is_route(plan: &Plan, object: &ObjectKey) -> bool {
    let version = plan.spec.objects.iter().find(|(version, _)| version.object() == object);
    !paths(plan, object).is_empty()
        && version.is_some_and(|(_, value)| {
            let kind = value.get("kind").and_then(Value::as_str);
            !is_workload(value) && !matches!(kind, Some("Service" | "HorizontalPodAutoscaler"))
        })
}

/// How much of what goes to the stable side the new version gets, and whether anything answers there.
fn stable_side(plan: &Plan, cluster: &Cluster) -> (f64, bool) {
    let is_service = |version: &&VersionKey| {
        let object = plan.spec.objects.get(*version);
        object.and_then(|object| object.get("kind")).and_then(Value::as_str) == Some("Service")
    };
    let service = plan.spec.baseline.iter().find(is_service).map(VersionKey::object);
    let pods: Vec<(&ObjectKey, &Pods)> = if let Some(service) = service {
        // Where subsets tell the versions apart, the Service has the pods of both all along.
        let is_shared = !definitions(plan).is_empty() && !plan.spec.bindings.iter().any(|binding| binding.object.object() == service);
        let stable = workload(plan);
        let behind = cluster.objects.get(service).map(|service| cluster.behind(service)).unwrap_or_default();
        behind.into_iter().filter(|(key, _)| !is_shared || Some(*key) == stable.as_ref()).collect()
    } else {
        let is_routed = plan.spec.paths.iter().any(|entry| is_route(plan, &entry.object));
        let stable = workload(plan);
        all_pods(plan, cluster).filter(|(key, _)| !is_routed || Some(*key) == stable.as_ref()).collect()
    };
    let ready: u32 = pods.iter().map(|(_, pods)| pods.ready).sum();
    let new: u32 = pods.iter().filter(|(key, pods)| is_new(plan, key, pods)).map(|(_, pods)| pods.ready).sum();
    if ready == 0 { (0.0, false) } else { (f64::from(new) / f64::from(ready), true) }
}

fn all_pods<'a>(plan: &'a Plan, cluster: &'a Cluster) -> impl Iterator<Item = (&'a ObjectKey, &'a Pods)> {
    let objects = plan.spec.paths.iter().map(|entry| &entry.object);
    objects.flat_map(|object| cluster.pods(object).map(move |(_, pods)| (object, pods)))
}

/// Whether pods are of the new version: of another workload than the stable one, or of the target's template.
fn is_new(plan: &Plan, key: &ObjectKey, pods: &Pods) -> bool {
    let target = plan.spec.target.iter().find(|version| version.object() == key);
    let target = target.and_then(|version| plan.spec.objects.get(version)).and_then(|object| object.pointer("/spec/template"));
    target.is_none_or(|template| *template == pods.template)
}
