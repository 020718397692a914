//! Rollouts that stand in each other's way: two of one name, two for one workload.

use std::collections::BTreeMap;

use crate::model::{Finding, Rollout};

/// Takes away Rollouts that cannot both be carried out; each is a finding that names the other.
pub(super) fn without(rollouts: Vec<Rollout>, findings: &mut Vec<Finding>) -> Vec<Rollout> {
    let mut by_name: BTreeMap<(String, String), Vec<&Rollout>> = BTreeMap::new();
    let mut by_workload: BTreeMap<(String, String, String, String), Vec<&Rollout>> = BTreeMap::new();
    for rollout in &rollouts {
        by_name.entry(name_of(rollout)).or_default().push(rollout);
        by_workload.entry(workload_of(rollout)).or_default().push(rollout);
    }
    let mut taken = Vec::with_capacity(rollouts.len());
    for rollout in &rollouts {
        let same_name = other(rollout, &by_name[&name_of(rollout)]);
        let same_workload = other(rollout, &by_workload[&workload_of(rollout)]);
        let (code, what, help, other) = match (same_name, same_workload) {
            (Some(other), _) => ("rollout-twice", "has the same name", "an environment holds each Rollout once", other),
            (None, Some(other)) => ("workload-shared", "releases the same workload", "a workload has one Rollout; take one away", other),
            (None, None) => {
                taken.push(true);
                continue;
            }
        };
        let place = format!("{}:{}", other.place.path, other.place.position.line);
        let message = format!("another Rollout {what} `{}`: `{}` in {place}", subject(rollout, code), other.reference.name);
        let finding = Finding::error(code, message).at(&rollout.place.path, rollout.place.position);
        findings.push(finding.about(format!("Rollout {}/{}", rollout.namespace, rollout.reference.name)).help(help));
        taken.push(false);
    }
    rollouts.into_iter().zip(taken).filter(|(_, is_taken)| *is_taken).map(|(rollout, _)| rollout).collect()
}

fn subject(rollout: &Rollout, code: &str) -> String {
    if code == "rollout-twice" { format!("{}/{}", rollout.namespace, rollout.reference.name) } else { rollout.workload.to_string() }
}

fn name_of(rollout: &Rollout) -> (String, String) {
    (rollout.namespace.clone(), rollout.reference.name.clone())
}

fn workload_of(rollout: &Rollout) -> (String, String, String, String) {
    let group = rollout.workload.api_version.split_once('/').map_or("", |(group, _)| group);
    (rollout.namespace.clone(), group.to_owned(), rollout.workload.kind.clone(), rollout.workload.name.clone())
}

fn other<'r>(rollout: &Rollout, rivals: &[&'r Rollout]) -> Option<&'r Rollout> {
    // By itself, not by its place: of some JSON only the whole document has one.
    rivals.iter().copied().find(|rival| !std::ptr::eq(*rival, rollout))
}
