//! The second object beside one that stays as it is: what leads to the stable Service, leading to the canary Service.

use serde_json::{Value, json};

use super::companion;
use super::pointers::{matching, put};
use super::traffic::Names;
use crate::model::{Finding, GatewayClone, GatewayRef, Manifest, ObjectRef, pointer};

/// The clone's name.
pub(super) fn name(clone: &GatewayClone, original: &str) -> String {
    format!("{original}{}", clone.suffix)
}

/// The second object before its script; none, and a finding, where it would have nothing to do.
pub(super) fn of(
    clone: &GatewayClone,
    (reference, object): (&GatewayRef, &ObjectRef),
    original: &Manifest,
    names: &Names<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Value> {
    let refuse = |code, message: String| Finding::error(code, message).at(&reference.place.path, reference.place.position).about(object);
    if names.canary == names.stable {
        let message = format!("{object} tells the versions apart by Service, and the Rollout has no second one made");
        findings.push(refuse("step-beyond-gateway", message).help("take `disableGenerateCanaryService` out"));
        return None;
    }
    let name = name(clone, original.name());
    let mut metadata = companion::metadata(names.plan, names.namespace, &name, Some(original));
    for key in &clone.dropped_annotations {
        put(&mut metadata, &format!("/annotations/{}", pointer::escape(key)), None);
    }
    let mut copy = json!({"apiVersion": original.api_version(), "kind": original.kind(), "metadata": metadata});
    for field in &clone.fields {
        let pointer = format!("/spec/{field}");
        if let Some(value) = original.at(&pointer) {
            put(&mut copy, &pointer, Some(value.clone()));
        }
    }
    let mut leads = clone.service_names.is_empty();
    for pattern in &clone.service_names {
        let tokens: Vec<&str> = pattern.split('/').skip(1).collect();
        leads |= retain(&mut copy, &tokens, names.stable);
        let hits: Vec<String> = matching(&copy, pattern).into_iter().map(|(pointer, _)| pointer).collect();
        for pointer in hits {
            if let Some(name) = copy.pointer_mut(&pointer) {
                *name = names.canary.into();
            }
        }
    }
    if !leads {
        // An object without rules is one that no API server takes.
        let help = format!("name the Service that the rules of {object} lead to in `trafficRoutings[].service`, or add such a rule");
        findings.push(refuse("script-result", format!("no rule of {object} leads to Service `{}`", names.stable)).help(help));
        return None;
    }
    Some(copy)
}

/// Drops the list elements on the way that do not lead to `service`; says whether anything is left.
fn retain(value: &mut Value, tokens: &[&str], service: &str) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return value == service };
    match (*token, value) {
        ("*", Value::Array(list)) => {
            list.retain_mut(|element| retain(element, rest, service));
            !list.is_empty()
        }
        (token, Value::Object(map)) => map.get_mut(token).is_some_and(|member| retain(member, rest, service)),
        _ => false,
    }
}
