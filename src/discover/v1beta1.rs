//! `rollouts.kruise.io/v1beta1`.

use serde_json::Value;

use super::node::Node;
use super::rollout::{Spec, style_of};
use super::{fields, matches, reference, rollout, routing, steps};
use crate::model::{Finding, Pause, PodMetadata, Replicas, Step, Strategy, Traffic, Weight};

/// What the object says; absent when it cannot be understood. Every fault is a finding.
pub(super) fn read(root: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Spec> {
    let spec = rollout::spec(root, &["workloadRef", "disabled", "strategy"], older_spec, findings)?;
    let is_disabled = spec.flag("disabled", findings);
    let workload = match spec.child("workloadRef") {
        Some(node) if node.is_map("workloadRef", &["apiVersion", "kind", "name"], fields::no_hint, findings) => {
            reference::read(&node, "workload-reference", findings)
        }
        Some(_) => None,
        None => {
            let finding = spec.error("workload-reference", "`workloadRef` is missing");
            findings.push(finding.help("`workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}`"));
            None
        }
    };
    let Some(strategy) = spec.map("strategy", &["paused", "canary", "blueGreen"], fields::no_hint, findings) else {
        if spec.child("strategy").is_none() {
            findings.push(spec.error("strategy-missing", "`strategy` is missing").help("a strategy is `canary` or `blueGreen`"));
        }
        return None;
    };
    strategy.flag("paused", findings);
    let (node, is_blue_green) = match (strategy.child("canary"), strategy.child("blueGreen")) {
        (Some(canary), None) => (canary, false),
        (None, Some(blue_green)) => (blue_green, true),
        (None, None) => {
            findings.push(strategy.error("strategy-missing", "a strategy is `canary` or `blueGreen`; neither is written"));
            return None;
        }
        (Some(_), Some(second)) => {
            findings.push(second.error("strategy-both", "a strategy is `canary` or `blueGreen`; both are written").help("take one away"));
            return None;
        }
    };
    let known: &[&str] = if is_blue_green { BLUE_GREEN } else { CANARY };
    if !node.is_map(if is_blue_green { "blueGreen" } else { "canary" }, known, fields::no_hint, findings) {
        return None;
    }
    let has_extra_workload = !is_blue_green && node.flag("enableExtraWorkloadForCanary", findings);
    let style = if is_blue_green { Strategy::BlueGreen } else { style_of(workload.as_ref(), has_extra_workload) };
    if let Some(shared) = node.child("trafficRoutingRef") {
        findings.extend(rollout::shared_routing(&shared));
    }
    rollout::failure_threshold(&node, findings);
    let routing = routing::read(&node, findings);
    let pod_metadata = if is_blue_green { PodMetadata::default() } else { rollout::pod_metadata(&node, findings) };
    let steps = read_steps(&node, style, findings);
    Some(Spec { workload: workload?, strategy: style, steps, routing, pod_metadata, is_disabled })
}

const CANARY: &[&str] = &[
    "steps",
    "trafficRoutings",
    "failureThreshold",
    "patchPodTemplateMetadata",
    "enableExtraWorkloadForCanary",
    "trafficRoutingRef",
    "disableGenerateCanaryService",
];
const BLUE_GREEN: &[&str] = &["steps", "trafficRoutings", "failureThreshold", "trafficRoutingRef", "disableGenerateCanaryService"];
const MOST_STEPS: usize = 50;
const STEP: &[&str] = &["replicas", "traffic", "matches", "requestHeaderModifier", "pause"];

fn read_steps(strategy: &Node<'_>, style: Strategy, findings: &mut Vec<Finding>) -> Vec<Step> {
    let mut read = Vec::new();
    let mut replicas = Vec::new();
    for node in steps::elements(strategy, MOST_STEPS, findings) {
        if !node.is_map("steps", STEP, older_step, findings) {
            continue;
        }
        let pods = pods(&node, findings);
        let step = read_step(&node, pods, style, findings);
        replicas.push((node, pods));
        read.extend(step);
    }
    steps::order(&replicas, findings);
    read
}

fn read_step(node: &Node<'_>, pods: Option<Replicas>, style: Strategy, findings: &mut Vec<Finding>) -> Option<Step> {
    let weight = traffic(node, style, findings);
    let matches = matches::read(node, matches::ALL, findings);
    let pause: Pause = steps::pause(node, findings);
    let traffic = Traffic { weight, matches };
    let header_modifier = matches::header_modifier(node, &traffic, findings);
    let replicas = pods?;
    Some(Step { replicas, traffic, header_modifier, pause, place: node.place() })
}

fn pods(node: &Node<'_>, findings: &mut Vec<Finding>) -> Option<Replicas> {
    if node.child("replicas").is_none() {
        let finding = node.error("step-replicas-missing", "a step says how many pods it has: `replicas` is missing");
        let traffic = node.child("traffic").or_else(|| node.child("weight"));
        let share = traffic.and_then(|traffic| share_of(traffic.value)).filter(|share| (1..=100).contains(share)).unwrap_or(20);
        findings.push(finding.help(format!("`replicas: {share}%`")));
    }
    steps::replicas(node, findings)
}

fn traffic(node: &Node<'_>, style: Strategy, findings: &mut Vec<Finding>) -> Option<Weight> {
    let written = node.child("traffic")?;
    let least = i64::from(style != Strategy::BlueGreen);
    let percent = written.value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|digits| digits.parse::<i64>().ok());
    let weight = percent.filter(|percent| *percent >= least).and_then(|percent| Weight::try_from(percent).ok());
    if weight.is_none() {
        let message = format!("`traffic` is a percentage from {least}% to 100%, not {}", written.written());
        let finding = written.error("step-traffic-invalid", message);
        findings.push(match (percent, share_of(written.value)) {
            (Some(0), _) => finding.help("leave `traffic` out: the step then moves pods only"),
            (None, Some(share)) if (least..=100).contains(&share) => finding.help(format!("`traffic: {share}%`")),
            _ => finding,
        });
    }
    weight
}

/// The whole number that someone wrote, with or without quotes or a percent sign.
fn share_of(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim_end_matches('%').trim().parse().ok())
}

fn older_spec(field: &str, _: &Value) -> Option<String> {
    match field {
        "objectRef" => Some("v1beta1 writes `workloadRef` directly below `spec`".into()),
        "rolloutID" => Some("write the annotation `rollouts.kruise.io/rollout-id` on the workload".into()),
        _ => None,
    }
}

fn older_step(field: &str, value: &Value) -> Option<String> {
    match field {
        "weight" | "setWeight" | "canaryWeight" | "percent" => {
            let share = share_of(value).filter(|share| (0..=100).contains(share)).unwrap_or(20);
            Some(format!("a v1beta1 step writes `traffic: {share}%`"))
        }
        "duration" => share_of(value).map(|seconds| format!("`pause: {{duration: {seconds}}}`")),
        _ => None,
    }
}
