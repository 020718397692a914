//! Rules over a finished plan: what it would do that nobody declared. One rule a file.

mod claim_shared;
mod destination_policy;
mod route_not_split;
mod route_to_canary;
mod service_not_split;
mod service_port_missing;
mod service_shared;
mod subset_undefined;
mod traffic_differs;
mod traffic_leaks;
mod traffic_lost;
mod traffic_not_proved;

use crate::exposure::{self, Exposure};
use crate::model::{Finding, LateValue, Manifest, ObjectKey, Originals, Plan, PlanStep, Source, StepTraffic};

/// How many of several things a message names.
const NAMED: usize = 3;

/// Shares are sums of fractions: this much is noise.
const NOISE: f64 = 1e-9;

/// Returns what readers should know about a plan that was rendered from `originals`.
pub fn check(plan: &Plan, originals: &Originals) -> Vec<Finding> {
    check_exposure(plan, &exposure(plan, originals), originals)
}

/// Returns who gets which version by a plan that was rendered from `originals`.
pub fn exposure(plan: &Plan, originals: &Originals) -> Exposure {
    exposure::of(plan, &beside(originals))
}

/// Returns the same as `check`, where it is known already who gets which version.
pub fn check_exposure(plan: &Plan, exposure: &Exposure, originals: &Originals) -> Vec<Finding> {
    let mut findings = Vec::new();
    claim_shared::check(plan, originals, &mut findings);
    destination_policy::check(plan, originals, &mut findings);
    route_not_split::check(plan, exposure, originals, &mut findings);
    route_to_canary::check(plan, exposure, originals, &mut findings);
    service_not_split::check(plan, exposure, originals, &mut findings);
    service_port_missing::check(exposure, originals, &mut findings);
    service_shared::check(plan, originals, &mut findings);
    subset_undefined::check(plan, exposure, originals, &mut findings);
    traffic_differs::check(plan, exposure, originals, &mut findings);
    traffic_leaks::check(plan, exposure, originals, &mut findings);
    traffic_lost::check(plan, exposure, originals, &mut findings);
    traffic_not_proved::check(plan, exposure, originals, &mut findings);
    findings
}

/// Returns the objects that requests may pass and a plan may not hold: those of routes, and workloads with pods of their own.
fn beside(originals: &Originals) -> Vec<&Manifest> {
    let gateways = originals.gateways.iter().filter_map(|(_, source)| source.as_deref());
    let neighbors = originals.neighbors.services.iter().chain(&originals.neighbors.workloads);
    let others = originals.definitions.iter().chain(neighbors).map(AsRef::as_ref);
    originals.service.as_deref().into_iter().chain(gateways).chain(others).map(|source| &source.manifest).collect()
}

/// Whether the release narrows the Service to the pods of the old version while traffic is split.
fn is_pinned(plan: &Plan, service: &Source) -> bool {
    let is_it = |object: &ObjectKey| object.kind() == "Service" && object.name() == service.manifest.name();
    plan.spec.bindings.iter().any(|binding| binding.value == LateValue::StableRevision && is_it(binding.object.object()))
}

/// The name of the Service that the release makes for the pods of the new version, if it makes one.
fn canary_service(plan: &Plan) -> Option<&str> {
    let is_canary = |object: &ObjectKey| object.kind() == "Service";
    let bindings = plan.spec.bindings.iter().filter(|binding| binding.value == LateValue::CanaryRevision);
    bindings.map(|binding| binding.object.object()).find(|object| is_canary(object)).map(ObjectKey::name)
}

/// Whether a step splits traffic.
fn splits(step: &PlanStep) -> bool {
    step.traffic.as_ref().is_some_and(is_split)
}

fn is_split(traffic: &StepTraffic) -> bool {
    traffic.weight.is_some() || !traffic.matches.is_empty()
}

/// The gateway object as the user wrote it.
fn source<'a>(originals: &'a Originals, object: &ObjectKey) -> Option<&'a Source> {
    let kind = object.kind().split('.').next().unwrap_or_default();
    let mut sources = originals.gateways.iter().filter_map(|(_, source)| source.as_deref());
    sources.find(|source| source.manifest.kind() == kind && source.manifest.name() == object.name())
}

/// The finding, about the gateway object and at a place in it.
fn placed(finding: Finding, originals: &Originals, object: &ObjectKey, pointer: Option<&str>) -> Finding {
    match source(originals, object) {
        Some(source) => finding.at(&source.path, source.places.at(pointer.unwrap_or_default())).about(&source.object),
        None => finding.about(object),
    }
}

/// The finding, about an object and at a place in it.
fn placed_at(finding: Finding, source: &Source, pointer: &str) -> Finding {
    finding.at(&source.path, source.places.at(pointer)).about(&source.object)
}

/// Where an object begins: `deploy/shop.yaml:12`.
fn location(source: &Source) -> String {
    format!("{}:{}", source.path, source.places.at("").line)
}

/// `a`, `a and b`, `a, b, c and 2 more`.
fn named(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    let more = words.len().saturating_sub(NAMED);
    if more > 0 {
        words.truncate(NAMED);
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// The share in percent, with no more digits than it needs.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// The steps that split traffic, counted from 1, with what each gateway object does in them.
fn split_steps<'a>(plan: &'a Plan, exposure: &'a Exposure) -> impl Iterator<Item = (usize, &'a StepTraffic, &'a Vec<exposure::Entry>)> {
    let steps = plan.spec.steps.iter().zip(&exposure.steps).enumerate();
    steps.filter_map(|(index, (step, entries))| {
        let traffic = step.traffic.as_ref().filter(|traffic| is_split(traffic))?;
        Some((index + 1, traffic, entries))
    })
}

#[cfg(test)]
mod tests;
