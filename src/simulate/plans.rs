//! What a plan says about one of its objects.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::digest;
use crate::model::{Bindings, LateValue, ObjectKey, Plan, VersionKey};
use crate::patch::{self, PathValues, Unbound};

/// The workload that is released.
pub(super) fn workload(plan: &Plan) -> Option<ObjectKey> {
    plan.spec.workload_key().cloned()
}

/// The second workload, where the style has one.
pub(super) fn canary(plan: &Plan) -> Option<ObjectKey> {
    let stable = workload(plan);
    let all = plan.spec.objects.iter().filter(|(_, value)| is_workload(value)).map(|(version, _)| version.object());
    all.into_iter().find(|object| Some(*object) != stable.as_ref()).cloned()
}

/// Whether pods are made of it.
pub(super) fn is_workload(object: &Value) -> bool {
    object.pointer("/spec/template").is_some() && object.pointer("/spec/selector").is_some()
}

/// The pointers that a write of the object covers.
pub(super) fn paths(plan: &Plan, object: &ObjectKey) -> Vec<String> {
    let entry = plan.spec.paths.iter().find(|entry| entry.object == *object);
    let versions = plan.spec.objects.iter().filter(|(version, _)| version.object() == object).map(|(_, value)| value);
    entry.map(|entry| patch::paths_of(&entry.paths, versions)).unwrap_or_default()
}

/// What an object holds where the plan changes it.
pub(super) fn at_paths(plan: &Plan, key: &ObjectKey, object: &Value) -> PathValues {
    patch::values_at(object, &paths(plan, key))
}

/// A version with its late values.
pub(super) fn bound(plan: &Plan, version: &VersionKey, bindings: &Bindings) -> Result<Value, Unbound> {
    let nothing = Value::Null;
    let object = plan.spec.objects.get(version).unwrap_or(&nothing);
    patch::bind(version, object, &plan.spec.bindings, |late| match late {
        LateValue::StableRevision => bindings.stable_revision.as_ref().map(|revision| json!(revision)),
        LateValue::CanaryRevision => bindings.canary_revision.as_ref().map(|revision| json!(revision)),
        LateValue::Replicas(share) => bindings.replicas.map(|total| json!(share.of(total))),
    })
}

/// The objects of some versions, as the plan has them.
pub(super) fn objects_of(plan: &Plan, versions: &[VersionKey]) -> BTreeMap<ObjectKey, Value> {
    let object = |version: &VersionKey| plan.spec.objects.get(version).map(|value| (version.object().clone(), value.clone()));
    versions.iter().filter_map(object).collect()
}

/// Another release with the same steps: the new pods carry one more label.
pub(super) fn made_up(plan: &Plan) -> Plan {
    let mut next = plan.clone();
    let stable: Vec<&VersionKey> = plan.spec.baseline.iter().collect();
    for (version, object) in &mut next.spec.objects {
        if is_workload(object)
            && !stable.contains(&version)
            && let Some(metadata) = object.pointer_mut("/spec/template/metadata").and_then(Value::as_object_mut)
            && let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut()
        {
            labels.insert("rollout.dev/simulated".to_owned(), json!("next"));
        }
    }
    next.spec.release = Some(digest::of_json(&json!({"after": plan.spec.release})));
    next
}

#[cfg(test)]
mod tests {
    use super::{canary, made_up, workload};
    use crate::plan::states::check_ways;
    use crate::plan::{fixture, validate};

    #[test]
    fn the_workloads_of_a_plan_are_found() {
        let plan = fixture();
        assert_eq!(workload(&plan).map(|key| key.to_string()).as_deref(), Some("Deployment/shop"));
        assert_eq!(canary(&plan).map(|key| key.to_string()).as_deref(), Some("Deployment/shop-canary"));
    }

    #[test]
    fn a_made_up_release_is_another_and_sound() {
        let plan = fixture();
        let next = made_up(&plan);
        assert_ne!(next.spec.release, plan.spec.release);
        assert_eq!((validate(&next), check_ways(&next)), (Vec::new(), Vec::new()));
    }
}
