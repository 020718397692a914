//! A Service's port that leads elsewhere after the change, where old pods do not listen.
//!
//! Only a Service's selector is part of a release: the rest is written by whoever applies the repository, for old pods too.

use serde_json::Value;

use super::draft::Draft;
use super::workload::deployment;
use crate::model::{Finding, Source};

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
    let containers = template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    let mut ports = containers.flat_map(|container| container.get("ports").and_then(Value::as_array).into_iter().flatten());
    ports.any(|port| port.get("containerPort") == Some(target) || port.get("name") == Some(target))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |name| format!("`{name}`"))
}
