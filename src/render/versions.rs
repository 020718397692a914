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
    /// Nulls in maps are left out: a cluster drops them, and what differs by them alone is the same.
    pub(super) fn add(&mut self, object: &ObjectKey, mut value: Value, late: Vec<(String, LateValue)>) -> VersionKey {
        drop_nulls(&mut value);
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

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, member| !member.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Versions;
    use crate::model::ObjectKey;

    #[test]
    fn what_differs_by_nulls_is_one_version() {
        let (mut versions, key) = (Versions::default(), ObjectKey::new("Deployment", "shop"));
        let first = versions.add(&key, json!({"a": 1, "b": {"c": null, "d": [null, {"e": null}]}}), Vec::new());
        let second = versions.add(&key, json!({"a": 1, "b": {"d": [null, {}]}, "f": null}), Vec::new());
        assert_eq!(first, second);
        assert_eq!(versions.into_parts().0[&first], json!({"a": 1, "b": {"d": [null, {}]}}));
    }
}
