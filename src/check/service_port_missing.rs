//! A route to a port that its Service does not have, be it only until the release has ended: of a Service the selector alone is
//! part of a release, so that its ports change with the merge, while routes wait.

use super::placed;
use crate::exposure::{Entry, Exposure, Route, Routes, Share};
use crate::model::{Code, Finding, Originals};

/// The finding's code.
pub(super) const CODE: Code = "service-port-missing";

/// Adds a finding for each gateway object: about the state after the release, else about the first that has such a route.
pub(super) fn check(exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    for target in &exposure.target {
        let of = |entries: &'_ Vec<Entry>| entries.iter().position(|entry| entry.object == target.object);
        let closed = |entries| of(entries).and_then(|index| closed(&entries[index]));
        let before = || Some(("as soon as the change is merged".to_owned(), closed(&exposure.baseline)?));
        let mut steps = exposure.steps.iter().enumerate();
        let in_step = || steps.find_map(|(index, entries)| Some((format!("in step {}", index + 1), closed(entries)?)));
        let after = closed(&exposure.target).map(|found| ("after the release".to_owned(), found));
        let help = if after.is_some() {
            "route to a port of the Service, or give it that port"
        } else {
            "the Service changes with the merge, the route at the end of the release: let the Service have both ports in this change, and take the old one away in the next"
        };
        let Some((state, (route, port))) = after.or_else(before).or_else(in_step) else { continue };
        let message = format!("{state} `{}` is sent to {port}, and there is no such port", route.request);
        findings.push(placed(Finding::error(CODE, message).help(help), originals, &target.object, route.origin.as_deref()));
    }
}

/// The first request that is sent to such a port, and the port.
fn closed(entry: &Entry) -> Option<(&Route, &str)> {
    let Routes::Known(routes) = &entry.routes else { return None };
    routes.iter().find_map(|route| match &route.share {
        Share::Known(split) => Some((route, split.closed.as_deref()?)),
        Share::Elsewhere | Share::NotKnown(_) => None,
    })
}
