//! Watches one namespace: every change of every object that decides about traffic for the recorder, or of any other kinds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use hyper::http::Request;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::{Value, json};

use crate::cluster::{client, folder_of, runtime};
use crate::recorder::Event;
use crate::world::PATIENCE;

/// What the recorder watches.
const KINDS: &[&str] = &[
    "ConfigMap",
    "Deployment",
    "DestinationRule",
    "EndpointSlice",
    "HTTPRoute",
    "Ingress",
    "Pod",
    "ReplicaSet",
    "Rollout",
    "RolloutPlan",
    "Service",
    "TrafficSplit",
    "VirtualService",
];

/// A running recording of a namespace.
pub(crate) struct Watcher {
    seen: Arc<Mutex<Seen>>,
    watched: &'static [&'static str],
    kubeconfig: PathBuf,
    namespace: String,
    stop: Arc<AtomicBool>,
    tolerates_gaps: AtomicBool,
    thread: Option<JoinHandle<()>>,
    /// The first revision at which everything was known.
    pub(crate) start: u64,
}

impl Watcher {
    /// Starts watching what the recorder needs; returns once the present state is known.
    pub(crate) fn start(kubeconfig: &Path, namespace: &str) -> Result<Self, String> {
        Self::of(KINDS, kubeconfig, namespace)
    }

    /// The same, of some kinds.
    pub(crate) fn of(watched: &'static [&'static str], kubeconfig: &Path, namespace: &str) -> Result<Self, String> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, listed) = channel();
        let thread = thread::spawn({
            let (seen, stop) = (Arc::clone(&seen), Arc::clone(&stop));
            let (kubeconfig, namespace) = (kubeconfig.to_owned(), namespace.to_owned());
            move || {
                let Ok(runtime) = runtime() else { return };
                runtime.block_on(async {
                    let Ok(client) = client(&kubeconfig).await else { return };
                    let begin = Instant::now();
                    let kinds = watched.iter().map(|kind| follow(&client, kind, &namespace, &seen, begin, ready.clone()));
                    let all = futures::future::join_all(kinds);
                    let ended = async {
                        while !stop.load(Ordering::Relaxed) {
                            tokio::time::sleep(Duration::from_millis(50)).await;
                        }
                    };
                    tokio::select! { _ = all => {}, () = ended => {} }
                });
            }
        });
        let mut start = 0;
        for _ in watched {
            let revision = listed
                .recv_timeout(Duration::from_secs(30))
                .map_err(|_| "the recorder could not list everything within 30 s".to_owned())?;
            start = start.max(revision);
        }
        Ok(Self {
            seen,
            watched,
            kubeconfig: kubeconfig.to_owned(),
            namespace: namespace.to_owned(),
            stop,
            tolerates_gaps: AtomicBool::new(false),
            thread: Some(thread),
            start,
        })
    }

    /// Returns what has happened up to now: every object that a list shows was seen as it is, and every other one was seen to go.
    pub(crate) fn events(&self) -> Result<Vec<Event>, String> {
        let runtime = runtime()?;
        let end = Instant::now() + PATIENCE;
        let mut lists = runtime.block_on(self.lists())?;
        loop {
            {
                let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(gap) = seen.gap.as_ref().filter(|_| !self.tolerates_gaps.load(Ordering::Relaxed)) {
                    return Err(format!("the recorder missed something: {gap}"));
                }
                lists.retain(|kind, list| !list.is_seen(kind, &seen.latest));
                if lists.is_empty() {
                    return Ok(seen.events.clone());
                }
            }
            if Instant::now() > end {
                let kinds: Vec<&str> = lists.into_keys().collect();
                return Err(format!("the recorder did not see what lists show of {} within {} s", kinds.join(", "), PATIENCE.as_secs()));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// From now on it is no error that events are missing: the API server that could tell them is stopped.
    pub(crate) fn tolerate_gaps(&self) {
        self.tolerates_gaps.store(true, Ordering::Relaxed);
    }

    async fn lists(&self) -> Result<BTreeMap<&'static str, Listed>, String> {
        let client = client(&self.kubeconfig).await?;
        let mut lists = BTreeMap::new();
        for kind in self.watched {
            let folder = folder_of(kind, &self.namespace);
            if let Some((revision, objects)) = list(&client, &folder).await.map_err(|()| format!("cannot list {kind}"))? {
                lists.insert(*kind, Listed::of(revision, &objects));
            }
        }
        Ok(lists)
    }
}

/// What a list shows.
struct Listed {
    revision: u64,
    /// The revision of each object, by name.
    objects: BTreeMap<String, u64>,
}

impl Listed {
    fn of(revision: u64, objects: &[Value]) -> Self {
        Self { revision, objects: objects.iter().map(|object| (name_of(object), revision_of(object))).collect() }
    }

    /// Whether all of it was seen, or something newer.
    fn is_seen(&self, kind: &str, latest: &BTreeMap<(String, String), Latest>) -> bool {
        let seen = |name: &String| latest.get(&(kind.to_owned(), name.clone()));
        self.objects.iter().all(|(name, revision)| seen(name).is_some_and(|latest| latest.revision >= *revision))
            && latest.iter().all(|((of, name), latest)| {
                of != kind || latest.is_gone || latest.revision > self.revision || self.objects.contains_key(name)
            })
    }
}

/// The last that was seen of an object.
struct Latest {
    revision: u64,
    is_gone: bool,
}

/// What was seen up to now.
#[derive(Default)]
struct Seen {
    events: Vec<Event>,
    latest: BTreeMap<(String, String), Latest>,
    /// Why events are missing.
    gap: Option<String>,
}

impl Seen {
    fn note(&mut self, event: Event) {
        let latest = Latest { revision: event.revision, is_gone: event.object.is_none() };
        self.latest.insert((event.kind.clone(), event.name.clone()), latest);
        self.events.push(event);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Lists, then watches a kind until it is dropped. A lost connection goes on where it broke off.
async fn follow(client: &Client, kind: &str, namespace: &str, seen: &Mutex<Seen>, begin: Instant, ready: Sender<u64>) {
    let folder = folder_of(kind, namespace);
    let note = |object: Value, is_gone: bool| -> u64 {
        let revision = revision_of(&object);
        let name = name_of(&object);
        let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = Event { revision, millis, kind: kind.to_owned(), name, object: (!is_gone).then_some(object) };
        seen.lock().unwrap_or_else(PoisonError::into_inner).note(event);
        revision
    };
    let mut revision = loop {
        match list(client, &folder).await {
            Ok(Some((revision, objects))) => {
                for object in objects {
                    note(object, false);
                }
                break revision;
            }
            Ok(None) => {
                // The kind is not served.
                let _ = ready.send(0);
                return;
            }
            Err(()) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let _ = ready.send(revision);
    let mut is_too_old = false;
    loop {
        if std::mem::take(&mut is_too_old)
            && let Ok(Some((now, objects))) = list(client, &folder).await
        {
            // What lay between cannot be had any more: it was nothing where everything is as it was seen last.
            let listed = Listed::of(now, &objects);
            let gone: Vec<String> = {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if !listed.is_seen(kind, &seen.latest) {
                    seen.gap = Some(format!("{kind} between the revisions {revision} and {now}"));
                }
                let known = seen.latest.iter().filter(|((of, _), latest)| of == kind && !latest.is_gone).map(|((_, name), _)| name);
                known.filter(|name| !listed.objects.contains_key(*name)).cloned().collect()
            };
            for object in objects {
                note(object, false);
            }
            for name in gone {
                note(json!({"metadata": {"name": name, "resourceVersion": now.to_string()}}), true);
            }
            revision = now;
        }
        let path = format!("{folder}?watch=1&resourceVersion={revision}&allowWatchBookmarks=true&timeoutSeconds=3600");
        let Ok(request) = Request::get(path).body(Vec::new()) else { return };
        if let Ok(stream) = client.request_events::<Value>(request).await {
            let mut stream = pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => revision = note(object, false),
                    WatchEvent::Deleted(object) => revision = note(object, true),
                    WatchEvent::Bookmark(bookmark) => revision = bookmark.metadata.resource_version.parse().unwrap_or(revision),
                    WatchEvent::Error(status) if status.code == 410 => {
                        is_too_old = true;
                        break;
                    }
                    WatchEvent::Error(_) => break,
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The list's revision and its objects; none when the kind is not served.
async fn list(client: &Client, folder: &str) -> Result<Option<(u64, Vec<Value>)>, ()> {
    let request = Request::get(folder).body(Vec::new()).map_err(|_| ())?;
    match client.request::<Value>(request).await {
        Ok(mut list) => {
            let revision = revision_of(&list);
            Ok(Some((revision, list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(_) => Err(()),
    }
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}
