//! A script's result is checked before it is believed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::pointers::matching;
use crate::model::{Gateway, WeightSupport, pointer};

/// What is wrong with `rewritten`, made from `original` by the gateway's script; empty when nothing is.
pub(super) fn problems(gateway: &Gateway, original: &Value, rewritten: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(support) = &gateway.weights {
        weights(support, original, rewritten, &mut problems);
    }
    for path in &gateway.paths {
        let length = |object: &Value| object.pointer(path).and_then(Value::as_array).map(Vec::len);
        if let (Some(before), after) = (length(original), length(rewritten))
            && after.is_none_or(|after| after < before)
        {
            problems.push(format!("the script lost rules: `{path}` had {before} and has {} now", after.unwrap_or_default()));
        }
    }
    for limit in &gateway.limits {
        for (pointer, list) in matching(rewritten, &limit.list) {
            let length = list.as_array().map_or(0, Vec::len);
            if length > limit.max {
                problems.push(format!("`{pointer}` would have {length} elements, the most is {}", limit.max));
            }
        }
    }
    problems
}

/// The result's parts that a declared path does not cover.
pub(super) fn outside(paths: &[String], original: &Value, rewritten: &Value) -> Vec<String> {
    changed(original, rewritten).into_iter().filter(|pointer| !paths.iter().any(|path| covers(path, pointer))).collect()
}

/// The pointers that differ: members of `spec`, single labels and annotations.
pub(super) fn changed(original: &Value, rewritten: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    for parent in ["/spec", "/metadata/labels", "/metadata/annotations"] {
        let (before, after) = (members(original, parent), members(rewritten, parent));
        let keys: BTreeSet<&String> = [before, after].into_iter().flatten().flat_map(Map::keys).collect();
        let differing = keys.into_iter().filter(|key| before.and_then(|map| map.get(*key)) != after.and_then(|map| map.get(*key)));
        pointers.extend(differing.map(|key| pointer::child(parent, key)));
    }
    pointers
}

fn members<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

fn covers(path: &str, pointer: &str) -> bool {
    pointer == path || pointer.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')) || path.starts_with(&format!("{pointer}/"))
}

fn weights(support: &WeightSupport, original: &Value, rewritten: &Value, problems: &mut Vec<String>) {
    let Some(sum) = support.sum else { return };
    for pattern in &support.lists {
        let before: Vec<&Value> = matching(original, pattern).into_iter().map(|(_, list)| list).collect();
        for (pointer, list) in matching(rewritten, pattern) {
            if before.contains(&list) {
                continue;
            }
            let Some(list) = list.as_array().filter(|list| list.len() > 1) else { continue };
            let total: i64 = list.iter().filter_map(|element| element.get("weight").and_then(Value::as_i64)).sum();
            if total != i64::from(sum) {
                problems.push(format!("the weights of `{pointer}` sum to {total}, not {sum}"));
            }
        }
    }
}
