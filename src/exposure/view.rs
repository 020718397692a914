//! One state of a plan, as gateways and Services find each other.

use std::collections::BTreeMap;

use super::destination::{self, Behind};
use super::objects::{Found, Named, Objects};
use super::pods::{self, Pods, Version};
use crate::model::{LateValue, ObjectKey, Plan, PlanStep, VersionKey};

/// The objects of a state.
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pods: Vec<Pods<'a>>,
    /// What is behind each Service: many routes lead to few of them.
    pub(super) services: BTreeMap<&'a str, Behind<'a>>,
    pub(super) objects: &'a Objects<'a>,
    state: &'a [VersionKey],
    here: Vec<Named<'a>>,
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
    pub(super) fn baseline(objects: &'a Objects<'a>) -> Self {
        let state = &objects.plan.spec.baseline;
        Self::of(objects, state, pods::at_rest(objects.plan, state, Version::Old))
    }

    pub(super) fn target(objects: &'a Objects<'a>) -> Self {
        let state = &objects.plan.spec.target;
        Self::of(objects, state, pods::at_rest(objects.plan, state, Version::New))
    }

    pub(super) fn step(objects: &'a Objects<'a>, step: &'a PlanStep) -> Self {
        Self::of(objects, &step.state, pods::in_step(objects.plan, step))
    }

    pub(super) fn of(objects: &'a Objects<'a>, state: &'a [VersionKey], pods: Vec<Pods<'a>>) -> Self {
        let here = objects.in_state(state);
        let mut view = Self { plan: objects.plan, pods, services: BTreeMap::new(), objects, state, here };
        view.services = destination::services(&view);
        view
    }

    /// An object of the plan's namespace, by API group, kind and name.
    pub(super) fn find(&self, group: &str, kind: &str, name: &str) -> Lookup<'a> {
        match self.all(group, kind).find(|named| named.name == Some(name)) {
            Some(named) => Lookup::Found(named.found),
            None if self.objects.is_planned(group, kind, name) => Lookup::Absent,
            None => Lookup::Unheard,
        }
    }

    /// All objects of a kind: those of the state, then those that the plan does not hold.
    pub(super) fn all(&self, group: &str, kind: &str) -> impl Iterator<Item = &Named<'a>> {
        self.here.iter().filter(move |named| named.is_kind(group, kind))
    }

    /// The object of a key, whatever its version in the state.
    pub(super) fn get(&self, object: &ObjectKey) -> Option<Found<'a>> {
        match self.state.iter().find(|key| key.object() == object) {
            Some(key) => self.plan.spec.objects.get(key).map(|value| Found { key: Some(key), value }),
            None => self.objects.given(object),
        }
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
