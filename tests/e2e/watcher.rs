//! Watches one namespace: every change of every object that decides about traffic for the recorder, or of any other kinds.

use std::path::Path;
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
use serde_json::Value;

use crate::cluster::{client, folder_of, runtime};
use crate::recorder::Event;

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
    events: Arc<Mutex<Vec<Event>>>,
    stop: Arc<AtomicBool>,
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
        let events = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, listed) = channel();
        let thread = thread::spawn({
            let (events, stop) = (Arc::clone(&events), Arc::clone(&stop));
            let (kubeconfig, namespace) = (kubeconfig.to_owned(), namespace.to_owned());
            move || {
                let Ok(runtime) = runtime() else { return };
                runtime.block_on(async {
                    let Ok(client) = client(&kubeconfig).await else { return };
                    let begin = Instant::now();
                    let kinds = watched.iter().map(|kind| follow(&client, kind, &namespace, &events, begin, ready.clone()));
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
        Ok(Self { events, stop, thread: Some(thread), start })
    }

    /// Returns what was seen up to now.
    pub(crate) fn events(&self) -> Vec<Event> {
        // What was written before this call is on its way.
        thread::sleep(Duration::from_millis(700));
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
async fn follow(client: &Client, kind: &str, namespace: &str, events: &Mutex<Vec<Event>>, begin: Instant, ready: Sender<u64>) {
    let folder = folder_of(kind, namespace);
    let note = |object: Value, is_gone: bool| -> u64 {
        let revision = revision_of(&object);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let event = Event { revision, millis, kind: kind.to_owned(), name, object: (!is_gone).then_some(object) };
        events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
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
    loop {
        let path = format!("{folder}?watch=1&resourceVersion={revision}&allowWatchBookmarks=true&timeoutSeconds=3600");
        let Ok(request) = Request::get(path).body(Vec::new()) else { return };
        if let Ok(stream) = client.request_events::<Value>(request).await {
            let mut stream = pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => revision = note(object, false),
                    WatchEvent::Deleted(object) => revision = note(object, true),
                    WatchEvent::Bookmark(bookmark) => revision = bookmark.metadata.resource_version.parse().unwrap_or(revision),
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

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}
