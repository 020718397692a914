//! The write that brings a Rollout's status up to date: our own fields, and only if nobody wrote in between.

use serde_json::{Map, Value, json};

/// Returns the JSON patch for the `status` subresource, or `None` where it says all that already.
///
/// It names the resource version that was read: where a user has written since, the API server answers 409, and the
/// Rollout has to be read again before anything is written. So no approval is ever lost.
pub fn patch(rollout: &Value, wanted: &Map<String, Value>) -> Option<Vec<Value>> {
    let live = &rollout["status"];
    let mut operations = Vec::new();
    if !live.is_object() {
        operations.push(json!({"op": "add", "path": "/status", "value": {}}));
    }
    for (field, value) in wanted {
        let path = format!("/status/{field}");
        match (live.get(field), value) {
            (Some(live), value) if live == value => {}
            // Others may keep fields of their own beside ours.
            (Some(Value::Object(live)), Value::Object(value)) => {
                for (name, value) in value.iter().filter(|(name, value)| live.get(*name) != Some(value)) {
                    operations.push(json!({"op": "add", "path": format!("{path}/{name}"), "value": value}));
                }
            }
            (_, value) if value.is_null() => {}
            (_, value) => operations.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
    if operations.is_empty() {
        return None;
    }
    let version = &rollout["metadata"]["resourceVersion"];
    operations.insert(0, json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    Some(operations)
}
