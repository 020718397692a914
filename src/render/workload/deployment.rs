//! A Deployment in Canary style: a second Deployment with the new template beside the untouched stable one.

use serde_json::{Value, json};

use crate::model::{Finding, LateValue, Manifest, PodMetadata, Replicas, Source, VersionKey, pointer};
use crate::render::companion;
use crate::render::draft::Draft;
use crate::render::pointers::put;

/// The label by which a Deployment tells its revisions apart.
pub(in crate::render) const REVISION_LABEL: &str = "pod-template-hash";

/// The path that a release changes of the stable Deployment.
pub(in crate::render) const PATH: &str = "/spec/template";

/// What tells a Deployment's pods; it can never change.
const SELECTOR: &str = "/spec/selector";

/// The label by which OpenKruise's tools find the second Deployment.
const STABLE_NAME_LABEL: &str = "rollouts.kruise.io/canary-deployment";

/// The number of pods that git asks for; none where something else owns the number.
pub(in crate::render) fn replicas(head: &Manifest, is_autoscaled: bool) -> Option<u32> {
    if is_autoscaled {
        return None;
    }
    head.at("/spec/replicas").and_then(Value::as_u64).and_then(|replicas| u32::try_from(replicas).ok())
}

/// What to say where the selector differs from the one before: no API server takes that for a Deployment that exists.
pub(in crate::render) fn changed_selector(source: &Source, before: &Value) -> Option<Finding> {
    if before.pointer(SELECTOR) == source.manifest.at(SELECTOR) {
        return None;
    }
    let message = format!("the selector of {} changes, which no cluster takes", source.object);
    let finding = Finding::error("workload-selector-changes", message).at(&source.path, source.places.at(SELECTOR)).about(&source.object);
    Some(finding.help("keep the selector and the labels that it names, or release a Deployment of another name"))
}

/// What to say where the pod template has no map for the labels and annotations that only the new version's pods get.
pub(in crate::render) fn unwritable(source: &Source, pods: &PodMetadata) -> Option<Finding> {
    let fields = [("labels", &pods.labels), ("annotations", &pods.annotations)].into_iter().filter(|(_, values)| !values.is_empty());
    let places = fields.flat_map(|(field, _)| [PATH.to_owned(), format!("{PATH}/metadata"), format!("{PATH}/metadata/{field}")]);
    let is_no_map = |place: &String| source.manifest.at(place).is_some_and(|value| !value.is_object() && !value.is_null());
    let place = places.into_iter().find(is_no_map)?;
    let message = format!("`patchPodTemplateMetadata` cannot be written into {}: `{place}` is no map", source.object);
    Some(Finding::error("pod-metadata-unwritable", message).at(&source.path, source.places.at(&place)).about(&source.object))
}

/// What to say where the stable Deployment does not take the new version over as the end of a release expects, after a last step
/// with `replicas` of `total` pods.
pub(in crate::render) fn takeover(source: &Source, replicas: Option<Replicas>, total: Option<u32>) -> Option<Finding> {
    let finding =
        |code, pointer, message: String| Finding::warning(code, message).at(&source.path, source.places.at(pointer)).about(&source.object);
    if source.manifest.at("/spec/paused") == Some(&Value::Bool(true)) {
        let message = format!("{} is paused: it never takes the new version over, and the release has no end", source.object);
        return Some(finding("workload-paused", "/spec/paused", message).help("take `paused` away: the steps are what holds a release"));
    }
    let replicas = replicas?;
    let has_all = match total {
        Some(total) => replicas.of(total) >= total,
        None => replicas == Replicas::Percent(100),
    };
    if has_all || source.manifest.at("/spec/strategy/type") != Some(&Value::from("Recreate")) {
        return None;
    }
    let message = format!(
        "at the end all old pods of {} go before a new one comes, and those of the last step ({replicas}) get every request",
        source.object
    );
    let help = "let the last step have all pods, `replicas: 100%`, or use `strategy: {type: RollingUpdate}`";
    Some(finding("workload-recreates", "/spec/strategy", message).help(help))
}

/// Adds the second Deployment as a step has it. Its replicas are a late value: whoever scales the stable Deployment in the
/// cluster, a person or an autoscaler, scales what the traffic needs, whatever git says.
pub(in crate::render) fn add_canary(draft: &mut Draft<'_>, head: &Manifest, wanted: Replicas) -> VersionKey {
    let rollout = draft.rollout;
    let canary = canary(&rollout.reference.name, &rollout.namespace, head, &rollout.pod_metadata);
    let object = draft.key(head, &format!("{}{}", head.name(), companion::SUFFIX));
    draft.paths.add(&object, "");
    draft.versions.add(&object, canary, vec![("/spec/replicas".to_owned(), LateValue::Replicas(wanted))])
}

/// The second Deployment without its replicas.
fn canary(plan: &str, namespace: &str, head: &Manifest, pods: &PodMetadata) -> Value {
    let mut spec = head.at("/spec").cloned().unwrap_or_else(|| json!({}));
    put(&mut spec, "/paused", None);
    put(&mut spec, "/replicas", None);
    for (field, values) in [("labels", &pods.labels), ("annotations", &pods.annotations)] {
        for (key, value) in values {
            let pointer = format!("/template/metadata/{field}/{}", pointer::escape(key));
            put(&mut spec, &pointer, Some(value.as_str().into()));
        }
    }
    let mut metadata = companion::metadata(plan, namespace, &format!("{}{}", head.name(), companion::SUFFIX), None);
    if head.name().len() <= 63 {
        metadata["labels"][STABLE_NAME_LABEL] = head.name().into();
    }
    let members = [("apiVersion", head.api_version().into()), ("kind", head.kind().into()), ("metadata", metadata), ("spec", spec)];
    Value::Object(members.map(|(key, member)| (key.to_owned(), member)).into_iter().collect())
}
