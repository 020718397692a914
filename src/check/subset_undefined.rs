//! A step that sends requests to a subset which no DestinationRule of the repository defines: nobody would answer them.

use std::collections::BTreeSet;

use super::{placed, split_steps};
use crate::exposure::{Entry, Exposure, Subset};
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "subset-undefined";

/// The kind of what defines subsets.
const DEFINITION: &str = "DestinationRule";

/// Adds a finding for each subset of each gateway object, at the first step that names it.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let is_defining = plan.spec.scripts.iter().any(|script| script.object.kind().starts_with(DEFINITION));
    let mut told = BTreeSet::new();
    for (number, _, entries) in split_steps(plan, exposure) {
        for entry in entries {
            for Subset { host, name, is_ruled } in introduced(exposure, entry) {
                if !told.insert((&entry.object, host, name)) {
                    continue;
                }
                let message = format!(
                    "step {number}: `{}` sends requests to the subset `{name}` of `{host}`, which no DestinationRule of the repository defines",
                    entry.object
                );
                // Routes of the user's own to subsets that are defined in no file: those are kept elsewhere.
                let finding = if !is_ruled && !is_defining && !own(exposure, entry).is_empty() {
                    Finding::warning(CODE, message).help(format!(
                        "the DestinationRule of `{host}`, wherever it is kept, has to define the subset before the release begins"
                    ))
                } else {
                    Finding::error(CODE, message).help(format!("name the DestinationRule of `{host}` in `customNetworkRefs`, beside the route: the release gives it the subset while it lasts"))
                };
                let pointer = first_destination(entry);
                findings.push(placed(finding, originals, &entry.object, pointer));
            }
        }
    }
}

/// The subsets without a definition that the user's own routes do not name.
pub(super) fn introduced<'a>(exposure: &'a Exposure, entry: &'a Entry) -> impl Iterator<Item = &'a Subset> {
    let own = own(exposure, entry);
    entry.undefined.iter().filter(move |subset| !own.contains(subset))
}

/// The subsets without a definition in the object as the user wrote it.
fn own<'a>(exposure: &'a Exposure, entry: &Entry) -> &'a [Subset] {
    let target = exposure.target.iter().find(|target| target.object == entry.object);
    target.map(|target| target.undefined.as_slice()).unwrap_or_default()
}

/// Where the user's own rules lead to the workload.
fn first_destination(entry: &Entry) -> Option<&str> {
    match &entry.routes {
        crate::exposure::Routes::Known(routes) => routes.iter().find_map(|route| route.origin.as_deref()),
        crate::exposure::Routes::NotKnown(_) | crate::exposure::Routes::NotHeld => None,
    }
}
