//! Objects that exist only during a release: the canary workload, the canary Service, clones of gateway objects.

use serde_json::{Map, Value, json};

use crate::digest;
use crate::model::Manifest;

/// Appended to the name of the object that a companion stands beside.
pub(super) const SUFFIX: &str = "-canary";

/// The label that names the plan an object was made for.
const PLAN_LABEL: &str = "rollout.dev/plan";

/// Keys by which deployment tools recognise their own objects. A companion that carried them would be pruned.
const OWNERSHIP: [&str; 9] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "argocd.argoproj.io/",
    "config.kubernetes.io/",
    "helm.sh/",
    "helm.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
];

/// Metadata of a companion named `name`: of the labels and annotations of `original`, those that no deployment tool owns.
pub(super) fn metadata(plan: &str, namespace: &str, name: &str, original: Option<&Manifest>) -> Value {
    let kept = |field: &str| -> Map<String, Value> {
        let all = original.and_then(|original| original.at(&format!("/metadata/{field}"))).and_then(Value::as_object);
        all.into_iter().flatten().filter(|(key, _)| !is_owned(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (mut labels, annotations) = (kept("labels"), kept("annotations"));
    labels.insert(PLAN_LABEL.into(), label_value(plan).into());
    let mut metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    if !annotations.is_empty() {
        metadata["annotations"] = annotations.into();
    }
    metadata
}

fn is_owned(key: &str) -> bool {
    OWNERSHIP.iter().any(|owned| if owned.ends_with('/') { key.starts_with(owned) } else { key == *owned })
}

/// A name as a label's value, which may not be longer than 63 characters; a longer one is told apart by its digest.
fn label_value(name: &str) -> String {
    if name.len() <= 63 {
        return name.to_owned();
    }
    digest::of_bytes(name.as_bytes()).trim_start_matches("sha256:").chars().take(63).collect()
}
