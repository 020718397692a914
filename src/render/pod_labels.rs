//! Labels of pods that the workload's own selector does not have: no API server takes such a workload.

use serde_json::{Map, Value};

use super::draft::Draft;
use super::workload::deployment;
use crate::model::{Finding, Source, pointer};

/// What is wrong with the labels that the pod template gives, or that the Rollout gives to pods of the new version.
pub(super) fn check(draft: &Draft<'_>, workload: &Source) -> Option<Finding> {
    let selector = workload.manifest.at("/spec/selector")?;
    let nothing = Map::new();
    let template = workload.manifest.at(deployment::PATH).and_then(|template| template.pointer("/metadata/labels"));
    let mut labels = template.and_then(Value::as_object).unwrap_or(&nothing).clone();
    if let Some(key) = unmet(selector, &labels) {
        let message = format!("the selector of {} does not take the pods of its own template, by the label `{key}`", workload.object);
        let place = workload.places.at("/spec/template/metadata/labels");
        let finding = Finding::error("workload-selects-no-pods", message).at(&workload.path, place).about(&workload.object);
        return Some(finding.help("give the pod template the labels that `spec.selector` names"));
    }
    for (key, value) in &draft.rollout.pod_metadata.labels {
        labels.insert(key.clone(), value.as_str().into());
    }
    let key = unmet(selector, &labels)?;
    let value = draft.rollout.pod_metadata.labels.get(key).map_or("", String::as_str);
    let place = draft.place_in_rollout(&format!("/spec/strategy/canary/patchPodTemplateMetadata/labels/{}", pointer::escape(key)));
    let message = format!("`{key}: {value}` takes the new pods out of the selector of {}, which no cluster takes", workload.object);
    let finding = Finding::error("workload-selects-no-pods", message).at(&place.path, place.position).about(&workload.object);
    Some(finding.help("`patchPodTemplateMetadata` may add labels, and change none that `spec.selector` names"))
}

/// The label by which a selector does not take pods with these labels.
fn unmet<'a>(selector: &'a Value, labels: &Map<String, Value>) -> Option<&'a str> {
    let wanted = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut missing = wanted.filter(|(key, value)| labels.get(*key) != Some(value)).map(|(key, _)| key.as_str());
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let mut failing = expressions.filter(|expression| !holds(expression, labels)).filter_map(|expression| expression["key"].as_str());
    missing.next().or_else(|| failing.next())
}

fn holds(expression: &Value, labels: &Map<String, Value>) -> bool {
    let found = expression["key"].as_str().and_then(|key| labels.get(key));
    let is_listed = || expression["values"].as_array().is_some_and(|values| found.is_some_and(|found| values.contains(found)));
    match expression["operator"].as_str() {
        Some("In") => is_listed(),
        Some("NotIn") => !is_listed(),
        Some("Exists") => found.is_some(),
        Some("DoesNotExist") => found.is_none(),
        // What no API server knows is for that to say.
        Some(_) | None => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::unmet;

    #[test]
    fn a_selector_names_the_label_by_which_it_does_not_take_pods() {
        let labels = json!({"app": "shop", "tier": "front"});
        let labels = labels.as_object().unwrap();
        for (selector, expected) in [
            (json!({}), None),
            (json!({"matchLabels": {"app": "shop"}}), None),
            (json!({"matchLabels": {"app": "other"}}), Some("app")),
            (json!({"matchLabels": {"zone": "a"}}), Some("zone")),
            (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["shop", "cart"]}]}), None),
            (json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["shop"]}]}), Some("app")),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), None),
            (json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}), Some("zone")),
            (json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}), Some("tier")),
        ] {
            assert_eq!(unmet(&selector, labels), expected, "{selector}");
        }
    }
}
