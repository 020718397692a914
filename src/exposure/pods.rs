//! The pods of a state, by version: their labels, and how many there are.

use serde_json::{Map, Value};

use crate::model::{LateValue, Plan, PlanStep, Replicas, Style, VersionKey};

/// Which version a pod has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// That before the release.
    Old,
    /// That after the release.
    New,
}

/// Pods that are alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pods<'a> {
    /// Their version.
    pub(super) version: Version,
    /// Their labels.
    pub(super) labels: Option<&'a Map<String, Value>>,
    /// How many; none where a cluster decides.
    pub(super) count: Option<u32>,
}

/// The pods of the workload itself, in a state where all of them have one version.
pub(super) fn at_rest<'a>(plan: &'a Plan, state: &'a [VersionKey], version: Version) -> Vec<Pods<'a>> {
    workload(plan, state).map(|(_, workload)| pods(plan, workload, version)).into_iter().collect()
}

/// The pods in a step.
pub(super) fn in_step<'a>(plan: &'a Plan, step: &'a PlanStep) -> Vec<Pods<'a>> {
    let Some((key, workload)) = workload(plan, &step.state) else { return Vec::new() };
    match plan.spec.style {
        Style::Canary => {
            // The second workload is of the same kind; the plan has no third.
            let others = step.state.iter().filter(|other| other.object() != key.object() && other.object().kind() == key.object().kind());
            let others = others.filter_map(|other| Some((other, plan.spec.objects.get(other)?)));
            let total = count(plan, workload);
            let others = others.map(|(key, other)| Pods {
                count: late_replicas(plan, key).map_or_else(|| replicas(other), |share| Some(share.of(total?))),
                ..pods(plan, other, Version::New)
            });
            [pods(plan, workload, Version::Old)].into_iter().chain(others).collect()
        }
        Style::Partition | Style::BlueGreen => {
            let total = count(plan, workload);
            let new = total.map(|total| step.replicas.of(total));
            let old = if plan.spec.style == Style::BlueGreen { total } else { total.zip(new).map(|(total, new)| total - new) };
            let before = self::workload(plan, &plan.spec.baseline).map_or(workload, |(_, before)| before);
            vec![
                Pods { version: Version::Old, labels: labels(before), count: old },
                Pods { version: Version::New, labels: labels(workload), count: new },
            ]
        }
    }
}

fn workload<'a>(plan: &'a Plan, state: &'a [VersionKey]) -> Option<(&'a VersionKey, &'a Value)> {
    let wanted = &plan.spec.workload;
    let named = state.iter().filter(|key| key.object().name() == wanted.name);
    named
        .filter_map(|key| Some((key, plan.spec.objects.get(key)?)))
        .find(|(_, object)| object["kind"] == wanted.kind && object["apiVersion"] == wanted.api_version)
}

fn pods<'a>(plan: &Plan, workload: &'a Value, version: Version) -> Pods<'a> {
    Pods { version, labels: labels(workload), count: count(plan, workload) }
}

fn labels(workload: &Value) -> Option<&Map<String, Value>> {
    workload.pointer("/spec/template/metadata/labels").and_then(Value::as_object)
}

/// How many pods the workload has, unless an autoscaler decides.
fn count(plan: &Plan, workload: &Value) -> Option<u32> {
    if plan.spec.is_autoscaled() { None } else { replicas(workload) }
}

/// The share of the workload's replicas that a version has.
fn late_replicas(plan: &Plan, version: &VersionKey) -> Option<Replicas> {
    plan.spec.bindings.iter().filter(|binding| binding.object == *version).find_map(|binding| match binding.value {
        LateValue::Replicas(share) => Some(share),
        LateValue::StableRevision | LateValue::CanaryRevision => None,
    })
}

fn replicas(workload: &Value) -> Option<u32> {
    u32::try_from(workload.pointer("/spec/replicas")?.as_u64()?).ok()
}
