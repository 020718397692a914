//! Workloads and Services that a change adds, removes or gives other labels: what they select, or what selects them, names them
//! nowhere, so that a Rollout depends on them without a reference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::documents::Documents;
use super::{DEFAULT_NAMESPACE, lists};
use crate::config::Config;
use crate::model::{ObjectRef, Source, linked_kinds, pod_labels};
use crate::yaml;

/// The kind that selects pods.
const SERVICE: &str = "Service";

/// A workload with the labels of its pods, or a Service with its selector, which only one side of a change has so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relabelled {
    /// The environment's name.
    environment: String,
    /// The workload or the Service.
    object: ObjectRef,
    labels: BTreeMap<String, String>,
}

/// A file that differs: its path, what it is now, and what it was.
pub type ChangedFile<'a> = (&'a str, Option<&'a [u8]>, Option<&'a [u8]>);

impl Relabelled {
    /// Its namespace.
    pub(super) fn namespace(&self) -> &str {
        &self.object.namespace
    }

    /// Whether it may share pods with a workload or a Service of these labels: one label is the same.
    pub fn may_concern(&self, environment: &str, namespace: &str, labels: &Map<String, Value>) -> bool {
        let is_shared = |(key, value): (&String, &String)| labels.get(key).is_some_and(|other| plain(other) == *value);
        self.environment == environment && self.object.namespace == namespace && self.labels.iter().any(is_shared)
    }
}

/// Those that only one of two states of a repository has.
pub fn relabelled(now: &Documents, before: &Documents, config: &Config) -> Vec<Relabelled> {
    let bytes = |documents: &'_ Documents, path: &str| documents.files.get(path).cloned();
    let paths: BTreeSet<&str> = now.files.iter().chain(before.files.iter()).map(|(path, _)| path).collect();
    let both = paths.into_iter().map(|path| (path, bytes(now, path), bytes(before, path)));
    let changed: Vec<_> = both.filter(|(_, now, before)| now != before).collect();
    of_files(changed.iter().map(|(path, now, before)| (*path, now.as_deref(), before.as_deref())), config)
}

/// Those that only one side of some changed files has.
pub(super) fn of_files<'a>(changed: impl Iterator<Item = ChangedFile<'a>>, config: &Config) -> Vec<Relabelled> {
    let (mut now, mut before) = (BTreeSet::new(), BTreeSet::new());
    for (path, after, former) in changed {
        now.extend(after.into_iter().flat_map(|bytes| of_file(path, bytes, config)));
        before.extend(former.into_iter().flat_map(|bytes| of_file(path, bytes, config)));
    }
    now.symmetric_difference(&before).cloned().collect()
}

fn of_file(path: &str, bytes: &[u8], config: &Config) -> Vec<Relabelled> {
    let environment = config.environment_of(path).and_then(|index| config.environments.get(index));
    let Some((environment, text)) = environment.filter(|_| !config.is_output(path)).zip(std::str::from_utf8(bytes).ok()) else {
        return Vec::new();
    };
    let namespace = environment.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let may_be = |text: &str| linked_kinds().any(|kind| text.contains(kind));
    let documents = yaml::split(text).unwrap_or_default();
    let read = documents.iter().filter(|raw| may_be(raw.text)).filter_map(|raw| yaml::read(raw).ok().flatten());
    let sources = read.flat_map(|document| lists::sources(document, path, namespace));
    let relabelled = |source: Source| {
        let labels = labels(&source)?.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
        Some(Relabelled { environment: environment.name.clone(), object: source.object, labels })
    };
    sources.filter_map(relabelled).collect()
}

fn labels(source: &Source) -> Option<Map<String, Value>> {
    let kind = source.object.kind.as_str();
    if kind == SERVICE {
        return source.manifest.at("/spec/selector").and_then(Value::as_object).cloned();
    }
    pod_labels(&source.manifest).cloned()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::of_files;
    use crate::config::Config;

    const BLUE: &str = "kind: Pod\napiVersion: v1\nmetadata: {name: a, labels: {app: shop, color: blue}}\n";

    #[track_caller]
    fn case(now: &[(&str, &str)], before: &[(&str, &str)], expected: usize) {
        let now = now.iter().map(|(path, text)| (*path, Some(text.as_bytes()), None));
        let before = before.iter().map(|(path, text)| (*path, None, Some(text.as_bytes())));
        assert_eq!(of_files(now.chain(before), &Config::default()).len(), expected);
    }

    #[test]
    fn an_object_counts_when_one_side_has_other_labels() {
        case(&[("a.yaml", BLUE)], &[], 1);
        case(&[("a.yaml", BLUE)], &[("a.yaml", &BLUE.replace("blue", "green"))], 2);
        case(&[("a.yaml", BLUE)], &[("b.yaml", BLUE)], 0);
        case(&[("a.yaml", BLUE)], &[("a.yaml", &BLUE.replace("metadata:", "spec: {a: 1}\nmetadata:"))], 0);
        case(&[("rollouts/a.yaml", BLUE)], &[], 0);
    }

    #[test]
    fn a_service_counts_by_its_selector() {
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: shop}}\n";
        case(&[("a.yaml", service)], &[("a.yaml", &service.replace("shop", "web"))], 2);
        case(&[("a.yaml", service)], &[("a.yaml", &service.replace("spec: {", "spec: {type: NodePort, "))], 0);
    }
}
