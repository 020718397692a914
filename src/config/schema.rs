//! The JSON schema of `.rollout.yaml`, for editors.

use serde_json::{Value, json};

/// The schema.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": ".rollout.yaml",
        "description": "The environments of a repository whose Rollouts are rendered",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "environments": {
                "description": "Deployments of their own, with names of their own",
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["name"],
                    "properties": {
                        "name": named("How commands and plans call it"),
                        "path": {"type": "string", "description": "The folder of its files, relative to the root; without it the root", "default": ""},
                        "output": {"type": "string", "description": "The folder that its plans go to", "default": super::OUTPUT},
                        "namespace": named("The namespace of objects that say none"),
                        "build": {
                            "description": "What makes its manifests; without it, kustomizations that name a Rollout are built and other files read as they stand",
                            "oneOf": [
                                {"const": "none", "description": "Files are read as they stand"},
                                {"const": "kustomize", "description": "The kustomization in `path`"},
                                {
                                    "type": "object",
                                    "additionalProperties": false,
                                    "required": ["helm"],
                                    "properties": {
                                        "helm": chart()
                                    }
                                }
                            ]
                        }
                    }
                }
            }
        }
    })
}

/// What a chart is built with.
fn chart() -> Value {
    let texts = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["chart"],
        "properties": {
            "chart": {"type": "string", "description": "The chart's folder, relative to the root"},
            "values": texts("Files of values, relative to the root; a later one wins"),
            "release": named("The release's name; without it the name of the chart's folder"),
            "namespace": named("The release's namespace"),
            "kubeVersion": {"type": "string", "description": "The version of Kubernetes that the chart is rendered for"},
            "apiVersions": texts("API versions that the cluster has beside those that helm knows")
        }
    })
}

/// A name as Kubernetes takes it.
fn named(description: &str) -> Value {
    json!({"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", "description": description})
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::schema;
    use crate::config::{FIELDS, build};

    #[track_caller]
    fn case(pointer: &str, fields: &[&str]) {
        let schema = schema();
        let properties = schema.pointer(pointer).and_then(Value::as_object).expect("properties");
        let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
        let mut fields = fields.to_vec();
        known.sort_unstable();
        fields.sort_unstable();
        assert_eq!(known, fields);
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read_and_no_others() {
        case("/properties", &["environments"]);
        case("/properties/environments/items/properties", &FIELDS);
        case("/properties/environments/items/properties/build/oneOf/2/properties/helm/properties", &build::FIELDS);
    }

    #[test]
    fn the_schema_has_a_choice_for_each_word_of_build() {
        let schema = schema();
        let choices = schema.pointer("/properties/environments/items/properties/build/oneOf").and_then(Value::as_array).expect("choices");
        let word = |choice: &Value| {
            choice["const"].as_str().map_or_else(|| choice["required"][0].as_str().map(str::to_owned), |word| Some(word.to_owned()))
        };
        let words: Vec<_> = choices.iter().filter_map(word).collect();
        assert_eq!(words, ["none", "kustomize", "helm"]);
    }
}
