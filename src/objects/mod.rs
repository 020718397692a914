//! What has to be installed in a cluster: the definitions of the objects, and the agent with exactly the rights that the
//! plans need.

mod kruise;
mod manifests;
mod roles;
mod rollout_plan;
mod structural;

use serde_json::{Value, json};

pub use manifests::{Installation, manifests};

/// Returns the definitions of our own kinds.
pub fn own_definitions() -> Vec<Value> {
    vec![rollout_plan::rollout_plan()]
}

/// Returns the definitions of OpenKruise's kinds. Where OpenKruise is installed, its own are as good and should stay.
pub fn kruise_definitions() -> Vec<Value> {
    vec![kruise::rollout(), kruise::traffic_routing(), kruise::analysis_template()]
}

/// The names of a kind.
struct Names {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
}

/// A `CustomResourceDefinition` of a namespaced kind with a status subresource.
fn definition(names: &Names, versions: &[Value]) -> Value {
    let mut spelled = json!({
        "kind": names.kind,
        "listKind": format!("{}List", names.kind),
        "plural": names.plural,
        "singular": names.singular,
    });
    if !names.short.is_empty() {
        spelled["shortNames"] = json!(names.short);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", names.plural, names.group)},
        "spec": {
            "group": names.group,
            "names": spelled,
            "scope": "Namespaced",
            "versions": versions,
        },
    })
}

/// One version of a definition. `columns` are name, type and JSON path of what `kubectl get` prints.
fn version(name: &str, stored: bool, schema: &Value, columns: &[(&str, &str, &str)]) -> Value {
    let columns: Vec<Value> = columns.iter().map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path})).collect();
    json!({
        "name": name,
        "served": true,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{kruise_definitions, own_definitions};

    /// Fails at each place where the API server would refuse a schema as not structural.
    fn check(schema: &Value, place: &str) {
        let open = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let either = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
        assert!(schema["type"].is_string() || open || either, "{place} has no type");
        assert!(schema.get("$ref").is_none(), "{place}: {schema}");
        // What is covered by a digest comes back as it was sent.
        assert!(
            schema.get("default").is_none() || ["rolloutplans.rollout.dev.status", "rollouts.rollouts.kruise.io.status"].contains(&place),
            "{place}: {schema}"
        );
        assert!(schema["additionalProperties"].is_null() || schema["properties"].is_null(), "{place} has both");
        assert!(schema["additionalProperties"] != Value::Bool(false), "{place}: unknown fields have to stay");
        assert_eq!(schema["type"] == "array", schema["items"].is_object(), "{place}");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            check(property, &format!("{place}.{name}"));
        }
        if schema["items"].is_object() {
            check(&schema["items"], &format!("{place}[]"));
        }
        if schema["additionalProperties"].is_object() {
            check(&schema["additionalProperties"], &format!("{place}.*"));
        }
    }

    #[test]
    fn every_schema_is_structural_and_only_a_status_has_a_default() {
        for definition in own_definitions().iter().chain(&kruise_definitions()) {
            let name = definition["metadata"]["name"].as_str().expect("a name");
            for version in definition["spec"]["versions"].as_array().expect("versions") {
                check(&version["schema"]["openAPIV3Schema"], name);
            }
        }
    }

    #[test]
    fn exactly_one_version_is_stored() {
        for definition in own_definitions().iter().chain(&kruise_definitions()) {
            let versions = definition["spec"]["versions"].as_array().expect("versions");
            assert_eq!(versions.iter().filter(|version| version["storage"] == true).count(), 1, "{definition}");
        }
    }
}
