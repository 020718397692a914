//! The objects of one namespace as they were at a moment.

use std::collections::BTreeMap;

use serde_json::Value;

/// An object as it was from a revision of the store on.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The store's revision: one order for all kinds.
    pub(crate) revision: u64,
    /// When it was seen, in milliseconds from the start of the recording.
    pub(crate) millis: u64,
    /// The kind.
    pub(crate) kind: String,
    /// The name.
    pub(crate) name: String,
    /// The object; none: it was deleted.
    pub(crate) object: Option<Value>,
}

/// All objects at a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    objects: BTreeMap<String, BTreeMap<String, Value>>,
    /// Pods that are gone; an endpoint may name them a moment longer.
    former_pods: BTreeMap<String, Value>,
}

impl View {
    /// Takes a change in.
    pub(crate) fn take(&mut self, event: &Event) {
        let kind = self.objects.entry(event.kind.clone()).or_default();
        match &event.object {
            Some(object) => {
                kind.insert(event.name.clone(), object.clone());
            }
            None => {
                if let (Some(pod), "Pod") = (kind.remove(&event.name), event.kind.as_str()) {
                    self.former_pods.insert(event.name.clone(), pod);
                }
            }
        }
    }

    /// Returns an object.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(kind)?.get(name)
    }

    /// Returns all objects of a kind, by name.
    pub(crate) fn all(&self, kind: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.get(kind).into_iter().flatten()
    }

    /// Returns a pod, also one that is gone.
    pub(crate) fn pod(&self, name: &str) -> Option<&Value> {
        self.get("Pod", name).or_else(|| self.former_pods.get(name))
    }
}
