//! A step whose manifests give the new version another share than the step declares.

use super::{NAMED, NOISE, percent, placed, service_shared, split_steps, subset_undefined};
use crate::exposure::{Exposure, Request, Route, Routes, Share, Split, Verdict};
use crate::model::{Code, Finding, Originals, Plan, StepTraffic};

/// The finding's code.
pub(super) const CODE: Code = "traffic-differs";

/// A request that is answered by others than the step says.
struct Difference<'a> {
    request: &'a Request,
    origin: Option<&'a str>,
    said: String,
    /// Whether nobody answers.
    is_lost: bool,
    /// Whether the release does what it declares, but to somebody else's requests too.
    is_foreign: bool,
}

/// Adds a finding for each gateway object and step that differ.
pub(super) fn check(plan: &Plan, exposure: &Exposure, originals: &Originals, findings: &mut Vec<Finding>) {
    // What a Service loses that several workloads share is another finding.
    let is_shared = service_shared::is_shared(plan, originals);
    for (number, traffic, entries) in split_steps(plan, exposure) {
        for entry in entries {
            let Routes::Known(routes) = &entry.routes else { continue };
            // What leads to a subset that nobody defines is another finding.
            let is_undefined = subset_undefined::introduced(exposure, entry).next().is_some();
            let differences = routes.iter().filter_map(|route| difference(route, traffic));
            let differences: Vec<_> = differences.filter(|difference| !((is_undefined || is_shared) && difference.is_lost)).collect();
            let Some(first) = differences.first() else { continue };
            let mut said: Vec<String> = differences.iter().take(NAMED).map(|it| format!("`{}` {}", it.request, it.said)).collect();
            if differences.len() > NAMED {
                said.push(format!("{} more", differences.len() - NAMED));
            }
            let message = format!("step {number}: `{}` does not do what the step declares: {}", entry.object, said.join(", "));
            let is_foreign = differences.iter().all(|it| it.is_foreign);
            let finding = if is_foreign { Finding::warning(CODE, message) } else { Finding::error(CODE, message) };
            let help = if first.is_lost {
                "no pod has the labels that the destination selects by; where subsets tell the versions apart, `patchPodTemplateMetadata` gives the new pods those of theirs"
            } else {
                "where your own rules and labels are right, the script that rewrites the object is the cause; `rollout test` runs its cases"
            };
            findings.push(placed(finding.help(help), originals, &entry.object, first.origin));
        }
    }
}

fn difference<'a>(route: &'a Route, traffic: &StepTraffic) -> Option<Difference<'a>> {
    let is_ours = match route.is_ours {
        Verdict::Yes => true,
        Verdict::No => false,
        Verdict::Unknown => return None,
    };
    let declared = match route.is_matched {
        Verdict::Yes => 1.0,
        Verdict::No => f64::from(traffic.weight.unwrap_or(0)) / 100.0,
        Verdict::Unknown => return None,
    };
    let mut is_lost = false;
    let said = match &route.share {
        Share::Elsewhere if is_ours => "does not reach the workload any more".to_owned(),
        Share::Elsewhere | Share::NotKnown(_) => return None,
        Share::Known(split) if !is_ours => {
            format!("gets the new version to {}, and is not for the workload", percent(split.new + split.both))
        }
        // A port that is not there is a finding of its own.
        Share::Known(split) if split.nobody > NOISE && split.closed.is_some() => return None,
        Share::Known(split) if split.nobody > NOISE => {
            is_lost = true;
            format!("reaches no pod to {}", percent(split.nobody))
        }
        // What reaches both versions is a finding of its own.
        Share::Known(split) if is_near(split, declared) => return None,
        Share::Known(split) => format!("gets the new version to {}, not to {}", percent(split.new), percent(declared)),
    };
    let is_foreign = !is_ours && route.is_matched == Verdict::Yes;
    Some(Difference { request: &route.request, origin: route.origin.as_deref(), said, is_lost, is_foreign })
}

/// Whether the share is as declared, or as near as whole weights of the list come.
fn is_near(split: &Split, declared: f64) -> bool {
    let difference = (split.new - declared).abs();
    let is_all_or_nothing = declared <= 0.0 || declared >= 1.0;
    difference < NOISE || (!is_all_or_nothing && difference < split.unit - NOISE)
}
