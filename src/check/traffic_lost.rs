//! Requests that reached pods before the release and reach none in a step that leaves routing alone, or after the release: a
//! subset or Service selects by labels that change with the pods.

use super::{NOISE, placed};
use crate::exposure::{Entry, Exposure, Route, Routes, Share};
use crate::model::{Code, Finding, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "traffic-lost";

/// Adds a finding for each gateway object, at the first state that loses requests.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    // What a step with traffic loses differs from what it declares, which is another finding.
    let steps = plan.spec.steps.iter().zip(&exposure.steps).enumerate().filter(|(_, (step, _))| step.traffic.is_none());
    let states = steps.map(|(index, (_, entries))| (format!("in step {}", index + 1), entries));
    let states: Vec<_> = states.chain([("after the release".to_owned(), &exposure.target)]).collect();
    for before in &exposure.baseline {
        let lost = states.iter().find_map(|(state, entries)| Some((state, lost(before, entries)?)));
        let Some((state, (route, share))) = lost else { continue };
        let message = format!("{state} `{}` reaches no pod to {}", route.request, super::percent(share));
        let help = "a subset or Service selects by a label that these pods do not have: give the pods the new label beside the old one in one change, and select by it in the next";
        findings.push(placed(Finding::error(CODE, message).help(help), originals, &before.object, route.origin.as_deref()));
    }
}

/// The first request of an object that is lost in another state, and how much of it.
fn lost<'a>(before: &Entry, entries: &'a [Entry]) -> Option<(&'a Route, f64)> {
    let now = entries.iter().find(|entry| entry.object == before.object)?;
    let (Routes::Known(then), Routes::Known(now)) = (&before.routes, &now.routes) else { return None };
    now.iter().find_map(|route| {
        let earlier = then.iter().find(|earlier| earlier.request == route.request)?;
        let (was, is) = (nobody(earlier)?, nobody(route)?);
        (is > was + NOISE).then_some((route, is))
    })
}

/// How much of a request reaches no pod of the release; none where the release does not answer it.
fn nobody(route: &Route) -> Option<f64> {
    match &route.share {
        // A port that is not there is a finding of its own.
        Share::Known(split) => split.closed.is_none().then_some(split.nobody),
        Share::Elsewhere | Share::NotKnown(_) => None,
    }
}
