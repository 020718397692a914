//! The objects of a plan and those beside it, with what they are called: read once for all states.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::model::{Manifest, ObjectKey, Plan, VersionKey, pod_labels};

/// Every version of every object that a route may lead to.
pub(super) struct Objects<'a> {
    pub(super) plan: &'a Plan,
    planned: BTreeMap<&'a VersionKey, Named<'a>>,
    /// Those that the plan does not hold.
    beside: Vec<Named<'a>>,
    /// The labels of the pods of workloads that the plan does not hold.
    pub(super) foreign_pods: Vec<&'a Map<String, Value>>,
    /// All that were given, for gateway objects that a state does without.
    given: &'a [&'a Manifest],
}

/// An object. Those from beside the plan have no key.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) key: Option<&'a VersionKey>,
    pub(super) value: &'a Value,
}

/// An object, and what it is called.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) found: Found<'a>,
    pub(super) name: Option<&'a str>,
    api_version: Option<&'a str>,
    kind: Option<&'a str>,
}

impl<'a> Objects<'a> {
    pub(super) fn of(plan: &'a Plan, given: &'a [&'a Manifest]) -> Self {
        let planned: BTreeMap<_, _> = plan.spec.objects.iter().map(|(key, value)| (key, Named::of(Some(key), value))).collect();
        let beside = given.iter().map(|manifest| Named::of(None, manifest.value()));
        let beside = beside.filter(|one| !planned.values().any(|planned| planned.is_same(one))).collect();
        let is_planned = |manifest: &Manifest| {
            planned.values().any(|planned| planned.kind == Some(manifest.kind()) && planned.name == Some(manifest.name()))
        };
        let foreign_pods = given.iter().filter(|manifest| !is_planned(manifest)).filter_map(|manifest| pod_labels(manifest)).collect();
        Self { plan, planned, beside, foreign_pods, given }
    }

    /// The objects of a state, then those that the plan does not hold.
    pub(super) fn in_state(&self, state: &'a [VersionKey]) -> Vec<Named<'a>> {
        // The key of the state, which lives as long.
        let named =
            |key: &'a VersionKey| self.planned.get(key).map(|named| Named { found: Found { key: Some(key), ..named.found }, ..*named });
        state.iter().filter_map(named).chain(self.beside.iter().copied()).collect()
    }

    /// Whether some state has such an object.
    pub(super) fn is_planned(&self, group: &str, kind: &str, name: &str) -> bool {
        self.planned.values().any(|named| named.is_kind(group, kind) && named.name == Some(name))
    }

    /// The object of a key as it was given.
    pub(super) fn given(&self, object: &ObjectKey) -> Option<Found<'a>> {
        let kind = object.kind().split('.').next().unwrap_or_default();
        let mut given = self.given.iter().filter(|manifest| manifest.kind() == kind && manifest.name() == object.name());
        given.next().map(|manifest| Found { key: None, value: manifest.value() })
    }
}

impl<'a> Named<'a> {
    fn of(key: Option<&'a VersionKey>, value: &'a Value) -> Self {
        Self {
            found: Found { key, value },
            name: value["metadata"]["name"].as_str(),
            api_version: value["apiVersion"].as_str(),
            kind: value["kind"].as_str(),
        }
    }

    pub(super) fn is_kind(&self, group: &str, kind: &str) -> bool {
        let version = self.api_version.unwrap_or_default();
        self.kind == Some(kind) && version.split_once('/').map_or("", |(group, _)| group) == group
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.kind, self.api_version, self.name) == (other.kind, other.api_version, other.name)
    }
}
