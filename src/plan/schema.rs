//! The JSON schema of a plan's file.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};

use super::{API_VERSION, DIGEST_ANNOTATION, KIND};
use crate::model::PlanSpec;

/// A plan as an object of a cluster. Only described, never made.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "RolloutPlan")]
struct RolloutPlan {
    /// The version of the format.
    api_version: String,
    /// Always `RolloutPlan`.
    kind: String,
    /// The name, the namespace, and the digest among the annotations.
    metadata: Value,
    /// Everything that the digest covers.
    spec: PlanSpec,
    /// What the agent says about the release. Never in a file.
    #[serde(default)]
    status: Option<Value>,
}

/// Returns the schema (draft 2020-12) of a whole plan.
pub fn schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RolloutPlan>();
    let mut schema = schema.to_value();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("apiVersion".to_owned(), json!({"description": "The version of the format.", "const": API_VERSION}));
        properties.insert("kind".to_owned(), json!({"const": KIND}));
        properties.insert("metadata".to_owned(), metadata());
        properties.insert("status".to_owned(), json!({"description": "What the agent says about the release.", "type": "object"}));
    }
    schema
}

fn metadata() -> Value {
    let name = json!({"type": "string", "minLength": 1, "maxLength": 253});
    json!({
        "description": "The name and namespace of the Rollout, and the digest of `spec`.",
        "type": "object",
        "required": ["name", "namespace", "annotations"],
        "properties": {
            "name": name,
            "namespace": name,
            "annotations": {
                "type": "object",
                "required": [DIGEST_ANNOTATION],
                "properties": {DIGEST_ANNOTATION: {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}},
                "additionalProperties": {"type": "string"}
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::schema;

    #[test]
    fn the_schema_describes_every_field_of_a_plan() {
        let schema = schema();
        assert_eq!(schema["properties"]["apiVersion"]["const"], "rollout.dev/v1alpha1");
        assert_eq!(schema["additionalProperties"], false);
        let spec = &schema["$defs"]["PlanSpec"];
        assert_eq!(spec["additionalProperties"], false);
        for field in ["rollout", "objects", "steps", "finish", "abort", "abortFinish", "bindings"] {
            assert!(spec["properties"][field].is_object(), "{field}");
        }
    }
}
