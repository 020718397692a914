//! Rules over a finished plan: what it would do that nobody declared. One rule a file.

mod service_port_missing;
mod subset_undefined;
mod traffic_differs;
mod traffic_leaks;
mod traffic_lost;

use crate::exposure::{self, Exposure};
use crate::model::{Finding, Manifest, ObjectKey, Originals, Plan, Source};

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
    service_port_missing::check(exposure, originals, &mut findings);
    subset_undefined::check(plan, exposure, originals, &mut findings);
    traffic_differs::check(plan, exposure, originals, &mut findings);
    traffic_leaks::check(plan, exposure, originals, &mut findings);
    traffic_lost::check(plan, exposure, originals, &mut findings);
    findings
}

/// Returns the objects that routes may pass and a plan may not hold.
fn beside(originals: &Originals) -> Vec<&Manifest> {
    let gateways = originals.gateways.iter().filter_map(|(_, source)| source.as_deref());
    let definitions = originals.definitions.iter().map(AsRef::as_ref);
    originals.service.as_deref().into_iter().chain(gateways).chain(definitions).map(|source| &source.manifest).collect()
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

/// The share in percent, with no more digits than it needs.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// The steps that split traffic, counted from 1, with what each gateway object does in them.
fn split_steps<'a>(
    plan: &'a Plan,
    exposure: &'a Exposure,
) -> impl Iterator<Item = (usize, &'a crate::model::StepTraffic, &'a Vec<exposure::Entry>)> {
    let steps = plan.spec.steps.iter().zip(&exposure.steps).enumerate();
    steps.filter_map(|(index, (step, entries))| {
        let traffic = step.traffic.as_ref().filter(|traffic| traffic.weight.is_some() || !traffic.matches.is_empty())?;
        Some((index + 1, traffic, entries))
    })
}

#[cfg(test)]
mod tests;
