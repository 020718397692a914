//! The objects of one state of a plan, as gateways and Services find each other.

use serde_json::Value;

use super::pods::{self, Pods, Version};
use crate::model::{LateValue, Manifest, ObjectKey, Plan, PlanStep, VersionKey};

/// The objects of a state.
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pods: Vec<Pods<'a>>,
    state: &'a [VersionKey],
    beside: &'a [&'a Manifest],
}

/// An object of a state. Objects from beside the plan have no key.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) key: Option<&'a VersionKey>,
    pub(super) value: &'a Value,
}

/// What a name leads to.
pub(super) enum Lookup<'a> {
    /// The object.
    Found(Found<'a>),
    /// The plan says that it does not exist in the state.
    Absent,
    /// Nothing is known of it.
    Unheard,
}

impl<'a> View<'a> {
    pub(super) fn baseline(plan: &'a Plan, beside: &'a [&'a Manifest]) -> Self {
        let state = &plan.spec.baseline;
        Self { plan, state, beside, pods: pods::at_rest(plan, state, Version::Old) }
    }

    pub(super) fn target(plan: &'a Plan, beside: &'a [&'a Manifest]) -> Self {
        let state = &plan.spec.target;
        Self { plan, state, beside, pods: pods::at_rest(plan, state, Version::New) }
    }

    pub(super) fn step(plan: &'a Plan, beside: &'a [&'a Manifest], step: &'a PlanStep) -> Self {
        Self { plan, state: &step.state, beside, pods: pods::in_step(plan, step) }
    }

    /// An object of the plan's namespace, by API group, kind and name.
    pub(super) fn find(&self, group: &'static str, kind: &'static str, name: &str) -> Lookup<'a> {
        let mut found = self.all(group, kind).filter(|found| found.value["metadata"]["name"] == name);
        if let Some(found) = found.next() {
            return Lookup::Found(found);
        }
        let is_planned = self.plan.spec.objects.values().any(|value| is_kind(value, group, kind) && value["metadata"]["name"] == name);
        if is_planned { Lookup::Absent } else { Lookup::Unheard }
    }

    /// All objects of a kind: those of the state, then those that the plan does not hold.
    pub(super) fn all(&self, group: &'static str, kind: &'static str) -> impl Iterator<Item = Found<'a>> {
        let plan = self.plan;
        let of_state = self.state.iter().filter_map(|key| Some(Found { key: Some(key), value: plan.spec.objects.get(key)? }));
        let beside = self.beside.iter().map(|manifest| Found { key: None, value: manifest.value() });
        let beside = beside.filter(move |found| !plan.spec.objects.values().any(|value| is_same(value, found.value)));
        of_state.chain(beside).filter(move |found| is_kind(found.value, group, kind))
    }

    /// The object of a key, whatever its version in the state.
    pub(super) fn get(&self, object: &ObjectKey) -> Option<Found<'a>> {
        let key = self.state.iter().find(|key| key.object() == object);
        if let Some(key) = key {
            return Some(Found { key: Some(key), value: self.plan.spec.objects.get(key)? });
        }
        let kind = object.kind().split('.').next().unwrap_or_default();
        let mut beside = self.beside.iter().filter(|manifest| manifest.kind() == kind && manifest.name() == object.name());
        beside.next().map(|manifest| Found { key: None, value: manifest.value() })
    }

    /// The versions that late values below a pointer of an object stand for.
    pub(super) fn revisions(&self, found: Found<'a>, pointer: &str) -> Vec<Version> {
        let Some(key) = found.key else { return Vec::new() };
        let bindings = self.plan.spec.bindings.iter().filter(|binding| binding.object == *key);
        let below = bindings.filter(|binding| binding.pointer.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/')));
        below
            .filter_map(|binding| match binding.value {
                LateValue::StableRevision => Some(Version::Old),
                LateValue::CanaryRevision => Some(Version::New),
                LateValue::Replicas(_) => None,
            })
            .collect()
    }
}

fn is_kind(value: &Value, group: &str, kind: &str) -> bool {
    let version = value["apiVersion"].as_str().unwrap_or_default();
    value["kind"] == kind && version.split_once('/').map_or("", |(group, _)| group) == group
}

fn is_same(left: &Value, right: &Value) -> bool {
    left["kind"] == right["kind"] && left["apiVersion"] == right["apiVersion"] && left["metadata"]["name"] == right["metadata"]["name"]
}
