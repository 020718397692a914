//! A DestinationRule whose policy holds for the stable Service's host, and not for that of the canary Service.

use serde_json::Value;

use super::{canary_service, placed_at};
use crate::model::{Code, Finding, Originals, Plan, Source};

/// The finding's code.
pub(super) const CODE: Code = "destination-policy-missing";

/// Adds a finding for each such DestinationRule.
pub(super) fn check(plan: &Plan, originals: &Originals, findings: &mut Vec<Finding>) {
    let (Some(canary), Some(service)) = (canary_service(plan), originals.service.as_deref()) else { return };
    let named = originals.gateways.iter().filter_map(|(_, source)| source.as_deref());
    let rules: Vec<&Source> = originals.definitions.iter().map(AsRef::as_ref).chain(named).filter(|rule| is_definition(rule)).collect();
    if rules.iter().any(|rule| service_of(rule) == Some(canary)) {
        return;
    }
    for rule in rules.into_iter().filter(|rule| service_of(rule) == Some(service.manifest.name())) {
        let Some((pointer, settings)) = policy(rule) else { continue };
        let message = format!(
            "{} sets {} for the host `{}`, and nothing sets it for `{canary}`, which the new version's requests go to",
            rule.object,
            settings.join(", "),
            service.manifest.name()
        );
        let help = format!(
            "write a DestinationRule for the host `{canary}` with the same policy, or let subsets tell the versions apart: `disableGenerateCanaryService: true`"
        );
        findings.push(placed_at(Finding::warning(CODE, message).help(help), rule, &pointer));
    }
}

fn is_definition(source: &Source) -> bool {
    source.manifest.group() == "networking.istio.io" && source.manifest.kind() == "DestinationRule"
}

/// The name before the first dot of the host.
fn service_of(rule: &Source) -> Option<&str> {
    rule.manifest.at("/spec/host")?.as_str()?.split('.').next()
}

/// The first policy of the rule or of one of its subsets: where it stands, and what it sets.
fn policy(rule: &Source) -> Option<(String, Vec<String>)> {
    let subsets = rule.manifest.at("/spec/subsets").and_then(Value::as_array).map_or(0, Vec::len);
    let of_subsets = (0..subsets).map(|index| format!("/spec/subsets/{index}/trafficPolicy"));
    let mut pointers = std::iter::once("/spec/trafficPolicy".to_owned()).chain(of_subsets);
    pointers.find_map(|pointer| {
        let policy = rule.manifest.at(&pointer)?.as_object().filter(|policy| !policy.is_empty())?;
        let settings = policy.keys().map(|key| format!("`{key}`")).collect();
        Some((pointer, settings))
    })
}
