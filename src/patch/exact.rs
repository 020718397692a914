//! The one patch after which an object holds exactly what it should.

use serde_json::{Value, json};

use super::values::{PathValues, put};
use crate::model::pointer::{join, tokens};

/// Returns the JSON patch (RFC 6902) that gives `live` exactly `values`: for each pointer the whole value, or nothing. Its first
/// operation names the resource version of `live`, so that the API server refuses it when the object has changed since.
///
/// Elements of lists are changed where they are there, and neither added nor removed: that would move others.
pub fn exact(values: &PathValues, live: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    if let Some(version) = live.pointer("/metadata/resourceVersion") {
        operations.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    }
    // Later operations meet what earlier ones have made.
    let mut state = live.clone();
    for (path, value) in values {
        let operation = match value {
            Some(value) => add(&state, path, value),
            None => remove(&state, path),
        };
        operations.extend(operation);
        put(&mut state, path, value.clone());
    }
    operations
}

/// The operation that takes away what is at a path, if that is no element of a list.
fn remove(state: &Value, path: &str) -> Option<Value> {
    let (parent, _) = path.rsplit_once('/')?;
    let is_there = state.pointer(parent).is_some_and(Value::is_object) && state.pointer(path).is_some();
    is_there.then(|| json!({"op": "remove", "path": path}))
}

/// The operation that puts a value at a path: at the first key on the way that is not there yet, with maps around it.
fn add(state: &Value, path: &str, value: &Value) -> Option<Value> {
    let keys = tokens(path);
    let (mut place, mut depth) = (state, 0);
    while depth + 1 < keys.len() {
        match place {
            Value::Object(map) => match map.get(&keys[depth]) {
                Some(next @ (Value::Object(_) | Value::Array(_))) => place = next,
                Some(_) | None => break,
            },
            Value::Array(list) => place = list.get(keys[depth].parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        }
        depth += 1;
    }
    if let Value::Array(list) = place {
        let is_there = keys.get(depth)?.parse::<usize>().is_ok_and(|index| index < list.len());
        return (is_there && depth + 1 == keys.len()).then(|| json!({"op": "replace", "path": path, "value": value}));
    }
    let nested = keys.iter().skip(depth + 1).rev().fold(value.clone(), |inner, key| json!({key: inner}));
    Some(json!({"op": "add", "path": join(&keys[..=depth.min(keys.len().checked_sub(1)?)]), "value": nested}))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::super::values::{PathValues, values_at};
    use super::exact;
    use crate::model::pointer::{join, tokens};

    fn patched(live: &Value, operations: &[Value]) -> Value {
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.to_vec())).unwrap();
        let mut object = live.clone();
        json_patch::patch(&mut object, &patch).unwrap();
        object
    }

    #[track_caller]
    fn case(live: &Value, values: &[(&str, Option<Value>)], expected: &Value) {
        let values: PathValues = values.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        assert_eq!(&patched(live, &exact(&values, live)), expected);
    }

    #[test]
    fn a_value_is_replaced_whole_and_an_absent_one_removed() {
        let live =
            json!({"metadata": {"resourceVersion": "7"}, "spec": {"template": {"a": 1, "b": 2}, "minReadySeconds": 5, "replicas": 3}});
        let expected = json!({"metadata": {"resourceVersion": "7"}, "spec": {"template": {"a": 3}, "replicas": 3}});
        case(&live, &[("/spec/template", Some(json!({"a": 3}))), ("/spec/minReadySeconds", None), ("/spec/strategy", None)], &expected);
    }

    #[test]
    fn maps_that_are_missing_are_made_once() {
        let live = json!({"metadata": {}});
        let values = [("/metadata/annotations/a~1b", Some(json!("1"))), ("/metadata/annotations/c", Some(json!("2")))];
        case(&live, &values, &json!({"metadata": {"annotations": {"a/b": "1", "c": "2"}}}));
    }

    #[test]
    fn what_is_in_the_way_and_no_map_gives_room() {
        case(&json!({"spec": null}), &[("/spec/a/b", Some(json!(1)))], &json!({"spec": {"a": {"b": 1}}}));
        case(&json!({"spec": 3}), &[("/spec/a", Some(json!(1)))], &json!({"spec": {"a": 1}}));
    }

    #[test]
    fn an_element_of_a_list_is_replaced_and_none_is_inserted() {
        let live = json!({"spec": {"http": [{"a": 1}, {"a": 2}]}});
        case(&live, &[("/spec/http/1/a", Some(json!(9)))], &json!({"spec": {"http": [{"a": 1}, {"a": 9}]}}));
        case(&live, &[("/spec/http/0", Some(json!(9)))], &json!({"spec": {"http": [9, {"a": 2}]}}));
        case(&live, &[("/spec/http/7", Some(json!(9))), ("/spec/http/x/y", Some(json!(9))), ("/spec/http/1", None)], &live);
    }

    #[test]
    fn the_first_operation_is_refused_by_an_object_that_has_changed() {
        let operations = exact(&PathValues::new(), &json!({"metadata": {"resourceVersion": "41"}}));
        assert_eq!(operations, [json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "41"})]);
    }

    fn key() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "c/d", "e~f", "~1"]).prop_map(str::to_owned)
    }

    /// Objects as an API server holds them: it knows no null.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!([1, {"a": 2}])), Just(json!({}))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop::collection::btree_map(key(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
        })
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(key(), 1..4).prop_map(|keys| join(&keys))
    }

    /// The object without what lies at the paths, and without the maps that only led there.
    fn outside(object: &Value, paths: &[Vec<String>]) -> Option<Value> {
        if paths.iter().any(Vec::is_empty) {
            return None;
        }
        let Value::Object(map) = object else { return if paths.is_empty() { Some(object.clone()) } else { None } };
        let mut kept = Map::new();
        for (key, value) in map {
            let below: Vec<Vec<String>> = paths.iter().filter(|path| path[0] == *key).map(|path| path[1..].to_vec()).collect();
            kept.extend(outside(value, &below).map(|value| (key.clone(), value)));
        }
        (paths.is_empty() || !kept.is_empty()).then_some(Value::Object(kept))
    }

    /// Whether a path has a key where the object has a list: no kind has both in one place.
    fn contradicts(object: &Value, path: &str) -> bool {
        let parents = path.match_indices('/').skip(1).map(|(end, _)| &path[..end]);
        parents.filter_map(|parent| object.pointer(parent)).any(Value::is_array)
    }

    proptest! {
        #[test]
        fn inside_the_paths_exactly_the_plans_outside_untouched(
            live in value(), wanted in value(), paths in prop::collection::vec(path(), 0..4)
        ) {
            prop_assume!(live.is_object() && !paths.iter().any(|path| contradicts(&live, path)));
            let values = values_at(&wanted, &paths);
            let after = patched(&live, &exact(&values, &live));
            // A deeper path decides where two overlap: it names the same wanted object.
            prop_assert_eq!(values_at(&after, &paths), values);
            let keys: Vec<Vec<String>> = paths.iter().map(|path| tokens(path)).collect();
            prop_assert_eq!(outside(&after, &keys), outside(&live, &keys));
        }

        #[test]
        fn what_was_there_comes_back(live in value(), wanted in value(), paths in prop::collection::vec(path(), 0..4)) {
            prop_assume!(live.is_object() && !paths.iter().any(|path| contradicts(&live, path)));
            let captured = values_at(&live, &paths);
            let after = patched(&live, &exact(&values_at(&wanted, &paths), &live));
            let restored = patched(&after, &exact(&captured, &after));
            prop_assert_eq!(values_at(&restored, &paths), captured);
        }

        #[test]
        fn twice_is_once(live in value(), wanted in value(), paths in prop::collection::vec(path(), 0..4)) {
            prop_assume!(live.is_object() && !paths.iter().any(|path| contradicts(&live, path)));
            let values = values_at(&wanted, &paths);
            let once = patched(&live, &exact(&values, &live));
            prop_assert_eq!(&patched(&once, &exact(&values, &once)), &once);
        }
    }
}
