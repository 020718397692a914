//! What the release starts from: the objects of a former plan, or of the base revision.

use std::collections::BTreeMap;

use serde_json::Value;

use super::digests::{has_equal_release, has_equal_template, release};
use crate::model::{ObjectRef, Originals, Plan, VersionKey};

/// The objects before the release, by kind, name and API group. An object that is not here is as the head has it.
#[derive(Debug, Default)]
pub(super) struct Baseline<'a>(BTreeMap<(String, String), BTreeMap<String, &'a Value>>);

impl<'a> Baseline<'a> {
    /// The object's manifest before the release; that of another group only where a kind has moved to a new one.
    pub(super) fn get(&self, object: &ObjectRef) -> Option<&'a Value> {
        let groups = self.0.get(&(object.kind.clone(), object.name.clone()))?;
        groups.get(&object.group).or_else(|| groups.values().next().filter(|_| groups.len() == 1)).copied()
    }

    /// With those of another that are missing here: what a former plan did not hold was as the manifests said.
    fn or(mut self, other: Self) -> Self {
        for (name, groups) in other.0 {
            self.0.entry(name).or_insert(groups);
        }
        self
    }

    fn of(objects: impl Iterator<Item = &'a Value>) -> Self {
        let mut baseline = Baseline::default();
        for value in objects {
            let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let object = ObjectRef::new(text("/apiVersion"), text("/kind"), "", text("/metadata/name"));
            baseline.0.entry((object.kind, object.name)).or_default().insert(object.group, value);
        }
        baseline
    }
}

/// A former plan comes first: rendered again for the same target it keeps its baseline; otherwise its target is where we start.
pub(super) fn choose<'a>(previous: Option<&'a Plan>, base: Option<&'a Originals>, head_workload: &Value) -> Baseline<'a> {
    let manifests = base.map(from_originals).unwrap_or_default();
    let Some(plan) = previous else { return manifests };
    let is_same = workload_of(plan, &plan.spec.target).is_some_and(|target| has_equal_release(target, head_workload));
    from_plan(plan, if is_same { &plan.spec.baseline } else { &plan.spec.target }).or(manifests)
}

/// The digest of the release from `baseline` to `target`; none when there is nothing to release.
pub(super) fn release_digest(baseline: Option<&Value>, target: &Value) -> Option<String> {
    baseline.filter(|baseline| !has_equal_release(baseline, target)).map(|baseline| release(baseline, target))
}

/// Whether only the rollout id changes: a release that has nothing to bring in.
pub(super) fn is_release_without_change(baseline: Option<&Value>, target: &Value) -> bool {
    baseline.is_some_and(|baseline| has_equal_template(baseline, target) && !has_equal_release(baseline, target))
}

fn from_plan<'a>(plan: &'a Plan, state: &'a [VersionKey]) -> Baseline<'a> {
    Baseline::of(state.iter().filter_map(|key| plan.spec.objects.get(key)))
}

fn from_originals(base: &Originals) -> Baseline<'_> {
    let gateways = base.gateways.iter().filter_map(|(_, source)| source.as_ref());
    let sources = base.workload.iter().chain(&base.service).chain(&base.autoscaler).chain(gateways);
    Baseline::of(sources.map(|source| source.manifest.value()))
}

/// The workload of a former plan: its key is `Kind` alone, or `Kind.group` where the plan holds that kind of two groups.
fn workload_of<'a>(plan: &'a Plan, state: &[VersionKey]) -> Option<&'a Value> {
    let workload = &plan.spec.workload;
    let group = workload.api_version.split_once('/').map_or("", |(group, _)| group);
    let full = format!("{}.{group}", workload.kind);
    let named = |kind: &str| state.iter().find(|key| key.object().name() == workload.name && key.object().kind() == kind);
    plan.spec.objects.get(named(&full).or_else(|| named(&workload.kind))?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::{Baseline, choose};
    use crate::model::{Manifest, ObjectRef, Originals, Places, Source, VersionKey};
    use crate::plan::fixture;

    #[test]
    fn the_workload_of_a_former_plan_is_found_by_its_kind_with_a_group_too() {
        let mut plan = fixture();
        let renamed = |key: &VersionKey| match key.object().kind() {
            "Deployment" => format!("Deployment.apps/{}@{}", key.object().name(), key.version()).try_into().unwrap(),
            _ => key.clone(),
        };
        plan.spec.objects = plan.spec.objects.iter().map(|(key, value)| (renamed(key), value.clone())).collect();
        plan.spec.baseline = plan.spec.baseline.iter().map(renamed).collect();
        plan.spec.target = plan.spec.target.iter().map(renamed).collect();
        let head = fixture().spec.objects[&fixture().spec.target[0]].clone();
        assert_eq!(head["kind"], "Deployment");
        let object = ObjectRef::new("apps/v1", "Deployment", "", "shop");
        let baseline = choose(Some(&plan), None, &head);
        assert_eq!(baseline.get(&object), Some(&fixture().spec.objects[&fixture().spec.baseline[0]]));
        assert_ne!(baseline.get(&object), Some(&head), "the same target keeps its baseline");
    }

    #[test]
    fn what_a_former_plan_did_not_hold_is_as_the_base_has_it() {
        let source = |value: Value| {
            let manifest = Manifest::try_from(value).unwrap();
            let object = manifest.object_ref("prod");
            Arc::new(Source { manifest, object, path: "a.yaml".into(), places: Places::default(), remarks: Vec::new() })
        };
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "other"}});
        let of_base = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}});
        let base = Originals { service: Some(source(service.clone())), workload: Some(source(of_base)), ..Originals::default() };
        let plan = fixture();
        let head = plan.spec.objects[&plan.spec.target[0]].clone();
        let baseline = choose(Some(&plan), Some(&base), &head);
        assert_eq!(baseline.get(&ObjectRef::new("v1", "Service", "", "other")), Some(&service));
        let workload = ObjectRef::new("apps/v1", "Deployment", "", "shop");
        assert_eq!(baseline.get(&workload), Some(&plan.spec.objects[&plan.spec.baseline[0]]), "the plan comes first");
    }

    #[test]
    fn objects_of_two_groups_are_told_apart() {
        let object = |api_version: &str| json!({"apiVersion": api_version, "kind": "Ingress", "metadata": {"name": "shop"}});
        let (one, other) = (object("extensions/v1beta1"), object("networking.k8s.io/v1"));
        let get = |baseline: &Baseline, api_version: &str| baseline.get(&ObjectRef::new(api_version, "Ingress", "", "shop")).cloned();
        let both = Baseline::of([&one, &other].into_iter());
        assert_eq!(get(&both, "extensions/v1beta1"), Some(one.clone()));
        assert_eq!(get(&both, "networking.k8s.io/v1"), Some(other.clone()));
        assert_eq!(get(&both, "example.com/v1"), None);
        let moved = Baseline::of([&one].into_iter());
        assert_eq!(get(&moved, "networking.k8s.io/v1"), Some(one.clone()), "the kind has moved");
    }
}
