//! The names that a plan gives its objects: the kind alone where that is enough, else with the group.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ObjectKey;

/// The API groups of every kind in a plan.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<String, BTreeSet<String>>);

impl Keys {
    /// Makes a kind of a group known. All must be known before the first key is made.
    pub(super) fn know(&mut self, api_version: &str, kind: &str) {
        self.0.entry(kind.to_owned()).or_default().insert(group_of(api_version).to_owned());
    }

    /// The key of an object.
    pub(super) fn key(&self, api_version: &str, kind: &str, name: &str) -> ObjectKey {
        let group = group_of(api_version);
        let is_ambiguous = self.0.get(kind).is_some_and(|groups| groups.len() > 1);
        if is_ambiguous && !group.is_empty() { ObjectKey::new(format!("{kind}.{group}"), name) } else { ObjectKey::new(kind, name) }
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
