//! A volume that one node at a time can mount, and that the release's second Deployment mounts beside the first.

use serde_json::Value;

use super::{location, placed_at};
use crate::model::{Code, Finding, Originals, Plan, Style};

/// The finding's code.
pub(super) const CODE: Code = "claim-shared";

/// Access modes by which a volume can be mounted on one node alone, or by one pod.
const SINGLE: [&str; 2] = ["ReadWriteOnce", "ReadWriteOncePod"];

/// Adds a finding for each such PersistentVolumeClaim of the workload.
pub(super) fn check(plan: &Plan, originals: &Originals, findings: &mut Vec<Finding>) {
    let Some(workload) = originals.workload.as_deref().filter(|_| plan.spec.style == Style::Canary) else { return };
    for claim in &originals.neighbors.claims {
        let modes: Vec<&str> =
            claim.manifest.at("/spec/accessModes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        if modes.is_empty() || modes.iter().any(|mode| !SINGLE.contains(mode)) {
            continue;
        }
        let message = format!(
            "the second Deployment of the release mounts {} ({}), which is {}: new pods cannot start on other nodes than those of the old pods",
            claim.object,
            location(claim),
            modes.join(" and ")
        );
        let help = "use a claim that is ReadWriteMany or ReadOnlyMany, or a StatefulSet";
        findings.push(placed_at(Finding::warning(CODE, message).help(help), workload, "/spec/template/spec/volumes"));
    }
}
