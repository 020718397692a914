//! A gateway object of which the manifests alone do not show what it does: the share that a step declares is believed.

use std::collections::BTreeSet;

use super::{placed, split_steps, subset_undefined};
use crate::exposure::Exposure;
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "traffic-not-proved";

/// Adds a finding for each gateway object, at the first step that is not proved.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for (number, _, entries) in split_steps(plan, exposure) {
        for entry in entries {
            // What leads to a subset that nothing defines is another finding.
            let is_undefined = subset_undefined::introduced(exposure, entry).next().is_some();
            let Some(reason) = entry.not_proved().filter(|_| !is_undefined && reported.insert(&entry.object)) else { continue };
            let message = format!("step {number}: it is not proved that `{}` does what the step declares: {reason}", entry.object);
            findings.push(placed(Finding::note(CODE, message), originals, &entry.object, None));
        }
    }
}
