//! A destination for the old version that pods of the new version stand behind too: traffic that no step declares.

use std::collections::BTreeSet;

use super::{percent, placed, split_steps};
use crate::exposure::{Exposure, Routes, Share};
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "traffic-leaks";

/// Adds a finding for each destination of each gateway object, at the first step that it leaks in.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let mut told = BTreeSet::new();
    for (number, _, entries) in split_steps(plan, exposure) {
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
                findings.push(placed(Finding::warning(CODE, message).help(help), originals, &entry.object, route.origin.as_deref()));
            }
        }
    }
}
