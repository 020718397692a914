//! Who wrote what: the API server's `managedFields`.

use serde_json::{Map, Value, json};

use crate::model::pointer::tokens;

/// Who wrote a field last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The field manager: `kubectl-edit`, `argocd-controller`.
    pub manager: String,
    /// When it last wrote to the object.
    pub time: Option<String>,
}

/// Returns who wrote the field at `pointer`, or what is around it: of several the last one. `None`: nobody is recorded.
pub fn writer(live: &Value, pointer: &str) -> Option<Writer> {
    let keys = tokens(pointer);
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let owner = |entry: &Value| -> Option<(usize, String, Writer)> {
        let depth = depth(entry.get("fieldsV1")?.as_object()?, live, &keys)?;
        let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        let time = text("time");
        Some((depth, time.clone().unwrap_or_default(), Writer { manager: text("manager")?, time }))
    };
    entries.iter().filter_map(owner).max_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1))).map(|(_, _, writer)| writer)
}

/// Returns the JSON patch that takes the manager's entries out of the object's `managedFields`, its values untouched. Empty:
/// there is no entry.
pub fn hand_back(live: &Value, manager: &str) -> Vec<Value> {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_ours = |entry: &Value| entry.get("manager").and_then(Value::as_str) == Some(manager);
    if !entries.iter().any(is_ours) {
        return Vec::new();
    }
    let at = |index: usize| format!("/metadata/managedFields/{index}");
    let ours = || entries.iter().enumerate().rev().filter(|(_, entry)| is_ours(entry));
    let mut operations: Vec<Value> =
        ours().map(|(index, _)| json!({"op": "test", "path": format!("{}/manager", at(index)), "value": manager})).collect();
    if entries.iter().all(is_ours) {
        // An empty list would be taken for "as before"; one empty entry clears it.
        operations.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": [{}]}));
    } else {
        // From the last to the first, so that no index moves.
        operations.extend(ours().map(|(index, _)| json!({"op": "remove", "path": at(index)})));
    }
    operations
}

/// How many keys of the path the owned fields hold, if the path ends in an owned field or below one.
fn depth(fields: &Map<String, Value>, live: &Value, keys: &[String]) -> Option<usize> {
    let Some((key, rest)) = keys.split_first() else {
        // Whatever lies below belongs to this owner at least in part.
        return Some(0);
    };
    let below = match live {
        Value::Array(list) => {
            let index: usize = key.parse().ok()?;
            let element = list.get(index)?;
            fields.iter().find(|(name, _)| is_element(name, element, index)).map(|(_, below)| (below, element))
        }
        Value::Object(map) => fields.get(&format!("f:{key}")).map(|below| (below, map.get(key).unwrap_or(&Value::Null))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    match below {
        Some((Value::Object(below), live)) => depth(below, live, rest).map(|depth| depth + 1),
        Some(_) => Some(1),
        // A field without fields below it is owned whole.
        None => fields.keys().all(|name| name == ".").then_some(0),
    }
}

/// Whether `k:{"name":"app"}`, `v:"x"` or `i:0` names the element.
fn is_element(name: &str, element: &Value, index: usize) -> bool {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    match name.split_once(':') {
        Some(("k", keys)) => parsed(keys)
            .is_some_and(|keys| keys.as_object().is_some_and(|keys| keys.iter().all(|(key, value)| element.get(key) == Some(value)))),
        Some(("v", value)) => parsed(value).is_some_and(|value| value == *element),
        Some(("i", number)) => number.parse() == Ok(index),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{hand_back, writer};

    fn live() -> Value {
        json!({
            "metadata": {"labels": {"a": "1"}, "managedFields": [
                {"manager": "engine", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:http": {}, "f:template": {"f:spec": {
                    "f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:image": {}, "f:name": {}}}}}}}},
                {"manager": "kubectl-edit", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:template": {"f:spec": {
                    "f:containers": {"k:{\"name\":\"app\"}": {"f:image": {}}}}}}}},
                {"manager": "rollout-agent", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}},
            ]},
            "spec": {"http": [{"route": 1}], "template": {"spec": {"containers": [
                {"name": "sidecar", "image": "s"}, {"name": "app", "image": "a"}]}}}
        })
    }

    #[track_caller]
    fn case(pointer: &str, expected: Option<&str>) {
        assert_eq!(writer(&live(), pointer).map(|writer| writer.manager), expected.map(str::to_owned), "{pointer}");
    }

    #[test]
    fn the_last_who_wrote_a_field_is_named() {
        case("/spec/template/spec/containers/1/image", Some("kubectl-edit"));
        case("/spec/template/spec/containers/1/name", Some("engine"));
        case("/spec/template/spec/containers/0/image", None);
        case("/spec/http/0/route", Some("engine"));
        case("/spec/template", Some("kubectl-edit"));
        case("/metadata/labels/a", Some("rollout-agent"));
        case("/metadata/labels/b", None);
    }

    #[test]
    fn our_entries_go_from_the_last_to_the_first() {
        let managed = |managers: &[&str]| -> Value {
            json!({"metadata": {"managedFields": managers.iter().map(|manager| json!({"manager": manager})).collect::<Vec<_>>()}})
        };
        let operations = hand_back(&managed(&["us", "them", "us"]), "us");
        let shown: Vec<String> = operations
            .iter()
            .map(|operation| format!("{} {}", operation["op"].as_str().unwrap(), operation["path"].as_str().unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                "test /metadata/managedFields/2/manager",
                "test /metadata/managedFields/0/manager",
                "remove /metadata/managedFields/2",
                "remove /metadata/managedFields/0",
            ]
        );
        assert!(hand_back(&managed(&["them"]), "us").is_empty());
        assert!(hand_back(&json!({}), "us").is_empty());
        assert_eq!(hand_back(&managed(&["us"]), "us")[1]["value"], json!([{}]));
    }
}
