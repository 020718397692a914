//! Workloads beside the one that is released: pods that a Service may select by mistake.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::{Manifest, ObjectRef};

/// The kinds of Kubernetes and OpenKruise that have pods.
const KINDS: [&str; 11] = [
    "AdvancedCronJob",
    "BroadcastJob",
    "CloneSet",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

/// Where objects have the labels of their pods.
const LABELS: [&str; 3] = [
    "/spec/template/metadata/labels",
    "/spec/jobTemplate/spec/template/metadata/labels",
    "/spec/template/jobTemplate/spec/template/metadata/labels",
];

/// A workload, by the labels of its pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// The workload.
    pub object: ObjectRef,
    /// The labels of its pods.
    pub labels: Map<String, Value>,
}

impl Beside {
    /// The workload of a manifest; none where it is none, or its pods have no labels.
    pub fn of(object: &ObjectRef, manifest: &Manifest) -> Option<Self> {
        let pointers: &[&str] = if object.kind == "Pod" { &["/metadata/labels"] } else { &LABELS };
        let labels = pointers.iter().find_map(|pointer| manifest.at(pointer)?.as_object())?;
        Some(Self { object: object.clone(), labels: labels.clone() })
    }

    /// Whether objects of the kind have pods.
    pub fn is_kind(kind: &str) -> bool {
        KINDS.binary_search(&kind).is_ok()
    }

    /// The kinds that have pods.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.into_iter()
    }
}

/// The workloads that no Rollout names. They are many, and seldom looked at: so they are read when that happens.
#[derive(Clone, Default)]
pub struct Unnamed(Option<Arc<LazyLock<Vec<Beside>, Read>>>);

/// Reads them.
type Read = Box<dyn FnOnce() -> Vec<Beside> + Send>;

impl Unnamed {
    /// Those that `read` returns, once and if ever they are asked for.
    pub fn new(read: impl FnOnce() -> Vec<Beside> + Send + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(read)))))
    }

    /// All of them.
    pub fn all(&self) -> &[Beside] {
        self.0.as_ref().map_or(&[], |read| read.as_slice())
    }
}

impl fmt::Debug for Unnamed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Unnamed")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Beside, KINDS};
    use crate::model::Manifest;

    #[track_caller]
    fn case(kind: &str, mut value: Value, expected: Option<&str>) {
        value["apiVersion"] = "v1".into();
        value["kind"] = kind.into();
        value["metadata"]["name"] = "a".into();
        let manifest = Manifest::try_from(value).unwrap();
        let beside = Beside::of(&manifest.object_ref("prod"), &manifest);
        assert_eq!(beside.as_ref().and_then(|beside| beside.labels["app"].as_str()), expected);
    }

    #[test]
    fn pods_have_their_labels_where_their_kind_says_them() {
        let template = json!({"template": {"metadata": {"labels": {"app": "shop"}}}});
        case("Deployment", json!({"spec": template}), Some("shop"));
        case("CronJob", json!({"spec": {"jobTemplate": {"spec": template}}}), Some("shop"));
        case("AdvancedCronJob", json!({"spec": {"template": {"jobTemplate": {"spec": template}}}}), Some("shop"));
        case("Pod", json!({"metadata": {"labels": {"app": "shop"}}, "spec": {}}), Some("shop"));
        case("Deployment", json!({"metadata": {"labels": {"app": "shop"}}, "spec": {}}), None);
    }

    #[test]
    fn kinds_are_found() {
        assert!(KINDS.iter().all(|kind| Beside::is_kind(kind)) && !Beside::is_kind("Service"));
    }
}
