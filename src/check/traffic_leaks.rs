//! A destination for the old version that pods of the new version stand behind too: traffic that no step declares. An error where
//! the new version gets more than the step declares.

use std::collections::BTreeSet;

use super::{NOISE, percent, placed, split_steps};
use crate::exposure::{Exposure, Route, Routes, Share, Split, Verdict};
use crate::model::{Code, Finding, Originals, Plan, StepTraffic};

/// The finding's code.
pub(super) const CODE: Code = "traffic-leaks";

/// Adds a finding for each destination of each gateway object, at the first step that it leaks in.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let mut told = BTreeSet::new();
    for (number, traffic, entries) in split_steps(plan, exposure) {
        for entry in entries {
            let Routes::Known(routes) = &entry.routes else { continue };
            for route in routes {
                let Share::Known(split) = &route.share else { continue };
                let Some(destination) = &split.leak else { continue };
                if !told.insert((&entry.object, destination)) {
                    continue;
                }
                let more = match split.new_version() {
                    Some(share) => {
                        format!(": `{}` gets the new version to {}, not to {}", route.request, percent(share), percent(split.new))
                    }
                    None => String::new(),
                };
                let message = format!("step {number}: pods of both versions stand behind `{destination}`{more}");
                let help = if entry.object.kind().starts_with("VirtualService") {
                    "give the destination a subset with labels that only old pods have, and define it in the DestinationRule"
                } else {
                    "without `disableGenerateCanaryService` the Service is pinned to the old pods while a step lasts"
                };
                let finding = if exceeds(route, split, traffic) { Finding::error(CODE, message) } else { Finding::warning(CODE, message) };
                findings.push(placed(finding.help(help), originals, &entry.object, route.origin.as_deref()));
            }
        }
    }
}

/// Whether the new version gets more of a request than the step declares, by more than whole weights explain. Where a cluster
/// decides how many pods there are, the share is not known.
fn exceeds(route: &Route, split: &Split, traffic: &StepTraffic) -> bool {
    let declared = f64::from(traffic.weight.unwrap_or(0)) / 100.0;
    let is_meant = route.is_ours == Verdict::Yes && route.is_matched == Verdict::No;
    is_meant && split.new_version().is_some_and(|share| share - declared > NOISE && share - declared >= split.unit - NOISE)
}
