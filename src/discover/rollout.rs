//! A Rollout as a user wrote it → a Rollout that the renderer can trust, or findings.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{self, Hint, no_hint};
use super::node::Node;
use super::{deadline, v1alpha1, v1beta1};
use crate::model::{Finding, ObjectRef, PodMetadata, Reference, Rollout, Routing, Severity, Source, Step, Strategy, Traffic};

/// The API group of Rollouts.
pub(super) const GROUP: &str = "rollouts.kruise.io";

const TRAFFIC_ROUTING: &str = "rollouts.kruise.io/trafficrouting";

/// What both API versions mean in the end.
pub(super) struct Spec {
    pub(super) workload: Reference,
    pub(super) strategy: Strategy,
    pub(super) steps: Vec<Step>,
    pub(super) routing: Option<Routing>,
    pub(super) pod_metadata: PodMetadata,
    pub(super) is_disabled: bool,
}

/// Whether an object is a Rollout.
pub(super) fn is_rollout(object: &ObjectRef) -> bool {
    object.group == GROUP && object.kind == "Rollout"
}

/// Reads a Rollout, as far as it can be understood; all its faults are found at once.
pub(super) fn read(source: &Source, findings: &mut Vec<Finding>) -> Option<Rollout> {
    let mut own = source.remarks.clone();
    let rollout = understood(source, &mut own);
    cut(&mut own, source);
    findings.append(&mut own);
    rollout
}

/// So many findings tell what is wrong with one Rollout; more are the same again.
const MOST_FINDINGS: usize = 100;

/// Keeps the worst of many findings, and says how many there are besides.
fn cut(findings: &mut Vec<Finding>, source: &Source) {
    if findings.len() <= MOST_FINDINGS {
        return;
    }
    findings.sort_by_key(|finding| finding.severity);
    let more = findings.split_off(MOST_FINDINGS);
    let message = format!("{} more findings about this Rollout are not told", more.len());
    let severity = more.first().map_or(Severity::Note, |finding| finding.severity);
    let finding = Finding { severity, ..Finding::error("findings-many", message) };
    findings.push(finding.at(&source.path, source.places.at("")).about(&source.object).help("mend those above, and look again"));
}

fn understood(source: &Source, findings: &mut Vec<Finding>) -> Option<Rollout> {
    let root = Node::root(source);
    fields::unknown(&root, &["apiVersion", "kind", "metadata", "spec", "status"], no_hint, findings);
    name(&root, source, findings);
    let deadline = deadline::read(&root, findings);
    let spec = match source.manifest.api_version() {
        "rollouts.kruise.io/v1beta1" => v1beta1::read(&root, findings),
        "rollouts.kruise.io/v1alpha1" => v1alpha1::read(&root, findings),
        other => {
            let at = root.child("apiVersion").unwrap_or(root);
            let finding = at.error("api-version-unknown", format!("Rollouts have no API version `{other}`"));
            findings.push(finding.help("`apiVersion: rollouts.kruise.io/v1beta1`"));
            return None;
        }
    };
    findings.extend(annotated_routing(&root));
    let mut spec = spec?;
    traffic_without_routing(&root, &mut spec, findings);
    let manifest = &source.manifest;
    let reference = Reference { api_version: manifest.api_version().into(), kind: manifest.kind().into(), name: manifest.name().into() };
    let namespace = source.object.namespace.clone();
    let Spec { workload, strategy, steps, routing, pod_metadata, is_disabled } = spec;
    Some(Rollout { reference, namespace, place: root.place(), workload, strategy, steps, routing, pod_metadata, is_disabled, deadline })
}

/// The object's `spec`, without other fields than `known`.
pub(super) fn spec<'a>(root: &Node<'a>, known: &[&str], elsewhere: Hint, findings: &mut Vec<Finding>) -> Option<Node<'a>> {
    if root.child("spec").is_none() {
        findings.push(root.error("spec-missing", "`spec` is missing"));
    }
    root.map("spec", known, elsewhere, findings)
}

/// Only a Deployment can have a second workload beside it; all others change a part of their pods after the other.
pub(super) fn style_of(workload: Option<&Reference>, has_extra_workload: bool) -> Strategy {
    let is_deployment = workload.is_none_or(|workload| workload.kind == "Deployment" && workload.api_version.starts_with("apps/"));
    if has_extra_workload && is_deployment { Strategy::Canary } else { Strategy::Partition }
}

/// Says that a number of unready pods is not tolerated, where one is written.
pub(super) fn failure_threshold(strategy: &Node<'_>, findings: &mut Vec<Finding>) {
    let Some(written) = strategy.child("failureThreshold") else { return };
    if [Value::from(0), Value::from("0"), Value::from("0%"), Value::Null].contains(written.value) {
        return;
    }
    let message = format!("`failureThreshold` is not used: every new pod of a step has to be ready, not all but {}", written.written());
    findings.push(
        written
            .warning("failure-threshold-unused", message)
            .help("take it out, or give the step a deadline: `rollout.dev/step-deadline: 10m`"),
    );
}

/// Labels and annotations for the new version's pods.
pub(super) fn pod_metadata(strategy: &Node<'_>, findings: &mut Vec<Finding>) -> PodMetadata {
    let Some(node) = strategy.map("patchPodTemplateMetadata", &["labels", "annotations"], no_hint, findings) else {
        return PodMetadata::default();
    };
    PodMetadata { labels: texts(&node, "labels", findings), annotations: texts(&node, "annotations", findings) }
}

fn texts(node: &Node<'_>, key: &str, findings: &mut Vec<Finding>) -> BTreeMap<String, String> {
    let Some(map) = node.child(key) else { return BTreeMap::new() };
    let Some(fields) = map.value.as_object() else {
        findings.push(map.error("field-type", format!("`{key}` is a map, not {}", map.written())));
        return BTreeMap::new();
    };
    // What is no text, and not nothing, is told, for the first few of them.
    let faulty = fields.iter().filter(|(_, value)| !value.is_string() && !value.is_null());
    for (field, _) in faulty.take(MOST_FINDINGS) {
        map.text(field, findings);
    }
    fields.iter().filter_map(|(field, value)| Some((field.clone(), value.as_str()?.to_owned()))).collect()
}

/// The name and the namespace become a folder of plans.
fn name(root: &Node<'_>, source: &Source, findings: &mut Vec<Finding>) {
    let Some(metadata) = root.child("metadata") else { return };
    for (key, text, longest) in [("name", source.object.name.as_str(), 253), ("namespace", source.object.namespace.as_str(), 63)] {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if text.len() > longest || !text.bytes().all(is_inner) || !is_edge(text.bytes().next()) || !is_edge(text.bytes().last()) {
            let at = metadata.child(key).unwrap_or_else(|| metadata.clone());
            let message = format!("a {key} is of small letters, digits, `-` and `.`, not `{text}`");
            findings.push(at.error("name-invalid", message));
        }
    }
}

fn annotated_routing(root: &Node<'_>) -> Option<Finding> {
    let annotations = root.child("metadata")?.child("annotations")?;
    shared_routing(&annotations.child(TRAFFIC_ROUTING)?)
}

/// The finding about the name of a shared TrafficRouting. A plan without it would send requests by the number of pods.
pub(super) fn shared_routing(name: &Node<'_>) -> Option<Finding> {
    let is_named = name.value != "";
    is_named.then(|| {
        let message = format!("the shared TrafficRouting {} is not rendered yet", name.written());
        name.error("traffic-routing-shared", message).help("write `trafficRoutings` in the Rollout")
    })
}

/// Nobody splits the traffic of such steps, so they have none.
fn traffic_without_routing(root: &Node<'_>, spec: &mut Spec, findings: &mut Vec<Finding>) {
    // A routing that cannot be understood is a finding already.
    if spec.routing.is_some() || findings.iter().any(|finding| finding.severity == Severity::Error) {
        return;
    }
    if let Some((index, step)) = spec.steps.iter().enumerate().find(|(_, step)| step.traffic.is_split()) {
        let message = format!("step {} has traffic but the Rollout has no `trafficRoutings`: requests follow the pods", index + 1);
        let finding = root.warning("traffic-without-routing", message).at(&step.place.path, step.place.position);
        findings.push(finding.help("name a Service and a gateway object in `trafficRoutings`, or leave the traffic out"));
    }
    for step in &mut spec.steps {
        step.traffic = Traffic::default();
    }
}
