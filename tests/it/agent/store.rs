//! What the fake API server holds, and how it changes: generations, resource versions, finalizers, managers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::controllers;

/// The kinds that are served.
pub(super) const KINDS: &[(&str, &str, &str)] = &[
    ("v1", "Service", "services"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "ReplicaSet", "replicasets"),
    ("apps/v1", "ControllerRevision", "controllerrevisions"),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    ("events.k8s.io/v1", "Event", "events"),
    ("coordination.k8s.io/v1", "Lease", "leases"),
    ("networking.istio.io/v1", "VirtualService", "virtualservices"),
    ("rollouts.kruise.io/v1beta1", "Rollout", "rollouts"),
    ("rollout.dev/v1alpha1", "RolloutPlan", "rolloutplans"),
];

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) details: Value,
}

pub(super) fn refusal(status: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { status, reason, message: message.into(), details: json!({}) }
}

/// Collection and name.
pub(super) type Key = (String, String);

/// One change, for watches.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) kind: &'static str,
    pub(super) key: Key,
    pub(super) object: Value,
}

/// A request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) is_dry_run: bool,
}

/// An answer that is given instead of the right one, so many times.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) status: u16,
    pub(super) times: usize,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    version: u64,
    pub(super) objects: BTreeMap<Key, Value>,
    pub(super) changes: Vec<Change>,
    pub(super) requests: Vec<Request>,
    pub(super) faults: Vec<Fault>,
    /// Kinds that are not served.
    pub(super) unserved: BTreeSet<&'static str>,
    /// `verb resource` that the agent may not do.
    pub(super) forbidden: BTreeSet<&'static str>,
    /// Whether the rules of a namespace are not known as a whole.
    pub(super) has_other_rules: bool,
    /// Parts of paths whose writes get no answer, as behind a webhook that has gone.
    pub(super) hanging: BTreeSet<&'static str>,
    /// Names of Deployments whose pods never get ready.
    pub(super) unready: BTreeSet<&'static str>,
    /// Names of Deployments of which one pod of the revision before is still there.
    pub(super) surging: BTreeSet<&'static str>,
    /// Services that do not learn of any change of the pods.
    pub(super) lagging: BTreeSet<&'static str>,
    /// Names of Deployments whose revision has another hash than its template, as after a collision.
    pub(super) collided: BTreeSet<&'static str>,
    /// What a policy says to every event.
    pub(super) refused_events: Option<&'static str>,
    /// Part of the address of objects to whose templates a webhook adds another value with each write.
    pub(super) mutated: Option<&'static str>,
    /// Whether the namespace is being deleted.
    pub(super) is_terminating: bool,
}

impl Store {
    /// Notes a write that gets no answer.
    pub(super) fn hangs(&mut self, method: &hyper::Method, path: &str) -> bool {
        let hangs = self.hanging.iter().any(|part| path.contains(part));
        if hangs {
            self.requests.push(Request { method: method.to_string(), path: path.to_owned(), is_dry_run: false });
        }
        hangs
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    pub(super) fn create(&mut self, collection: &str, mut object: Value, manager: &str, is_dry_run: bool) -> Result<Value, Refusal> {
        if object["metadata"]["name"].is_null() {
            let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default().to_owned();
            if prefix.trim_end_matches('-').ends_with(|last: char| !last.is_ascii_alphanumeric()) || prefix.is_empty() {
                return Err(refusal(422, "Invalid", format!("metadata.generateName: Invalid value: {prefix:?}")));
            }
            object["metadata"]["name"] = json!(format!("{prefix}{}", self.version + 1));
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if self.is_terminating {
            let message = format!("unable to create new content in namespace prod because it is being terminated: {name}");
            let causes = json!([{"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}]);
            return Err(Refusal { details: json!({"causes": causes}), ..refusal(403, "Forbidden", message) });
        }
        if let Some(message) = self.refused_events.filter(|_| collection.ends_with("/events")) {
            return Err(refusal(403, "Forbidden", message));
        }
        let key = (collection.to_owned(), name);
        if self.objects.contains_key(&key) {
            return Err(refusal(409, "AlreadyExists", format!("{} exists", key.1)));
        }
        if let Some(namespace) = collection.split("/namespaces/").nth(1).and_then(|rest| rest.split('/').next()) {
            object["metadata"]["namespace"] = json!(namespace);
        }
        if collection.ends_with("/rolloutplans") || collection.ends_with("/rollouts") {
            object.as_object_mut().unwrap().remove("status");
        }
        if collection.ends_with("/rolloutplans") || collection.ends_with("/rollouts") {
            // The definitions' default.
            object["status"] = json!({"observedGeneration": -1});
        }
        object["metadata"]["uid"] = json!(format!("uid-{}", self.version + 1));
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["managedFields"] = json!([{"manager": manager, "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}}]);
        if is_dry_run {
            return Ok(object);
        }
        Ok(self.put("ADDED", key, object))
    }

    /// Changes an object by `change`, as an update of the object or of one of its subresources.
    pub(super) fn update(
        &mut self,
        key: &Key,
        subresource: Option<&str>,
        manager: &str,
        is_dry_run: bool,
        change: impl FnOnce(&mut Value) -> Result<(), Refusal>,
    ) -> Result<Value, Refusal> {
        let before = self.objects.get(key).cloned().ok_or_else(|| refusal(404, "NotFound", format!("{} not found", key.1)))?;
        let mut object = before.clone();
        change(&mut object)?;
        if subresource.is_none() && self.mutated.is_some_and(|address| format!("{}/{}", key.0, key.1).contains(address)) {
            object["spec"]["template"]["metadata"]["annotations"] = json!({"webhook": self.requests.len().to_string()});
        }
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        if version(&object) != version(&before) && version(&object) != Value::Null {
            return Err(refusal(409, "Conflict", format!("{} has been modified", key.1)));
        }
        object["metadata"]["resourceVersion"] = version(&before);
        match subresource {
            Some(part) => {
                let changed = object[part].clone();
                object = before.clone();
                object[part] = changed;
            }
            None => {
                let has_subresource = key.0.ends_with("/rolloutplans") || key.0.ends_with("/rollouts") || key.0.ends_with("/deployments");
                if has_subresource {
                    match before.get("status") {
                        Some(status) => object["status"] = status.clone(),
                        None => {
                            object.as_object_mut().unwrap().remove("status");
                        }
                    }
                }
            }
        }
        if object["spec"] != before["spec"] {
            object["metadata"]["generation"] = json!(before["metadata"]["generation"].as_i64().unwrap_or(1) + 1);
        }
        if object == before {
            return Ok(before);
        }
        let fields_changed = object["metadata"]["managedFields"] == before["metadata"]["managedFields"];
        if fields_changed && subresource.is_none() {
            note_manager(&mut object, manager);
        }
        if is_dry_run {
            return Ok(object);
        }
        let is_going = object["metadata"]["deletionTimestamp"].is_string();
        let is_held = object["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty());
        if is_going && !is_held {
            return Ok(self.take(key, object));
        }
        Ok(self.put("MODIFIED", key.clone(), object))
    }

    pub(super) fn delete(&mut self, key: &Key, uid: Option<&str>) -> Result<Value, Refusal> {
        let mut object = self.objects.get(key).cloned().ok_or_else(|| refusal(404, "NotFound", format!("{} not found", key.1)))?;
        if uid.is_some_and(|uid| object["metadata"]["uid"] != uid) {
            return Err(refusal(409, "Conflict", "the UID in the precondition does not match"));
        }
        if object["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty()) {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            return Ok(self.put("MODIFIED", key.clone(), object));
        }
        Ok(self.take(key, object))
    }

    /// Holds these objects and nothing else, as they were.
    pub(super) fn restore(&mut self, objects: BTreeMap<Key, Value>) {
        let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
        self.version = objects.values().filter_map(version).max().unwrap_or_default().max(self.version);
        self.objects = objects;
        self.changes.clear();
        controllers::follow(self);
    }

    fn take(&mut self, key: &Key, mut object: Value) -> Value {
        self.objects.remove(key);
        self.stamp(&mut object);
        self.changes.push(Change { version: self.version, kind: "DELETED", key: key.clone(), object: object.clone() });
        controllers::follow(self);
        object
    }

    /// Writes an object and lets the controllers follow, unless it is theirs.
    fn put(&mut self, kind: &'static str, key: Key, mut object: Value) -> Value {
        self.stamp(&mut object);
        self.objects.insert(key.clone(), object.clone());
        self.changes.push(Change { version: self.version, kind, key: key.clone(), object: object.clone() });
        controllers::follow(self);
        self.objects.get(&key).cloned().unwrap_or(object)
    }

    /// Writes an object as a controller does: nothing follows from it.
    pub(super) fn put_quietly(&mut self, key: Key, mut object: Value) {
        let before = self.objects.get(&key);
        if let Some(before) = before {
            object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
            if *before == object {
                return;
            }
        }
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        self.stamp(&mut object);
        self.objects.insert(key.clone(), object.clone());
        self.changes.push(Change { version: self.version, kind, key, object });
    }

    pub(super) fn take_quietly(&mut self, key: &Key) {
        if let Some(mut object) = self.objects.remove(key) {
            self.stamp(&mut object);
            self.changes.push(Change { version: self.version, kind: "DELETED", key: key.clone(), object });
        }
    }

    fn stamp(&mut self, object: &mut Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }
}

/// Everybody's entry says only that they have written.
fn note_manager(object: &mut Value, manager: &str) {
    let entry = json!({"manager": manager, "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}}});
    let mut entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.retain(|entry| entry["manager"] != manager && entry.as_object().is_some_and(|entry| !entry.is_empty()));
    entries.push(entry);
    object["metadata"]["managedFields"] = Value::Array(entries);
}
