//! What an object holds at some paths: the plan's version, or what was there when the release began.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::pointer::{escape, tokens};

/// JSON pointers with their values. `None`: there is nothing at the pointer.
pub type PathValues = BTreeMap<String, Option<Value>>;

/// Written by the API server, or the object's name: never part of a release.
const NEVER: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// Returns the pointers that a write of an object covers. The empty pointer, which stands for the whole of an object that
/// only the plan makes, becomes the parts that one of its versions names: each field beside the metadata, and each single
/// label and annotation, because controllers add some of their own.
pub fn paths_of<'a>(paths: &[String], versions: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let mut all: BTreeSet<String> = paths.iter().filter(|path| !path.is_empty()).cloned().collect();
    if paths.iter().any(String::is_empty) {
        for version in versions {
            let members = |pointer: &str| version.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
            all.extend(members("").filter(|(key, _)| !NEVER.contains(&key.as_str())).map(|(key, _)| format!("/{}", escape(key))));
            for parent in ["/metadata/labels", "/metadata/annotations"] {
                all.extend(members(parent).map(|(key, _)| format!("{parent}/{}", escape(key))));
            }
        }
    }
    all.into_iter().collect()
}

/// Returns what the object holds at the pointers. A null is nothing, as for the API server.
pub fn values_at(object: &Value, paths: &[String]) -> PathValues {
    let at = |path: &String| object.pointer(path).filter(|value| !value.is_null()).cloned();
    paths.iter().map(|path| (path.clone(), at(path))).collect()
}

/// Puts a value at a pointer, or takes away what is there. Maps that are missing on the way are made; what is in the way and
/// no map gives room to one. Elements of lists are changed, never added or taken away.
pub(super) fn put(object: &mut Value, pointer: &str, value: Option<Value>) {
    let tokens = tokens(pointer);
    let Some((last, parents)) = tokens.split_last() else { return };
    let mut place = object;
    for token in parents {
        let next = match place {
            Value::Object(map) if value.is_some() || map.contains_key(token) => Some(map.entry(token.clone()).or_insert(Value::Null)),
            Value::Array(elements) => element(elements, token),
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        let Some(next) = next else { return };
        if value.is_some() && !next.is_object() && !next.is_array() {
            *next = Value::Object(serde_json::Map::new());
        }
        place = next;
    }
    match (place, value) {
        (Value::Object(map), Some(value)) => {
            map.insert(last.clone(), value);
        }
        (Value::Object(map), None) => {
            map.remove(last);
        }
        (Value::Array(elements), Some(value)) => {
            if let Some(place) = element(elements, last) {
                *place = value;
            }
        }
        (Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
    }
}

fn element<'a>(elements: &'a mut [Value], token: &str) -> Option<&'a mut Value> {
    elements.get_mut(token.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{paths_of, put, values_at};

    #[test]
    fn the_whole_of_an_object_is_what_its_versions_name() {
        let versions = [
            json!({"kind": "Ingress", "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": {"x/weight": "5"}}, "spec": {}}),
            json!({"kind": "Ingress", "metadata": {"name": "a", "annotations": {"x/header": "b"}}, "data": {}, "status": {}}),
        ];
        let expected = ["/data", "/metadata/annotations/x~1header", "/metadata/annotations/x~1weight", "/metadata/labels/app", "/spec"];
        assert_eq!(paths_of(&[String::new()], &versions), expected);
        assert_eq!(paths_of(&["/spec/http".to_owned()], &versions), ["/spec/http"]);
    }

    #[test]
    fn a_null_is_nothing() {
        let values = values_at(&json!({"spec": {"a": null, "b": 1}}), &["/spec/a".to_owned(), "/spec/b".to_owned(), "/c".to_owned()]);
        assert_eq!(values.values().cloned().collect::<Vec<_>>(), [None, None, Some(json!(1))]);
    }

    #[test]
    fn a_value_is_put_where_maps_are_missing_and_taken_without_making_any() {
        let mut object = json!({"spec": null});
        put(&mut object, "/spec/a/b", None);
        assert_eq!(object, json!({"spec": null}));
        put(&mut object, "/spec/a~1b/c", Some(json!(1)));
        assert_eq!(object, json!({"spec": {"a/b": {"c": 1}}}));
        put(&mut object, "/spec/a~1b/c", None);
        assert_eq!(object, json!({"spec": {"a/b": {}}}));
    }
}
