//! A rule of the user's own that leads to the canary Service: it gives the new version all of its requests while the release
//! lasts, and no pod answers them before and after.

use super::{NOISE, canary_service, percent, placed, source};
use crate::exposure::{Exposure, Routes, Share};
use crate::model::{Code, Finding, Links, Originals, Plan};

/// The finding's code.
pub(super) const CODE: Code = "route-to-canary";

/// Adds a finding for each gateway object with such a rule, about the first request that it takes.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    let Some(canary) = canary_service(plan) else { return };
    let backend = (plan.namespace.clone(), canary.to_owned());
    for entry in &exposure.target {
        let Some(original) = source(originals, &entry.object) else { continue };
        if !Links::of(&original.object, &original.manifest).backends.contains(&backend) {
            continue;
        }
        let Routes::Known(routes) = &entry.routes else { continue };
        let unanswered = routes.iter().find_map(|route| match &route.share {
            Share::Known(split) if split.nobody > NOISE && split.closed.is_none() => Some((route, split.nobody)),
            Share::Known(_) | Share::Elsewhere | Share::NotKnown(_) => None,
        });
        let Some((route, share)) = unanswered else { continue };
        let message = format!(
            "`{}` is sent to Service `{canary}` to {} by a rule of your own: it gets the new version in every step with traffic, whatever the step declares, and reaches no pod before and after the release",
            route.request,
            percent(share)
        );
        let help = "take the rule out: what it asks for can stand in `matches` of the steps";
        findings.push(placed(Finding::warning(CODE, message).help(help), originals, &entry.object, route.origin.as_deref()));
    }
}
