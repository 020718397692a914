//! What both API versions say alike about steps: pods, pauses, and the rules between neighbours.

use super::fields::no_hint;
use super::node::Node;
use crate::model::{Finding, Pause, Replicas};

/// The elements of `steps`, of which there are at most `most`.
pub(super) fn elements<'a>(strategy: &Node<'a>, most: usize, findings: &mut Vec<Finding>) -> Vec<Node<'a>> {
    let steps = strategy.list("steps", findings);
    let list = strategy.child("steps");
    if steps.is_empty() && list.as_ref().is_none_or(|list| list.value.is_array()) {
        let at = list.unwrap_or_else(|| strategy.clone());
        findings.push(at.error("steps-empty", "a release needs at least one step").help("`steps: [{replicas: 1, traffic: 20%}]`"));
    } else if let (Some(list), true) = (list, steps.len() > most) {
        findings.push(list.error("steps-too-many", format!("a release has at most {most} steps, not {}", steps.len())));
        return Vec::new();
    }
    steps
}

/// The step's `replicas`, if it says any and they make sense.
pub(super) fn replicas(step: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Replicas> {
    let node = step.child("replicas")?;
    let replicas = Replicas::try_from(node.value).ok();
    if replicas.is_none() {
        let message = format!("`replicas` is a number of at least 1 or a percentage from 1% to 100%, not {}", node.written());
        let finding = node.error("step-replicas-invalid", message);
        let is_number = |text: &&str| (1..5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        findings.push(match node.value.as_str().filter(is_number) {
            Some(digits) => finding.help(format!("a number without quotes, or a percentage: `{digits}` or `{digits}%`")),
            None => finding,
        });
    }
    replicas
}

/// What ends the step.
pub(super) fn pause(step: &Node<'_>, findings: &mut Vec<Finding>) -> Pause {
    let Some(pause) = step.map("pause", &["duration"], no_hint, findings) else { return Pause::Approval };
    match pause.integer("duration", findings) {
        None => Pause::Approval,
        Some(seconds) => {
            if let (true, Some(at)) = (seconds < 0, pause.child("duration")) {
                findings.push(at.error("pause-negative", format!("`duration` is a number of seconds, not {seconds}")));
            }
            Pause::Seconds(u32::try_from(seconds).unwrap_or_default())
        }
    }
}

/// Finds steps that have fewer pods than the step before. Numbers and percentages are not compared with each other.
pub(super) fn order(steps: &[(Node<'_>, Option<Replicas>)], findings: &mut Vec<Finding>) {
    for pair in steps.windows(2) {
        let [(_, Some(before)), (step, Some(after))] = pair else { continue };
        let is_fewer = match (before, after) {
            (Replicas::Count(before), Replicas::Count(after)) => after < before,
            (Replicas::Percent(before), Replicas::Percent(after)) => after < before,
            (Replicas::Count(_), Replicas::Percent(_)) | (Replicas::Percent(_), Replicas::Count(_)) => false,
        };
        if is_fewer {
            let at = step.child("replicas").or_else(|| step.child("weight")).unwrap_or_else(|| step.clone());
            let message = format!("a step has no fewer pods than the step before: {after} after {before}");
            findings.push(at.error("step-replicas-decreasing", message).help("sort the steps by replicas"));
        }
    }
}
