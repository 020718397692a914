//! Istio's VirtualService: the first rule of `spec.http` that matches wins.

use serde_json::Value;

use super::backend::{Backend, shares};
use super::request::Request;

/// Returns where the request goes; none when no rule takes it or the rule has no destination.
pub(crate) fn route(object: &Value, request: &Request) -> Option<Vec<Backend>> {
    let rule = object["spec"]["http"].as_array()?.iter().find(|rule| takes(rule, request))?;
    let destinations = rule["route"].as_array()?;
    // The weight may be absent where there is one destination.
    let only = destinations.len() == 1;
    let weighted = destinations.iter().map(|entry| {
        let host = entry["destination"]["host"].as_str().unwrap_or_default();
        let subset = entry["destination"]["subset"].as_str().map(str::to_owned);
        let weight = entry["weight"].as_f64().unwrap_or(if only { 100.0 } else { 0.0 });
        (service_of(host), subset, if only && weight == 0.0 { 100.0 } else { weight })
    });
    Some(shares(weighted.collect()))
}

/// Paths that its rules name.
pub(crate) fn paths(object: &Value) -> Vec<String> {
    let rules = object["spec"]["http"].as_array().into_iter().flatten();
    let matches = rules.flat_map(|rule| rule["match"].as_array().into_iter().flatten());
    matches.filter_map(|entry| entry["uri"]["exact"].as_str().or(entry["uri"]["prefix"].as_str())).map(str::to_owned).collect()
}

/// The Service of a host: `shop`, `shop.prod`, `shop.prod.svc.cluster.local`.
pub(crate) fn service_of(host: &str) -> String {
    host.split('.').next().unwrap_or(host).to_owned()
}

fn takes(rule: &Value, request: &Request) -> bool {
    match rule["match"].as_array() {
        None => true,
        Some(entries) => entries.iter().any(|entry| holds(entry, request)),
    }
}

fn holds(entry: &Value, request: &Request) -> bool {
    let uri = entry.get("uri").is_none_or(|condition| is_met(condition, Some(&request.path)));
    let method = entry.get("method").is_none_or(|condition| is_met(condition, Some("GET")));
    let headers = entry["headers"].as_object().into_iter().flatten();
    let parameters = entry["queryParams"].as_object().into_iter().flatten();
    let without = entry["withoutHeaders"].as_object().into_iter().flatten();
    uri && method
        && headers.into_iter().all(|(name, condition)| is_met(condition, request.headers.get(&name.to_lowercase()).map(String::as_str)))
        && parameters.into_iter().all(|(name, condition)| is_met(condition, request.query.get(name).map(String::as_str)))
        && !without.into_iter().any(|(name, condition)| is_met(condition, request.headers.get(&name.to_lowercase()).map(String::as_str)))
}

/// A condition with none of the three asks for presence only.
fn is_met(condition: &Value, value: Option<&str>) -> bool {
    let Some(value) = value else { return false };
    if let Some(exact) = condition["exact"].as_str() {
        value == exact
    } else if let Some(prefix) = condition["prefix"].as_str() {
        value.starts_with(prefix)
    } else if let Some(pattern) = condition["regex"].as_str() {
        super::request::fits(pattern, value)
    } else {
        true
    }
}
