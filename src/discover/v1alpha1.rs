//! `rollouts.kruise.io/v1alpha1`, read as the v1beta1 object that means the same.

use serde_json::Value;

use super::node::Node;
use super::rollout::{Spec, style_of};
use super::{fields, matches, reference, rollout, routing, steps};
use crate::model::{Finding, Reference, Replicas, Step, Traffic, Weight};

const ROLLING_STYLE: &str = "rollouts.kruise.io/rolling-style";
const CANARY: &[&str] = &["steps", "trafficRoutings", "failureThreshold", "patchPodTemplateMetadata", "disableGenerateCanaryService"];
/// The API sets no limit: this one keeps plans bearable.
const MOST_STEPS: usize = 500;
const STEP: &[&str] = &["weight", "replicas", "matches", "requestHeaderModifier", "pause"];

/// What the object says; absent when it cannot be understood. Every fault is a finding.
pub(super) fn read(root: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Spec> {
    let spec = rollout::spec(root, &["objectRef", "disabled", "rolloutID", "strategy"], newer_spec, findings)?;
    let is_disabled = spec.flag("disabled", findings);
    let workload = workload(&spec, findings);
    let has_extra_workload = has_extra_workload(root, findings);
    let Some(strategy) = spec.map("strategy", &["paused", "canary"], newer_strategy, findings) else {
        if spec.child("strategy").is_none() {
            findings.push(spec.error("strategy-missing", "`strategy` is missing").help("`strategy: {canary: {steps: [{weight: 20}]}}`"));
        }
        return None;
    };
    strategy.flag("paused", findings);
    let Some(canary) = strategy.map("canary", CANARY, newer_canary, findings) else {
        if strategy.child("canary").is_none() {
            findings.push(strategy.error("strategy-missing", "`canary` is missing").help("`canary: {steps: [{weight: 20}]}`"));
        }
        return None;
    };
    let style = style_of(workload.as_ref(), has_extra_workload);
    rollout::failure_threshold(&canary, findings);
    let routing = routing::read(&canary, findings);
    let pod_metadata = rollout::pod_metadata(&canary, findings);
    let steps = read_steps(&canary, findings);
    Some(Spec { workload: workload?, strategy: style, steps, routing, pod_metadata, is_disabled })
}

fn workload(spec: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Reference> {
    let help = "`objectRef: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}`";
    let Some(object) = spec.child("objectRef") else {
        findings.push(spec.error("workload-reference", "`objectRef` is missing").help(help));
        return None;
    };
    if !object.is_map("objectRef", &["workloadRef"], fields::no_hint, findings) {
        return None;
    }
    let Some(node) = object.child("workloadRef") else {
        findings.push(object.error("workload-reference", "`workloadRef` is missing").help(help));
        return None;
    };
    if !node.is_map("workloadRef", &["apiVersion", "kind", "name"], fields::no_hint, findings) {
        return None;
    }
    reference::read(&node, "workload-reference", findings)
}

fn has_extra_workload(root: &Node<'_>, findings: &mut Vec<Finding>) -> bool {
    let Some(annotations) = root.child("metadata").and_then(|metadata| metadata.child("annotations")) else { return true };
    let Some(written) = annotations.text(ROLLING_STYLE, findings) else { return true };
    match written.to_lowercase().as_str() {
        "" | "canary" => true,
        "partition" => false,
        _ => {
            let at = annotations.child(ROLLING_STYLE).unwrap_or(annotations);
            let finding = at.error("rolling-style", format!("`{ROLLING_STYLE}` is `canary` or `partition`, not `{written}`"));
            findings.push(match written.to_lowercase().as_str() {
                "bluegreen" => finding.help("blue-green needs `apiVersion: rollouts.kruise.io/v1beta1`"),
                _ => finding,
            });
            true
        }
    }
}

fn read_steps(canary: &Node<'_>, findings: &mut Vec<Finding>) -> Vec<Step> {
    let mut read: Vec<Step> = Vec::new();
    let mut replicas = Vec::new();
    let mut before: Option<i64> = None;
    let has_routing = has_routing(canary);
    for node in steps::elements(canary, MOST_STEPS, findings) {
        if !node.is_map("steps", STEP, newer_step, findings) {
            continue;
        }
        let weight = node.integer("weight", findings);
        if let (true, Some(before), Some(weight), Some(at)) = (has_routing, before, weight, node.child("weight"))
            && weight < before
        {
            let message = format!("a v1alpha1 step has no less weight than the step before: {weight} after {before}");
            findings.push(at.error("step-weight-decreasing", message).help("sort the steps by weight"));
        }
        before = weight;
        let pods = pods(&node, weight, findings);
        let mut step = read_step(&node, weight, pods, findings);
        // Without routing the weight of a step is its share of pods, and nothing more was meant by it.
        if !has_routing && node.child("replicas").is_none() {
            step = step.map(|step| Step { traffic: Traffic { weight: None, ..step.traffic }, ..step });
        }
        replicas.push((node, pods));
        read.extend(step);
    }
    steps::order(&replicas, findings);
    read
}

fn has_routing(canary: &Node<'_>) -> bool {
    canary.child("trafficRoutings").is_some_and(|routings| routings.elements().next().is_some())
}

fn read_step(node: &Node<'_>, percent: Option<i64>, pods: Option<Replicas>, findings: &mut Vec<Finding>) -> Option<Step> {
    let weight = percent.and_then(|percent| Weight::try_from(percent).ok());
    let has_replicas = node.child("replicas").is_some();
    if let (Some(percent), None, true, Some(at)) = (percent, weight, has_replicas, node.child("weight")) {
        findings.push(at.error("step-weight-invalid", format!("`weight` is a whole percentage from 0 to 100, not {percent}")));
    }
    let matches = matches::read(node, matches::HEADERS_ONLY, findings);
    let pause = steps::pause(node, findings);
    let traffic = Traffic { weight, matches };
    let header_modifier = matches::header_modifier(node, &traffic, findings);
    let replicas = pods?;
    Some(Step { replicas, traffic, header_modifier, pause, place: node.place() })
}

/// A step without replicas has the weight's share of pods.
fn pods(node: &Node<'_>, weight: Option<i64>, findings: &mut Vec<Finding>) -> Option<Replicas> {
    if node.child("replicas").is_some() {
        return steps::replicas(node, findings);
    }
    let Some(at) = node.child("weight") else {
        let finding = node.error("step-replicas-missing", "a step has a `weight` or `replicas`; both are missing");
        findings.push(finding.help("`weight: 20`"));
        return None;
    };
    let percent = u8::try_from(weight?).ok().filter(|percent| (1..=100).contains(percent));
    if percent.is_none() {
        let message = format!("`weight` without `replicas` is a whole percentage from 1 to 100, not {}", at.written());
        findings.push(at.error("step-weight-invalid", message));
    }
    percent.map(Replicas::Percent)
}

fn newer_spec(field: &str, _: &Value) -> Option<String> {
    (field == "workloadRef")
        .then(|| "v1alpha1 writes `objectRef: {workloadRef: …}`; or use `apiVersion: rollouts.kruise.io/v1beta1`".into())
}

fn newer_strategy(field: &str, _: &Value) -> Option<String> {
    (field == "blueGreen").then(|| "blue-green needs `apiVersion: rollouts.kruise.io/v1beta1`".into())
}

fn newer_canary(field: &str, value: &Value) -> Option<String> {
    match field {
        "enableExtraWorkloadForCanary" => {
            let style = if value == true { "canary" } else { "partition" };
            Some(format!("v1alpha1 writes the annotation `{ROLLING_STYLE}: {style}`"))
        }
        "trafficRoutingRef" => Some("write `trafficRoutings` here".into()),
        _ => None,
    }
}

fn newer_step(field: &str, value: &Value) -> Option<String> {
    match field {
        "traffic" | "setWeight" => {
            let share = value.as_i64().or_else(|| value.as_str()?.trim_end_matches('%').parse().ok());
            let share = share.filter(|share| (0..=100).contains(share)).unwrap_or(20);
            Some(format!("a v1alpha1 step writes `weight: {share}`; or use `apiVersion: rollouts.kruise.io/v1beta1`"))
        }
        _ => None,
    }
}
