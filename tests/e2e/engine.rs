//! A second writer: what Flux and Argo CD do to the objects of a repository, as far as a release notices.
//!
//! Both server-side apply what git says, under their own name and forced, wherever the live object differs. Flux looks in
//! intervals; Argo CD, with self-healing, almost at once. Both leave alone the paths that their settings name, by applying
//! what is live there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{At, Cluster, Patch};
use crate::player::split;
use crate::world::World;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// kustomize-controller.
    Flux,
    /// Argo CD's application controller, with `selfHeal`.
    Argo,
}

/// Paths of an object that are left alone.
type Ignored = (String, String, Vec<String>);

/// A running engine; it ends with the value.
pub(crate) struct Engine {
    manifests: Arc<Mutex<Vec<Value>>>,
    writes: Arc<AtomicUsize>,
    trouble: Arc<Mutex<Option<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sort {
    /// The name under which it writes.
    pub(crate) fn manager(self) -> &'static str {
        match self {
            Self::Flux => "kustomize-controller",
            Self::Argo => "argocd-controller",
        }
    }

    fn pause(self) -> Duration {
        match self {
            Self::Flux => Duration::from_secs(2),
            Self::Argo => Duration::from_millis(400),
        }
    }
}

impl Engine {
    /// Syncs these manifests from now on; leaves alone what the plan changes, when a plan is given.
    pub(crate) fn start(world: &World<'_>, sort: Sort, manifests: Vec<Value>, settings: Option<&Value>) -> Result<Self, String> {
        let ignored: Vec<Ignored> = settings.map(ignored).unwrap_or_default();
        let cluster = world.plane.admin(sort.manager())?;
        let manifests = Arc::new(Mutex::new(manifests));
        let (writes, trouble, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (manifests, writes, trouble, stop) = (Arc::clone(&manifests), Arc::clone(&writes), Arc::clone(&trouble), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let now = manifests.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    for manifest in &now {
                        match sync(&cluster, manifest, &ignored) {
                            Ok(true) => {
                                writes.fetch_add(1, Ordering::Relaxed);
                            }
                            Ok(false) => {}
                            Err(error) => *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
                        }
                    }
                    thread::sleep(sort.pause());
                }
            }
        });
        Ok(Self { manifests, writes, trouble, stop, thread: Some(thread) })
    }

    /// A commit: these manifests from now on.
    pub(crate) fn commit(&self, manifests: Vec<Value>) {
        *self.manifests.lock().unwrap_or_else(PoisonError::into_inner) = manifests;
    }

    /// How often it has written.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Fails when an apply was refused.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The settings that keep an engine off a plan's paths. Objects that only the plan makes are in no repository.
fn ignored(plan: &Value) -> Vec<Ignored> {
    let mut ignored = Vec::new();
    for entry in plan["spec"]["paths"].as_array().into_iter().flatten() {
        let (kind, name) = split(entry["object"].as_str().unwrap_or_default());
        let paths = entry["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        ignored.push((kind.to_owned(), name.to_owned(), paths.filter(|path| !path.is_empty()).collect()));
    }
    ignored
}

/// Applies a manifest where it would change something; true when it was written.
fn sync(cluster: &Cluster, manifest: &Value, ignored: &[Ignored]) -> Result<bool, String> {
    let (kind, name) = (manifest["kind"].as_str().unwrap_or_default(), manifest["metadata"]["name"].as_str().unwrap_or_default());
    let at = At { kind, namespace: manifest["metadata"]["namespace"].as_str().unwrap_or_default(), name };
    let Some(live) = cluster.get(at)? else {
        return cluster.apply(manifest).map(|_| true);
    };
    let mut wanted = manifest.clone();
    // Asked for in the version in which the live object was read.
    wanted["apiVersion"] = live["apiVersion"].clone();
    for (_, _, paths) in ignored.iter().filter(|(own, of, _)| own == kind && of == name) {
        for path in paths {
            put(&mut wanted, path, live.pointer(path).cloned());
        }
    }
    let would = cluster.try_patch(at, Patch::Apply, &wanted)?;
    if essence(&would) == essence(&live) {
        return Ok(false);
    }
    cluster.apply(&wanted).map(|_| true)
}

/// What an engine compares.
fn essence(object: &Value) -> Value {
    json!({"spec": object["spec"], "labels": object["metadata"]["labels"], "annotations": object["metadata"]["annotations"]})
}

/// Puts a value where a pointer says, or takes it away.
fn put(object: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        match value {
            Some(value) => parent.insert(last, value),
            None => parent.remove(&last),
        };
    }
}
