//! The objects of an environment that are connected to a release by labels or names, found without looking at all of them.
//!
//! The index is built on first use: commands that render nothing never need it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::{LabelSet, ObjectRef, Source, Stored};

/// What a release meets although its Rollout does not name it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbors {
    /// Other workloads whose pods the stable Service selects.
    pub workloads: Vec<Arc<Source>>,
    /// Other Services that select pods of the workload.
    pub services: Vec<Arc<Source>>,
    /// Routes to the stable Service.
    pub routes: Vec<Arc<Source>>,
    /// The PersistentVolumeClaims that the workload's pods use.
    pub claims: Vec<Arc<Source>>,
}

/// Finds objects of an environment by labels and by names.
#[derive(Clone, Default)]
pub struct NeighborIndex(Option<Arc<LazyLock<Index, Build>>>);

/// Builds the index.
type Build = Box<dyn FnOnce() -> Index + Send>;

impl NeighborIndex {
    /// The index of the objects that `read` returns, called once, on first use.
    pub fn new(read: impl FnOnce() -> Vec<Arc<Stored>> + Send + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(|| Index::of(read()))))))
    }

    /// The workloads with pods that a Service with this selector selects, sorted by object.
    pub fn workloads(&self, namespace: &str, selector: &LabelSet) -> Vec<Arc<Stored>> {
        let Some(index) = self.index() else { return Vec::new() };
        // All pods that are selected have each of the labels: those with the rarest are the fewest to look at.
        let with = selector.iter().map(|label| index.workloads.get(&key(namespace, label)).map(Vec::as_slice).unwrap_or_default());
        let fewest = with.min_by_key(|workloads| workloads.len()).unwrap_or_default();
        let is_selected = |workload: &&Arc<Stored>| workload.links.pods.as_ref().is_some_and(|pods| selector.selects(pods));
        sorted(fewest.iter().filter(is_selected))
    }

    /// The Services that select pods with these labels, sorted by object.
    pub fn services(&self, namespace: &str, pods: &LabelSet) -> Vec<Arc<Stored>> {
        let Some(index) = self.index() else { return Vec::new() };
        let candidates = pods.iter().filter_map(|label| index.services.get(&key(namespace, label))).flatten();
        sorted(candidates.filter(|service| service.links.selector.as_ref().is_some_and(|selector| selector.selects(pods))))
    }

    /// The routes that lead to a Service, sorted by object.
    pub fn routes(&self, service: &ObjectRef) -> Vec<Arc<Stored>> {
        let found = self.index().and_then(|index| index.routes.get(&(service.namespace.clone(), service.name.clone())));
        sorted(found.into_iter().flatten())
    }

    /// The PersistentVolumeClaims of a name.
    pub fn claims(&self, namespace: &str, name: &str) -> Vec<Arc<Stored>> {
        let found = self.index().and_then(|index| index.claims.get(&(namespace.to_owned(), name.to_owned())));
        sorted(found.into_iter().flatten())
    }

    fn index(&self) -> Option<&Index> {
        self.0.as_ref().map(|index| &***index)
    }
}

impl fmt::Debug for NeighborIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NeighborIndex")
    }
}

/// Namespace, key and value of a label.
type LabelKey = (String, String, String);

/// Namespace and name.
type Name = (String, String);

struct Index {
    /// Workloads, by each label of their pods.
    workloads: BTreeMap<LabelKey, Vec<Arc<Stored>>>,
    /// Services, by the label of their selector that the fewest selectors have.
    services: BTreeMap<LabelKey, Vec<Arc<Stored>>>,
    /// Routes, by each Service that they lead to.
    routes: BTreeMap<Name, Vec<Arc<Stored>>>,
    claims: BTreeMap<Name, Vec<Arc<Stored>>>,
}

impl Index {
    fn of(objects: Vec<Arc<Stored>>) -> Self {
        let mut index = Self { workloads: BTreeMap::new(), services: BTreeMap::new(), routes: BTreeMap::new(), claims: BTreeMap::new() };
        let mut selectors: BTreeMap<LabelKey, usize> = BTreeMap::new();
        for object in &objects {
            for label in object.links.selector.iter().flat_map(LabelSet::iter) {
                *selectors.entry(key(&object.object.namespace, label)).or_default() += 1;
            }
        }
        for object in objects {
            let namespace = &object.object.namespace;
            for label in object.links.pods.iter().flat_map(LabelSet::iter) {
                index.workloads.entry(key(namespace, label)).or_default().push(Arc::clone(&object));
            }
            let labels = object.links.selector.iter().flat_map(LabelSet::iter).map(|label| key(namespace, label));
            if let Some(rarest) = labels.min_by_key(|label| selectors.get(label).copied().unwrap_or_default()) {
                index.services.entry(rarest).or_default().push(Arc::clone(&object));
            }
            for backend in &object.links.backends {
                index.routes.entry(backend.clone()).or_default().push(Arc::clone(&object));
            }
            if object.object.group.is_empty() && object.object.kind == "PersistentVolumeClaim" {
                index.claims.entry((namespace.clone(), object.object.name.clone())).or_default().push(object);
            }
        }
        index
    }
}

fn key(namespace: &str, (key, value): (&str, &str)) -> LabelKey {
    (namespace.to_owned(), key.to_owned(), value.to_owned())
}

/// The objects in their order, each name once: of several files that hold one, the first.
fn sorted<'a>(found: impl Iterator<Item = &'a Arc<Stored>>) -> Vec<Arc<Stored>> {
    let mut found: Vec<_> = found.cloned().collect();
    found.sort_by(|one, other| (&one.object, &one.path).cmp(&(&other.object, &other.path)));
    let mut known = BTreeSet::new();
    found.retain(|object| known.insert(object.object.clone()));
    found
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of `json!` read better without `&`")]

    use serde_json::{Value, json};

    use super::*;
    use crate::model::{Manifest, Places};

    fn stored(api_version: &str, kind: &str, name: &str, spec: Value) -> Arc<Stored> {
        let value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        let manifest = Manifest::try_from(value).unwrap();
        let object = manifest.object_ref("prod");
        Arc::new(Stored::new(Source { manifest, object, path: "a.yaml".into(), places: Places::default(), remarks: Vec::new() }))
    }

    fn index() -> NeighborIndex {
        let workload =
            |name: &str, labels: Value| stored("apps/v1", "Deployment", name, json!({"template": {"metadata": {"labels": labels}}}));
        let service = |name: &str, selector: Value| stored("v1", "Service", name, json!({"selector": selector}));
        NeighborIndex::new(move || {
            vec![
                workload("shop", json!({"app": "shop", "tier": "front"})),
                workload("cart", json!({"app": "cart", "tier": "front"})),
                service("shop", json!({"app": "shop"})),
                service("front", json!({"tier": "front"})),
                service("cart", json!({"app": "cart", "tier": "front"})),
                stored("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", json!({"rules": [{"backendRefs": [{"name": "shop"}]}]})),
                stored("v1", "PersistentVolumeClaim", "data", json!({})),
            ]
        })
    }

    fn names(found: &[Arc<Stored>]) -> Vec<&str> {
        found.iter().map(|stored| stored.object.name.as_str()).collect()
    }

    fn labels(value: &Value) -> LabelSet {
        LabelSet::of(value.as_object().unwrap())
    }

    #[test]
    fn objects_are_found_by_labels_and_names() {
        let index = index();
        assert_eq!(names(&index.workloads("prod", &labels(&json!({"tier": "front"})))), ["cart", "shop"]);
        assert_eq!(names(&index.workloads("prod", &labels(&json!({"tier": "front", "app": "shop"})))), ["shop"]);
        assert_eq!(names(&index.services("prod", &labels(&json!({"tier": "front", "app": "shop"})))), ["front", "shop"]);
        let service = ObjectRef::new("v1", "Service", "prod", "shop");
        assert_eq!(names(&index.routes(&service)), ["shop"]);
        assert_eq!(names(&index.claims("prod", "data")), ["data"]);
    }

    #[test]
    fn other_namespaces_are_not_looked_at() {
        let index = index();
        assert!(index.workloads("test", &labels(&json!({"tier": "front"}))).is_empty());
        assert!(index.services("test", &labels(&json!({"app": "shop"}))).is_empty());
        assert!(index.routes(&ObjectRef::new("v1", "Service", "test", "shop")).is_empty());
        assert!(index.claims("test", "data").is_empty());
    }
}
