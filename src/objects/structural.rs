//! A JSON schema as the API server takes it: without references, with a type everywhere, and open for fields of later versions.
//!
//! Nothing is defaulted and nothing unknown is dropped, so that a plan comes back from the API server as it went in.

use serde_json::{Map, Value, json};

/// How deep schemas may be nested: none of ours refers to itself, and none should.
const DEEPEST: usize = 32;

/// Returns the structural form of a definition `name` of `root`.
pub(super) fn structural(root: &Value, name: &str) -> Value {
    convert(&root["$defs"][name], root, DEEPEST)
}

fn convert(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return anything();
    }
    let schema = resolved(schema, root);
    let mut structural = if schema.get("x-kubernetes-int-or-string").is_some() {
        json!({"x-kubernetes-int-or-string": true})
    } else if let Some(alternatives) = alternatives(&schema) {
        one_of(&alternatives, root, depth)
    } else {
        plain(&schema, root, depth)
    };
    if let Some(description) = schema.get("description") {
        structural["description"] = description.clone();
    }
    structural
}

/// A reference replaced by what it refers to; a description beside the reference wins.
fn resolved(schema: &Value, root: &Value) -> Value {
    let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema.clone() };
    let mut target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).cloned().unwrap_or_else(anything);
    if let Some(description) = schema.get("description") {
        target["description"] = description.clone();
    }
    target
}

/// The alternatives of a choice, without "or nothing".
fn alternatives(schema: &Value) -> Option<Vec<Value>> {
    let choice = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    Some(choice.iter().filter(|alternative| alternative["type"] != "null").cloned().collect())
}

/// A choice between texts is an enumeration, between one-key maps a map with one of the keys; any other stays open.
fn one_of(alternatives: &[Value], root: &Value, depth: usize) -> Value {
    if let [only] = alternatives {
        return convert(only, root, depth - 1);
    }
    let texts: Vec<&Value> = alternatives.iter().filter_map(|alternative| alternative.get("const")).collect();
    if texts.len() == alternatives.len() {
        return json!({"type": "string", "enum": texts});
    }
    if !alternatives.iter().all(|alternative| alternative["properties"].is_object()) {
        return anything();
    }
    let mut properties = Map::new();
    for alternative in alternatives {
        for (key, value) in alternative["properties"].as_object().into_iter().flatten() {
            let mut value = convert(value, root, depth - 1);
            if let Some(description) = alternative.get("description") {
                value["description"] = description.clone();
            }
            properties.insert(key.clone(), value);
        }
    }
    json!({"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1, "x-kubernetes-preserve-unknown-fields": true})
}

fn plain(schema: &Value, root: &Value, depth: usize) -> Value {
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let Some(kind) = kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null") else { return anything() };
    let mut structural = Map::new();
    match kind {
        "object" => {
            if let Some(properties) = schema["properties"].as_object() {
                let converted = properties.iter().map(|(key, value)| (key.clone(), convert(value, root, depth - 1))).collect();
                structural.insert("properties".into(), Value::Object(converted));
                structural.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
            } else if let Some(values) = schema.get("additionalProperties").filter(|values| **values != Value::Bool(false)) {
                structural.insert("additionalProperties".into(), convert(values, root, depth - 1));
            } else {
                structural.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
            }
        }
        "array" => {
            structural.insert("items".into(), convert(&schema["items"], root, depth - 1));
        }
        _ => {}
    }
    structural.insert("type".into(), kind.into());
    for kept in ["required", "enum", "minimum", "maximum", "pattern", "minLength", "maxLength"] {
        if let Some(value) = schema.get(kept) {
            structural.insert(kept.into(), value.clone());
        }
    }
    Value::Object(structural)
}

fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::structural;

    #[test]
    fn references_are_followed_and_choices_are_written_out() {
        let root = json!({"$defs": {
            "Step": {"type": "object", "additionalProperties": false, "required": ["gate"], "properties": {
                "gate": {"$ref": "#/$defs/Gate", "description": "What ends it."},
                "weight": {"type": ["integer", "null"], "format": "uint8", "maximum": 100},
                "then": {"oneOf": [{"const": "hold"}, {"const": "abort"}]},
                "objects": {"type": "object", "additionalProperties": true},
            }},
            "Gate": {"oneOf": [
                {"type": "object", "properties": {"approval": {"type": "object"}}, "description": "A person."},
                {"type": "object", "properties": {"seconds": {"type": "integer"}}},
            ]},
        }});
        let open = json!({"x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(
            structural(&root, "Step"),
            json!({"type": "object", "required": ["gate"], "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "gate": {"type": "object", "description": "What ends it.", "minProperties": 1, "maxProperties": 1,
                    "x-kubernetes-preserve-unknown-fields": true, "properties": {
                        "approval": {"type": "object", "description": "A person.", "x-kubernetes-preserve-unknown-fields": true},
                        "seconds": {"type": "integer"},
                    }},
                "weight": {"type": "integer", "maximum": 100},
                "then": {"type": "string", "enum": ["hold", "abort"]},
                "objects": {"type": "object", "additionalProperties": open},
            }})
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let root = json!({"$defs": {"Loop": {"type": "object", "properties": {"again": {"$ref": "#/$defs/Loop"}}}}});
        assert!(structural(&root, "Loop").is_object());
    }
}
