//! What a gateway's script sees: the global `obj`, as OpenKruise's scripts know it.
//!
//! Two shapes: one for custom objects, one for an Ingress. What is absent is absent here too, and so nil in the script.

use serde_json::{Map, Value, json};

use super::script_answer::PARTS;
use crate::model::{HeaderModifier, PodMetadata, Traffic};

const MATCHES: &str = "matches";
const HEADER_MODIFIER: &str = "requestHeaderModifier";

/// Returns `obj` for the script of any object but an Ingress.
///
/// Equal Services say that the gateway tells the versions apart by itself (subsets).
pub fn script_input(
    original: &Value,
    traffic: &Traffic,
    header_modifier: Option<&HeaderModifier>,
    stable_service: &str,
    canary_service: &str,
) -> Value {
    let mut data = Map::new();
    for (key, pointer) in PARTS {
        insert_present(&mut data, key, original.pointer(pointer));
    }
    let mut input = Map::new();
    input.insert("data".into(), Value::Object(data));
    input.insert("stableService".into(), json!(stable_service));
    input.insert("canaryService".into(), json!(canary_service));
    insert_step(&mut input, traffic, header_modifier);
    Value::Object(input)
}

/// Puts what another step says where the last one's is. The object, which is most of it, stays.
pub fn set_step(input: &mut Value, traffic: &Traffic, header_modifier: Option<&HeaderModifier>) {
    let Some(input) = input.as_object_mut() else { return };
    for key in [MATCHES, HEADER_MODIFIER] {
        input.remove(key);
    }
    insert_step(input, traffic, header_modifier);
}

fn insert_step(input: &mut Map<String, Value>, traffic: &Traffic, header_modifier: Option<&HeaderModifier>) {
    let weight = weight_of(traffic);
    input.insert("canaryWeight".into(), json!(weight));
    // Without a weight this is 101: what is left of -1. Scripts written for OpenKruise count on it.
    input.insert("stableWeight".into(), json!(100 - weight));
    insert_conditions(input, traffic, header_modifier);
}

/// Adds what marks the pods of the new version, for scripts that tell the versions apart by labels.
pub fn insert_pod_metadata(input: &mut Value, metadata: &PodMetadata) {
    let Some(input) = input.as_object_mut() else { return };
    let members = [("labels", &metadata.labels), ("annotations", &metadata.annotations)];
    let present: Map<String, Value> =
        members.into_iter().filter(|(_, entries)| !entries.is_empty()).map(|(key, entries)| (key.into(), json!(entries))).collect();
    if !present.is_empty() {
        input.insert("patchPodMetadata".into(), Value::Object(present));
    }
}

/// Adds the namespace of the release, for scripts that tell a Service of the same name in another namespace apart. OpenKruise does
/// not say it: scripts cannot count on it.
pub fn insert_namespace(input: &mut Value, namespace: &str) {
    if let Some(input) = input.as_object_mut() {
        input.insert("namespace".into(), namespace.into());
    }
}

/// Returns `obj` for the script of an Ingress dialect, which knows annotations alone and reads the weight as a text.
pub fn ingress_input(
    annotations: Option<&Value>,
    traffic: &Traffic,
    header_modifier: Option<&HeaderModifier>,
    canary_service: &str,
) -> Value {
    let mut input = Map::new();
    insert_present(&mut input, "annotations", annotations);
    input.insert("weight".into(), json!(weight_of(traffic).to_string()));
    input.insert("canaryService".into(), json!(canary_service));
    insert_conditions(&mut input, traffic, header_modifier);
    Value::Object(input)
}

/// The number that stands for "no weight" in every script.
fn weight_of(traffic: &Traffic) -> i64 {
    traffic.weight.map_or(-1, |weight| i64::from(weight.percent()))
}

fn insert_present(into: &mut Map<String, Value>, key: &str, value: Option<&Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        into.insert(key.into(), value.clone());
    }
}

fn insert_conditions(input: &mut Map<String, Value>, traffic: &Traffic, header_modifier: Option<&HeaderModifier>) {
    if !traffic.matches.is_empty() {
        input.insert(MATCHES.into(), json!(traffic.matches));
    }
    if let Some(header_modifier) = header_modifier {
        input.insert(HEADER_MODIFIER.into(), json!(header_modifier));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HeaderValue, Match, MatchKind, NamedMatch, PathKind, PathMatch, Weight};

    fn matching() -> Traffic {
        Traffic {
            weight: None,
            matches: vec![Match {
                path: Some(PathMatch { kind: PathKind::PathPrefix, value: "/a".into() }),
                headers: vec![NamedMatch { kind: MatchKind::Exact, name: "version".into(), value: "canary".into() }],
                query_params: Vec::new(),
            }],
        }
    }

    #[test]
    fn a_weight_and_what_is_left_of_it_are_numbers() {
        let traffic = Traffic { weight: Weight::try_from(20).ok(), matches: Vec::new() };
        let original = json!({"metadata": {"name": "shop", "labels": {"team": "a"}}, "spec": {"http": []}});
        assert_eq!(
            script_input(&original, &traffic, None, "shop", "shop-canary"),
            json!({
                "data": {"spec": {"http": []}, "labels": {"team": "a"}},
                "canaryWeight": 20, "stableWeight": 80, "stableService": "shop", "canaryService": "shop-canary",
            })
        );
    }

    #[test]
    fn no_weight_is_minus_one_beside_one_hundred_and_one() {
        let input = script_input(&json!({}), &matching(), None, "shop", "shop");
        assert_eq!((&input["canaryWeight"], &input["stableWeight"]), (&json!(-1), &json!(101)));
    }

    #[test]
    fn matches_and_header_changes_have_the_names_that_scripts_read() {
        let modifier = HeaderModifier { set: vec![HeaderValue { name: "x".into(), value: "1".into() }], ..HeaderModifier::default() };
        let input = script_input(&json!({}), &matching(), Some(&modifier), "shop", "shop");
        assert_eq!(
            input["matches"],
            json!([{
                "path": {"type": "PathPrefix", "value": "/a"},
                "headers": [{"type": "Exact", "name": "version", "value": "canary"}],
            }])
        );
        assert_eq!(input["requestHeaderModifier"], json!({"set": [{"name": "x", "value": "1"}]}));
    }

    #[test]
    fn of_the_step_before_nothing_is_left() {
        let modifier = HeaderModifier { set: vec![HeaderValue { name: "x".into(), value: "1".into() }], ..HeaderModifier::default() };
        let original = json!({"spec": {"http": []}});
        let weighted = Traffic { weight: Weight::try_from(20).ok(), matches: Vec::new() };
        let mut input = script_input(&original, &matching(), Some(&modifier), "shop", "shop-canary");
        set_step(&mut input, &weighted, None);
        assert_eq!(input, script_input(&original, &weighted, None, "shop", "shop-canary"));
        set_step(&mut input, &matching(), Some(&modifier));
        assert_eq!(input, script_input(&original, &matching(), Some(&modifier), "shop", "shop-canary"));
    }

    #[test]
    fn an_ingress_reads_its_weight_as_a_text() {
        assert_eq!(
            ingress_input(Some(&json!({"a": "b"})), &Traffic::default(), None, "shop-canary"),
            json!({"annotations": {"a": "b"}, "weight": "-1", "canaryService": "shop-canary"})
        );
    }

    #[test]
    fn labels_of_the_new_pods_are_handed_on_and_none_are_left_out() {
        let mut input = json!({});
        insert_pod_metadata(&mut input, &PodMetadata::default());
        assert_eq!(input, json!({}));
        let metadata = PodMetadata { labels: [("track".into(), "canary".into())].into(), ..PodMetadata::default() };
        insert_pod_metadata(&mut input, &metadata);
        assert_eq!(input, json!({"patchPodMetadata": {"labels": {"track": "canary"}}}));
    }

    #[test]
    fn a_null_is_as_good_as_absent() {
        let input = script_input(&json!({"spec": null, "metadata": {"labels": null}}), &Traffic::default(), None, "a", "b");
        assert_eq!(input["data"], json!({}));
    }
}
