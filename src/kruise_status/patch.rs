//! The write that brings a Rollout's status up to date: our own fields, and only if nobody wrote to them in between.

use serde_json::{Map, Value, json};

/// What users write in the style's part of the status.
const ASKED: [&str; 2] = ["currentStepState", "nextStepIndex"];
/// Words: whoever wrote others there asked for nothing.
const WORDS: &str = "message";

/// Returns the JSON patch for the `status` subresource, or `None` where it says all that already.
///
/// It tests that what users write there, and every field that it changes, is what was read. Where a user has written since,
/// the API server refuses, and the Rollout has to be read again before anything is written: no approval is ever lost. Who
/// else writes to the Rollout, however often, keeps nothing up. Where there is no status at all yet, it is written at the
/// resource version that was read.
pub fn patch(rollout: &Value, wanted: &Map<String, Value>) -> Option<Vec<Value>> {
    let live = &rollout["status"];
    let mut tests = vec![test("/metadata/uid", &rollout["metadata"]["uid"])];
    let mut operations = Vec::new();
    if !live.is_object() {
        operations.push(json!({"op": "add", "path": "/status", "value": {}}));
    }
    for (field, value) in wanted {
        let path = format!("/status/{field}");
        match (live.get(field), value) {
            // Others may keep fields of their own beside ours.
            (Some(Value::Object(live)), Value::Object(value)) => {
                for (name, value) in value {
                    let path = format!("{path}/{name}");
                    let before = live.get(name);
                    if before != Some(value) || ASKED.contains(&name.as_str()) {
                        tests.extend(before.map(|before| test(&path, before)));
                    }
                    if before != Some(value) {
                        operations.push(json!({"op": "add", "path": path, "value": value}));
                    }
                }
            }
            (Some(live), value) if live == value => {}
            (_, value) if value.is_null() => {}
            (before, value) => {
                tests.extend(before.filter(|_| field != WORDS).map(|before| test(&path, before)));
                operations.push(json!({"op": "add", "path": path, "value": value}));
            }
        }
    }
    if operations.is_empty() {
        return None;
    }
    if !live.is_object() {
        let version = &rollout["metadata"]["resourceVersion"];
        tests = vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version})];
    }
    tests.append(&mut operations);
    Some(tests)
}

fn test(path: &str, value: &Value) -> Value {
    json!({"op": "test", "path": path, "value": value})
}
