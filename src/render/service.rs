//! The stable Service pinned to the old version's pods, and the canary Service for the new one's.

use serde_json::{Map, Value, json};

use super::companion;
use super::draft::{Draft, Original};
use super::pointers::{escape, put};
use super::workload::deployment;
use crate::model::{Finding, LateValue, Manifest, PodMetadata, Rollout, Routing, Source, VersionKey};

/// The path that a release changes of a Service.
const PATH: &str = "/spec/selector";

/// Fields that a cluster gives to one Service alone.
const ASSIGNED: [&str; 10] = [
    "clusterIPs",
    "externalIPs",
    "externalTrafficPolicy",
    "healthCheckNodePort",
    "ipFamilies",
    "ipFamilyPolicy",
    "loadBalancerClass",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
];

/// A Service and its late values.
type Late = (Value, Vec<(String, LateValue)>);

/// The versions of both Services over a release.
pub(super) struct States {
    /// The stable one as it stands in git.
    pub(super) original: Original,
    /// The stable one, selecting only pods of the old version.
    pub(super) pinned: VersionKey,
    /// The canary one.
    pub(super) canary: VersionKey,
}

/// The Services' states; none where the release needs no second one.
pub(super) fn states(draft: &mut Draft<'_>, source: Option<&Source>, workload: &Source, findings: &mut Vec<Finding>) -> Option<States> {
    let (rollout, source) = (draft.rollout, source?);
    let routing = rollout.routing.as_ref()?;
    let is_split = rollout.steps.iter().any(|step| step.traffic.is_split());
    if routing.is_subset_mode || !is_split {
        return None;
    }
    check(source, routing, workload.manifest.at(deployment::PATH).unwrap_or(&Value::Null), &rollout.pod_metadata, findings);
    draft.name_is_free(&source.object, findings);
    let original = draft.original(source, PATH);
    let (_, before, _) = draft.original_values(source, &[PATH.to_owned()]);
    let (pinned, late) = pinned(before, deployment::REVISION_LABEL);
    let pinned = draft.versions.add(&original.object, pinned, late);
    let (plan, namespace) = (&rollout.reference.name, &rollout.namespace);
    let (canary, late) = canary(plan, namespace, &source.manifest, &rollout.pod_metadata, deployment::REVISION_LABEL);
    let object = draft.key(&source.manifest, &canary_name(source.manifest.name()));
    draft.paths.add(&object, "");
    let canary = draft.versions.add(&object, canary, late);
    Some(States { original, pinned, canary })
}

/// The name of the canary Service.
pub(super) fn canary_name(stable: &str) -> String {
    format!("{stable}{}", companion::SUFFIX)
}

/// The Service that both versions stand behind: in subset mode, where it selects the new version's pods too.
pub(super) fn shared(rollout: &Rollout, source: Option<&Source>, workload: &Source) -> Option<String> {
    let routing = rollout.routing.as_ref().filter(|routing| routing.is_subset_mode)?;
    let selector = source?.manifest.at(PATH)?.as_object().filter(|selector| !selector.is_empty())?;
    let template = workload.manifest.at(deployment::PATH)?;
    missing(selector, template, &rollout.pod_metadata).is_none().then(|| routing.service.clone())
}

/// The stable Service, selecting only pods of the old version.
fn pinned(unpinned: Value, revision_label: &str) -> Late {
    (unpinned, vec![(format!("{PATH}/{}", escape(revision_label)), LateValue::StableRevision)])
}

/// The canary Service: a copy of the stable one that selects only pods of the new version.
fn canary(plan: &str, namespace: &str, stable: &Manifest, pods: &PodMetadata, revision_label: &str) -> Late {
    let mut spec = stable.at("/spec").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ASSIGNED {
        spec.remove(field);
    }
    if spec.get("clusterIP").is_some_and(|address| address != "None") {
        spec.remove("clusterIP");
    }
    if spec.get("type").is_some_and(|kind| kind == "LoadBalancer") {
        spec.insert("type".into(), "ClusterIP".into());
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        port.remove("nodePort");
    }
    if let Some(selector) = spec.get_mut("selector").and_then(Value::as_object_mut) {
        overlay(selector, pods);
    }
    let mut service = json!({
        "apiVersion": stable.api_version(),
        "kind": stable.kind(),
        "metadata": companion::metadata(plan, namespace, &canary_name(stable.name()), Some(stable)),
    });
    put(&mut service, "/spec", Some(spec.into()));
    (service, vec![(format!("{PATH}/{}", escape(revision_label)), LateValue::CanaryRevision)])
}

/// What keeps the Service from carrying a release.
fn check(source: &Source, routing: &Routing, template: &Value, pods: &PodMetadata, findings: &mut Vec<Finding>) {
    let finding =
        |code, pointer, message: String| Finding::error(code, message).at(&source.path, source.places.at(pointer)).about(&source.object);
    let Some(selector) = source.manifest.at(PATH).and_then(Value::as_object).filter(|selector| !selector.is_empty()) else {
        findings.push(
            finding("service-without-selector", "/spec", format!("Service `{}` selects no pods: it has no selector", routing.service))
                .help("name a Service with a selector in `trafficRoutings[].service`"),
        );
        return;
    };
    let mut wanted = selector.clone();
    overlay(&mut wanted, pods);
    if let Some((key, value)) = missing(&wanted, template, pods) {
        findings.push(
            finding(
                "service-selects-no-pods",
                PATH,
                format!("Service `{}` selects `{key}: {}`, which no pod of the new version has", routing.service, plain(value)),
            )
            .help("give the pod template this label, or take it out of the selector"),
        );
    }
    if canary_name(&routing.service).len() > 63 {
        findings.push(
            finding(
                "name-too-long",
                "/metadata/name",
                format!("`{}` is longer than the 63 characters a Service's name may have", canary_name(&routing.service)),
            )
            .help("shorten the Service's name, or use subsets with `disableGenerateCanaryService: true`"),
        );
    }
}

/// A label that a selector wants and no pod of the new version has.
fn missing<'a>(selector: &'a Map<String, Value>, template: &Value, pods: &PodMetadata) -> Option<(&'a String, &'a Value)> {
    let labels = template.pointer("/metadata/labels").and_then(Value::as_object);
    selector.iter().find(|(key, value)| {
        let patched = pods.labels.get(*key).map(String::as_str);
        patched.or_else(|| labels?.get(*key)?.as_str()) != value.as_str()
    })
}

/// Labels that only the new version's pods get take the place of the selector's.
fn overlay(selector: &mut Map<String, Value>, pods: &PodMetadata) {
    for (key, value) in selector.iter_mut() {
        if let Some(patched) = pods.labels.get(key) {
            *value = patched.as_str().into();
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
