//! A Service's port that leads where old pods do not listen, because it leads elsewhere after the change, or new pods do not,
//! because they name their ports differently.
//!
//! Only a Service's selector is part of a release: the rest is written by whoever applies the repository, for old pods too.

use serde_json::Value;

use super::draft::Draft;
use super::workload::deployment;
use crate::model::{Finding, Source};

/// The code of a port that new pods do not have.
const LOST: &str = "service-port-lost";

/// Returns a finding for each port that leads the old pods' requests to where they do not say that they listen.
pub(super) fn moved(draft: &Draft<'_>, service: &Source, workload: &Source) -> Vec<Finding> {
    let (Some(before), Some(pods)) = (draft.before(service), draft.before(workload).and_then(|before| before.pointer(deployment::PATH)))
    else {
        return Vec::new();
    };
    let before = ports(before);
    let now = service.manifest.value();
    let moved = ports(now).iter().enumerate().filter_map(|(index, port)| {
        let earlier = before.iter().find(|earlier| entry(earlier) == entry(port))?;
        let (from, to) = (target(earlier)?, target(port)?);
        (from != to && !listens(pods, to)).then(|| {
            let message = format!(
                "Service `{}` leads port {} to {} instead of {} as soon as the change is merged, and the old pods do not name such a port",
                service.manifest.name(),
                port["port"],
                plain(to),
                plain(from)
            );
            let place = service.places.at(&format!("/spec/ports/{index}"));
            let finding = Finding::warning("service-port-moves", message).at(&service.path, place).about(&service.object);
            finding.help("name the port in the pod template and let that out first; a Service with that name as `targetPort` reaches each pod where it listens")
        })
    });
    moved.collect()
}

/// Returns a finding for each port that leads the new pods' requests to where only the old pods say that they listen.
pub(super) fn lost(draft: &Draft<'_>, service: &Source, workload: &Source) -> Vec<Finding> {
    let Some(old) = draft.before(workload).and_then(|before| before.pointer(deployment::PATH)) else { return Vec::new() };
    let Some(new) = workload.manifest.at(deployment::PATH) else { return Vec::new() };
    let lost = ports(service.manifest.value()).iter().enumerate().filter_map(|(index, port)| {
        let to = target(port)?;
        // Sidecars that a cluster adds listen too, for old pods as for new ones.
        if !listens(old, to) || listens(new, to) {
            return None;
        }
        let message = format!(
            "Service `{}` leads port {} to {}, and the new pods do not name such a port any more",
            service.manifest.name(),
            port["port"],
            plain(to)
        );
        // A number needs no name to be listened at.
        let finding = if to.is_string() { Finding::error(LOST, message) } else { Finding::warning(LOST, message) };
        let finding = finding.at(&service.path, service.places.at(&format!("/spec/ports/{index}"))).about(&service.object);
        Some(finding.help("name the port in the pod template as before: a name there can lead to another number"))
    });
    lost.collect()
}

fn ports(service: &Value) -> &[Value] {
    service.pointer("/spec/ports").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What clients know a port by.
fn entry(port: &Value) -> (Option<&Value>, &str) {
    (port.get("port"), port.get("protocol").and_then(Value::as_str).unwrap_or("TCP"))
}

/// Where a port leads to: a number, or the name of a pod's port.
fn target(port: &Value) -> Option<&Value> {
    port.get("targetPort").filter(|target| !target.is_null()).or_else(|| port.get("port"))
}

/// Whether the pods name a port of this number or name.
fn listens(template: &Value, target: &Value) -> bool {
    let lists = ["/spec/containers", "/spec/initContainers"].into_iter().filter_map(|list| template.pointer(list)?.as_array());
    let mut ports = lists.flatten().flat_map(|container| container.get("ports").and_then(Value::as_array).into_iter().flatten());
    ports.any(|port| port.get("containerPort") == Some(target) || port.get("name") == Some(target))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |name| format!("`{name}`"))
}
