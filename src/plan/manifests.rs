//! The objects of a state as manifests: late values by name for people, or bound for a cluster.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::states::State;
use crate::model::{Binding, LateValue, ObjectKey, ObjectRef, Plan, Replicas, VersionKey, pointer::unescape};
use crate::yaml;

/// Late values that somebody has read from a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bound {
    /// The revision of the old version's pods.
    pub stable_revision: Option<String>,
    /// The revision of the new version's pods.
    pub canary_revision: Option<String>,
    /// The workload's replicas.
    pub replicas: Option<u32>,
}

/// The three names by which values are bound.
pub const NAMES: [&str; 3] = ["stableRevision", "canaryRevision", "replicas"];

impl Bound {
    /// Adds the value with that name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "stableRevision" => self.stable_revision = Some(value.to_owned()),
            "canaryRevision" => self.canary_revision = Some(value.to_owned()),
            "replicas" => {
                let count = value.parse().map_err(|_| format!("replicas are a whole number, not `{value}`"))?;
                self.replicas = Some(count);
            }
            _ => return Err(format!("only {} can be bound, not `{name}`", NAMES.map(|name| format!("`{name}`")).join(", "))),
        }
        Ok(())
    }

    fn value(&self, late: LateValue) -> Option<Value> {
        match late {
            LateValue::StableRevision => self.stable_revision.as_ref().map(|revision| json!(revision)),
            LateValue::CanaryRevision => self.canary_revision.as_ref().map(|revision| json!(revision)),
            LateValue::Replicas(replicas) => self.replicas.map(|total| json!(replicas.of(total))),
        }
    }
}

/// Returns the name by which a late value is bound.
pub fn name(late: LateValue) -> &'static str {
    match late {
        LateValue::StableRevision => NAMES[0],
        LateValue::CanaryRevision => NAMES[1],
        LateValue::Replicas(_) => NAMES[2],
    }
}

/// Returns a late value as people read it: `<stableRevision>`, `<20% of replicas>`, `<20% of replicas, 2 in git>`. A number of
/// pods that git's replicas have room for is that number.
pub fn shown(plan: &Plan, late: LateValue) -> Value {
    match (late, plan.spec.replicas_in_git()) {
        (LateValue::StableRevision | LateValue::CanaryRevision, _) => json!(format!("<{}>", name(late))),
        (LateValue::Replicas(Replicas::Count(count)), Some(total)) if count <= total => json!(count),
        (LateValue::Replicas(share), Some(total)) => json!(format!("<{share} of replicas, {} in git>", share.of(total))),
        (LateValue::Replicas(share), None) => json!(format!("<{share} of replicas>")),
    }
}

/// Returns the objects of a state, with late values by name.
pub fn named(plan: &Plan, state: &State) -> BTreeMap<ObjectRef, Value> {
    objects(plan, state, |binding| Some(shown(plan, binding.value)))
}

/// An object in one of its versions, as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The object.
    pub object: ObjectRef,
    /// Its manifest as YAML, with late values by name.
    pub text: String,
}

/// Returns every version of every object, each written once.
pub fn shown_versions(plan: &Plan) -> BTreeMap<&VersionKey, Shown> {
    let shown = |key: &VersionKey, object: &Value| {
        let object = with_late_values(plan, key, object, |binding| Some(shown(plan, binding.value)));
        Shown { object: object_ref(plan, key.object(), &object), text: yaml::write_json(&object) }
    };
    plan.spec.objects.iter().map(|(key, object)| (key, shown(key, object))).collect()
}

/// Returns the objects of a state with late values bound, or the bindings without a value.
pub fn bound<'a>(plan: &'a Plan, state: &State, bound: &Bound) -> Result<BTreeMap<ObjectRef, Value>, Vec<&'a Binding>> {
    let in_state = |binding: &&Binding| state.get(binding.object.object()) == Some(&binding.object.version());
    let unbound: Vec<&Binding> =
        plan.spec.bindings.iter().filter(in_state).filter(|binding| bound.value(binding.value).is_none()).collect();
    if unbound.is_empty() { Ok(objects(plan, state, |binding| bound.value(binding.value))) } else { Err(unbound) }
}

fn objects(plan: &Plan, state: &State, late: impl Fn(&Binding) -> Option<Value>) -> BTreeMap<ObjectRef, Value> {
    let mut objects = BTreeMap::new();
    for (key, version) in state {
        let version = key.version(*version);
        let Some(object) = plan.spec.objects.get(&version) else { continue };
        let object = with_late_values(plan, &version, object, &late);
        objects.insert(object_ref(plan, key, &object), object.into_owned());
    }
    objects
}

/// A version of an object with its namespace, and with late values where somebody has them.
fn with_late_values<'a>(plan: &Plan, version: &VersionKey, object: &'a Value, late: impl Fn(&Binding) -> Option<Value>) -> Cow<'a, Value> {
    let mut object = Cow::Borrowed(object);
    for binding in plan.spec.bindings.iter().filter(|binding| binding.object == *version) {
        if let Some(value) = late(binding) {
            put(object.to_mut(), &binding.pointer, value);
        }
    }
    if object["metadata"].as_object().is_some_and(|metadata| !metadata.contains_key("namespace")) {
        object.to_mut()["metadata"]["namespace"] = json!(plan.namespace);
    }
    object
}

fn object_ref(plan: &Plan, key: &ObjectKey, object: &Value) -> ObjectRef {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    ObjectRef::new(text("apiVersion"), text("kind"), &plan.namespace, key.name())
}

/// Puts a value at a pointer whose parent is a map.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, field)) = pointer.rsplit_once('/') else { return };
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.insert(unescape(field).into_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shown;
    use super::{Bound, bound, named};
    use crate::model::{LateValue, ObjectKey, Replicas};
    use crate::plan::{fixture, states};

    #[test]
    fn late_values_are_shown_by_name() {
        let plan = fixture();
        let state = states::at(&plan.spec, 1).expect("a step");
        let objects = named(&plan, &state);
        let selectors: Vec<_> =
            objects.iter().filter(|(object, _)| object.kind == "Service").map(|(_, value)| &value["spec"]["selector"]).collect();
        assert_eq!(selectors[0], &json!({"app": "shop", "pod-template-hash": "<stableRevision>"}));
        assert_eq!(selectors[1], &json!({"app": "shop", "pod-template-hash": "<canaryRevision>"}));
    }

    #[test]
    fn a_value_that_nobody_gave_is_told() {
        let plan = fixture();
        let state = states::at(&plan.spec, 1).expect("a step");
        let mut values = Bound::default();
        values.set("stableRevision", "abc").expect("a name");
        let unbound = bound(&plan, &state, &values).expect_err("the other is missing");
        assert_eq!(unbound.iter().map(|binding| binding.value).collect::<Vec<_>>(), [LateValue::CanaryRevision]);
        values.set("canaryRevision", "def").expect("a name");
        assert!(bound(&plan, &state, &values).is_ok());
        assert!(bound(&plan, &states::at(&plan.spec, 0).expect("the baseline"), &Bound::default()).is_ok());
    }

    #[test]
    fn replicas_are_a_share_of_what_the_cluster_has() {
        let mut plan = fixture();
        let canary = ObjectKey::new("Deployment", "shop-canary");
        plan.spec.objects.get_mut(&canary.version(1)).expect("a version")["spec"].as_object_mut().expect("a map").remove("replicas");
        plan.spec.bindings[0].object = canary.version(1);
        plan.spec.bindings[0].pointer = "/spec/replicas".into();
        plan.spec.bindings[0].value = LateValue::Replicas(Replicas::Percent(20));
        let state = states::at(&plan.spec, 1).expect("a step");
        let replicas = |objects: std::collections::BTreeMap<_, serde_json::Value>| {
            objects
                .into_values()
                .find(|object| object["kind"] == "Deployment" && object["metadata"]["name"] == "shop-canary")
                .expect("the canary")["spec"]["replicas"]
                .clone()
        };
        assert_eq!(replicas(named(&plan, &state)), "<20% of replicas, 1 in git>");
        let mut values = Bound { canary_revision: Some("def".into()), ..Bound::default() };
        assert!(values.set("replicas", "many").is_err());
        assert!(values.set("anything", "1").is_err());
        values.set("replicas", "11").expect("a number");
        assert_eq!(replicas(bound(&plan, &state, &values).expect("all bound")), 3);
    }

    #[test]
    fn a_share_is_shown_with_what_it_is_of_the_replicas_in_git() {
        let mut plan = fixture();
        let of = |plan: &_, share| shown(plan, LateValue::Replicas(share));
        let git = plan.spec.replicas_in_git().expect("replicas");
        assert_eq!(of(&plan, Replicas::Percent(100)), format!("<100% of replicas, {git} in git>"));
        assert_eq!(of(&plan, Replicas::Count(git)), git);
        assert_eq!(of(&plan, Replicas::Count(git + 1)), format!("<{} of replicas, {git} in git>", git + 1));
        let target = plan.spec.workload_in(&plan.spec.target).expect("a workload").clone();
        plan.spec.objects.get_mut(&target).expect("a version")["spec"].as_object_mut().expect("a map").remove("replicas");
        assert_eq!(of(&plan, Replicas::Percent(20)), "<20% of replicas>");
        assert_eq!(of(&plan, Replicas::Count(1)), "<1 of replicas>");
    }
}
