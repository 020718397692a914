//! What the release starts from: the objects of a former plan, or of the base revision.

use std::collections::BTreeMap;

use serde_json::Value;

use super::digests::{has_equal_release, release};
use crate::model::{ObjectKey, Originals, Plan, VersionKey};

/// The objects before the release, by kind and name. An object that is not here is as the head has it.
#[derive(Debug, Default)]
pub(super) struct Baseline(BTreeMap<(String, String), Value>);

impl Baseline {
    /// The object's manifest before the release.
    pub(super) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.0.get(&(kind.to_owned(), name.to_owned()))
    }
}

/// A former plan comes first: rendered again for the same target it keeps its baseline; otherwise its target is where we start.
pub(super) fn choose(previous: Option<&Plan>, base: Option<&Originals>, head_workload: &Value) -> Baseline {
    if let Some(plan) = previous {
        let workload = ObjectKey::new(&plan.spec.workload.kind, &plan.spec.workload.name);
        let is_same = object_of(plan, &plan.spec.target, &workload).is_some_and(|target| has_equal_release(target, head_workload));
        return from_plan(plan, if is_same { &plan.spec.baseline } else { &plan.spec.target });
    }
    base.map(from_originals).unwrap_or_default()
}

/// The digest of the release from `baseline` to `target`; none when there is nothing to release.
pub(super) fn release_digest(baseline: Option<&Value>, target: &Value) -> Option<String> {
    baseline.filter(|baseline| !has_equal_release(baseline, target)).map(|baseline| release(baseline, target))
}

fn from_plan(plan: &Plan, state: &[VersionKey]) -> Baseline {
    let objects = state.iter().filter_map(|key| {
        let kind = key.object().kind().split('.').next().unwrap_or_default();
        Some(((kind.to_owned(), key.object().name().to_owned()), plan.spec.objects.get(key)?.clone()))
    });
    Baseline(objects.collect())
}

fn from_originals(base: &Originals) -> Baseline {
    let gateways = base.gateways.iter().filter_map(|(_, source)| source.as_ref());
    let sources = base.workload.iter().chain(&base.service).chain(&base.autoscaler).chain(gateways);
    Baseline(sources.map(|source| ((source.object.kind.clone(), source.object.name.clone()), source.manifest.value().clone())).collect())
}

fn object_of<'a>(plan: &'a Plan, state: &[VersionKey], object: &ObjectKey) -> Option<&'a Value> {
    state.iter().find(|key| key.object() == object).and_then(|key| plan.spec.objects.get(key))
}
