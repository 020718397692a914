//! Every version of every object of a plan, each kept once.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{Binding, LateValue, ObjectKey, VersionKey};

/// The versions of a plan's objects, numbered in the order they were first seen.
#[derive(Debug, Default)]
pub(super) struct Versions(BTreeMap<ObjectKey, Vec<Version>>);

#[derive(Debug, PartialEq)]
struct Version {
    value: Value,
    late: Vec<(String, LateValue)>,
}

impl Versions {
    /// The key of this content; equal content with equal late values has one key. Pointers of late values must have a parent.
    pub(super) fn add(&mut self, object: &ObjectKey, value: Value, late: Vec<(String, LateValue)>) -> VersionKey {
        let versions = self.0.entry(object.clone()).or_default();
        let version = Version { value, late };
        let index = versions.iter().position(|known| *known == version).unwrap_or_else(|| {
            versions.push(version);
            versions.len() - 1
        });
        object.version(u32::try_from(index + 1).unwrap_or(u32::MAX))
    }

    /// The objects and their late values, as a plan lists them.
    pub(super) fn into_parts(self) -> (BTreeMap<VersionKey, Value>, Vec<Binding>) {
        let mut objects = BTreeMap::new();
        let mut bindings = Vec::new();
        for (object, versions) in self.0 {
            for (number, version) in (1..).zip(versions) {
                let key = object.version(number);
                bindings.extend(version.late.into_iter().map(|(pointer, value)| Binding { object: key.clone(), pointer, value }));
                objects.insert(key, version.value);
            }
        }
        (objects, bindings)
    }
}
