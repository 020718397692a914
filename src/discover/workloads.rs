//! Which workloads a Rollout can release.

use super::originals::workload_place;
use crate::model::{Catalog, Finding, ObjectRef, Resolution, Rollout, Strategy};

const SUPPORTED: &[(&str, &str)] = &[
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps.kruise.io", "CloneSet"),
    ("apps.kruise.io", "StatefulSet"),
    ("apps.kruise.io", "DaemonSet"),
];
const BLUE_GREEN: &[(&str, &str)] = &[("apps", "Deployment"), ("apps.kruise.io", "CloneSet")];

/// Why the Rollout cannot release its workload, if it cannot.
pub(super) fn unsupported(rollout: &Rollout, catalog: &Catalog) -> Option<Finding> {
    let workload = &rollout.workload;
    let object = ObjectRef::new(&workload.api_version, &workload.kind, &rollout.namespace, &workload.name);
    let is_listed = |list: &[(&str, &str)]| list.iter().any(|(group, kind)| *group == object.group && *kind == object.kind);
    let about = format!("Rollout {}/{}", rollout.namespace, rollout.reference.name);
    let finding = |message: String, help: &str| {
        let place = workload_place(catalog, rollout);
        Some(Finding::error("workload-unsupported", message).at(&place.path, place.position).about(&about).help(help))
    };
    let written = format!("`{}` {}", workload.api_version, workload.kind);
    if rollout.strategy == Strategy::BlueGreen && !is_listed(BLUE_GREEN) {
        return finding(
            format!("blue-green does not release {written}"),
            "blue-green releases Deployments (`apps/v1`) and CloneSets (`apps.kruise.io`)",
        );
    }
    if is_listed(SUPPORTED) || is_labelled(catalog, &object, &rollout.place.path) {
        return None;
    }
    let help = match SUPPORTED.iter().find(|(_, kind)| *kind == object.kind) {
        Some((group, kind)) => format!("did you mean {kind} of `{group}/v1`?"),
        None => {
            "Deployment, StatefulSet, DaemonSet, CloneSet, or a kind with the label `rollouts.kruise.io/workload-type: statefulset`".into()
        }
    };
    finding(format!("a Rollout does not release {written}"), &help)
}

fn is_labelled(catalog: &Catalog, object: &ObjectRef, near: &str) -> bool {
    let Resolution::Found(source) = catalog.resolve(object, near) else { return false };
    source.source().manifest.label("rollouts.kruise.io/workload-type").is_some_and(|label| label.eq_ignore_ascii_case("statefulset"))
}
