//! The stable Service pinned to the old version's pods, and the canary Service for the new one's.
//!
//! A selector that changes with the pods is a change of the release: between old and new the Service selects both.

use serde_json::{Map, Value, json};

use super::companion;
use super::draft::{Draft, Original};
use super::pointers::put;
use super::selector::{Change, Labels};
use super::workload::deployment;
use crate::model::{Finding, LabelSet, LateValue, Manifest, PodMetadata, Rollout, Routing, Source, VersionKey, pointer};

/// The path that a release changes of a Service.
const PATH: &str = "/spec/selector";

/// The labels of a workload's pods.
const POD_LABELS: &str = "/spec/template/metadata/labels";

/// What a workload tells its pods by.
const WORKLOAD_SELECTOR: &str = "/spec/selector/matchLabels";

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
    /// The stable one while a step tells the versions apart: selecting only pods of the old version, or those of both where
    /// subsets tell them apart.
    pub(super) split: VersionKey,
    /// The stable one while one version takes over from the other: selecting the pods of both.
    pub(super) both: VersionKey,
    /// The canary one, where the release needs a second one.
    pub(super) canary: Option<VersionKey>,
}

/// The Services' states; none where the release needs no second one and leaves the first as it is.
pub(super) fn states(draft: &mut Draft<'_>, source: Option<&Source>, workload: &Source, findings: &mut Vec<Finding>) -> Option<States> {
    let (rollout, source) = (draft.rollout, source?);
    let routing = rollout.routing.as_ref()?;
    let is_pinned = !routing.is_subset_mode && rollout.steps.iter().any(|step| step.traffic.is_split());
    let changes = draft.before(source).is_some_and(|before| before.pointer(PATH) != source.manifest.at(PATH));
    if !is_pinned && !changes {
        return None;
    }
    if is_pinned {
        check(source, routing, workload.manifest.at(deployment::PATH).unwrap_or(&Value::Null), &rollout.pod_metadata, findings);
        findings.extend(selected_nothing(draft, source));
    }
    let both = changes.then(|| both(draft, source, workload, findings)).flatten();
    let original = draft.original(source, PATH);
    let (_, before, mut shared) = draft.original_values(source, &[PATH.to_owned()]);
    let pinned = is_pinned.then(|| {
        let (pinned, late) = pinned(before, deployment::REVISION_LABEL);
        draft.versions.add(&original.object, pinned, late)
    });
    let both = both.map_or_else(
        || original.target.clone(),
        |selector| {
            put(&mut shared, PATH, Some(selector.into()));
            draft.versions.add(&original.object, shared, Vec::new())
        },
    );
    let canary = is_pinned.then(|| {
        let (plan, namespace) = (&rollout.reference.name, &rollout.namespace);
        let (canary, late) = canary(plan, namespace, &source.manifest, &rollout.pod_metadata, deployment::REVISION_LABEL);
        let object = draft.key(&source.manifest, &canary_name(source.manifest.name()));
        draft.paths.add(&object, "");
        draft.versions.add(&object, canary, late)
    });
    Some(States { original, split: pinned.unwrap_or_else(|| both.clone()), both, canary })
}

/// The selector of the pods of both versions, where the Service's own changes; findings where it would lose or win requests.
fn both(draft: &Draft<'_>, source: &Source, workload: &Source, findings: &mut Vec<Finding>) -> Option<Labels> {
    let nothing = Labels::new();
    let labels = |value: Option<&'_ Value>| -> Labels { value.and_then(Value::as_object).unwrap_or(&nothing).clone() };
    let pods = |value: &Value| labels(value.pointer(POD_LABELS));
    let head = workload.manifest.value();
    let (before, after) = (labels(draft.before(source)?.pointer(PATH)), labels(source.manifest.at(PATH)));
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let (old, new) = (draft.before(workload).map_or_else(|| pods(head), pods), pods(head));
    let change = Change { before: &before, after: &after, old: &old, new: &new, workload: &labels(head.pointer(WORKLOAD_SELECTOR)) };
    let finding = |code, message: String| Finding::error(code, message).at(&source.path, source.places.at(PATH)).about(&source.object);
    let help = "let this change give the pods their labels, and change the selector in the next one";
    let Some(both) = change.both() else {
        findings.push(
            finding(
                "service-selector-leaps",
                format!("no selector has the pods of both versions: Service `{}` would lose one of them at once", source.manifest.name()),
            )
            .help(help),
        );
        return None;
    };
    let selector: Vec<String> = both.iter().map(|(key, value)| format!("{key}: {}", plain(value))).collect();
    let while_it_lasts =
        format!("while the new version takes over, Service `{}` selects `{}`", source.manifest.name(), selector.join(", "));
    let [before_set, after_set] = [&before, &after].map(LabelSet::of);
    let is_foreign = |pods: &LabelSet| !before_set.selects(pods) && !after_set.selects(pods);
    let selected = LabelSet::of(&both);
    let mut others = draft.other_workloads(workload, &selected);
    if let Some(foreign) = others.find(|other| other.links.pods.as_ref().is_some_and(is_foreign)) {
        let message = format!("{while_it_lasts}, and with it the pods of {}", foreign.object);
        findings.push(finding("service-selects-others", message).help(help));
    } else if both != before && both != after {
        let note = Finding::note("service-selector-between", while_it_lasts);
        findings.push(note.at(&source.path, source.places.at(PATH)).about(&source.object));
    }
    Some(both)
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
    (unpinned, vec![(format!("{PATH}/{}", pointer::escape(revision_label)), LateValue::StableRevision)])
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
    (service, vec![(format!("{PATH}/{}", pointer::escape(revision_label)), LateValue::CanaryRevision)])
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
    } else if let Some((key, value)) = missing(selector, template, &PodMetadata::default()) {
        findings.push(
            finding(
                "service-selects-no-pods",
                PATH,
                format!("Service `{}` selects `{key}: {}`, which no pod has after the release", routing.service, plain(value)),
            )
            .help("give the pod template this label: `patchPodTemplateMetadata` does so only while the release lasts"),
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

/// A Service that gets its selector only now has none that could be narrowed to the old version's pods.
fn selected_nothing(draft: &Draft<'_>, source: &Source) -> Option<Finding> {
    let selector = draft.before(source)?.pointer(PATH).and_then(Value::as_object);
    if selector.is_some_and(|selector| !selector.is_empty()) {
        return None;
    }
    let message = format!("Service `{}` selected no pods before this change: it had no selector", source.manifest.name());
    Some(
        Finding::error("service-without-selector", message)
            .at(&source.path, source.places.at(PATH))
            .about(&source.object)
            .help("give it the selector first, and release the new version in the change after it"),
    )
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
