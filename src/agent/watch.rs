//! Watches, as metadata only: they tell that something has changed, not what.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{Api, ApiResource};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use tokio::sync::mpsc::Sender;

use super::glimpse::Glimpse;
use super::hand_back::FINALIZER;
use super::served::Resource;
use crate::model::REQUEST_ANNOTATION;

/// How many objects one answer lists: as much is held at once when the agent starts.
const PAGE: u32 = 20;

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// All objects that exist are told from the beginning.
    Begins,
    /// An object is there, or has changed.
    There(Box<Sighting>),
    /// An object is gone.
    Gone(Box<Sighting>),
    /// All objects that exist were told once.
    All,
    /// They may not be listed or watched.
    Refused,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sighting {
    /// Its namespace.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
    /// The names by which plans know it: its own, its owners', and that of the Service whose endpoints it holds.
    pub(super) names: BTreeSet<String>,
    /// A digest of what of a plan concerns us: another value means that it has to be looked at.
    pub(super) mark: u64,
    /// Whether it is a plan in mid-release.
    pub(super) is_running: bool,
    /// Whether it is a plan that is being deleted, or carries a request to abort.
    pub(super) is_urgent: bool,
    /// Its resource version.
    pub(super) version: String,
}

/// Watches a resource, in one namespace or in all, and tells what it sees until nobody listens.
pub(super) async fn watch<T: Send + 'static>(
    client: kube::Client,
    resource: Resource,
    namespace: Option<String>,
    tell: impl Fn(Seen) -> T,
    sender: Sender<T>,
) {
    let (group, version) = resource.api_version.split_once('/').unwrap_or(("", &resource.api_version));
    let of = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        plural: resource.plural.clone(),
    };
    let api: Api<Glimpse> = match &namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &of),
        None => Api::all_with(client, &of),
    };
    let config = watcher::Config::default().page_size(PAGE);
    let patience = Patience::default();
    let works = Arc::clone(&patience.works);
    let mut stream = std::pin::pin!(watcher::watcher(api, config).backoff(patience));
    let mut is_refused = false;
    while let Some(event) = stream.next().await {
        let has_told = !matches!(event, Err(_) | Ok(Event::Init));
        works.fetch_or(has_told, Ordering::Relaxed);
        is_refused &= !has_told;
        let seen = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => Seen::There(Box::new(sighting(object))),
            Ok(Event::Delete(object)) => Seen::Gone(Box::new(sighting(object))),
            Ok(Event::InitDone) => Seen::All,
            Ok(Event::Init) => Seen::Begins,
            Err(error) if is_refusal(&error) => {
                if !std::mem::replace(&mut is_refused, true) {
                    tracing::warn!(error = super::api::chain(&error), kind = resource.kind, namespace, "may not be watched");
                }
                Seen::Refused
            }
            Err(error) => {
                tracing::debug!(error = super::api::chain(&error), kind = resource.kind, namespace, "watched again");
                continue;
            }
        };
        if sender.send(tell(seen)).await.is_err() {
            return;
        }
    }
}

/// Whether somebody has to grant a right first.
fn is_refusal(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchError, WatchStartFailed};

    let (InitialListFailed(kube::Error::Api(status)) | WatchStartFailed(kube::Error::Api(status)) | WatchError(status)) = error else {
        return false;
    };
    matches!(status.code, 401 | 403)
}

/// How long a watch that failed waits: twice as long each time, up to some seconds, until it has told something. That it
/// begins to list is no sign: what may not be listed begins so each time.
#[derive(Debug, Default)]
struct Patience {
    failed: u32,
    works: Arc<AtomicBool>,
}

impl Iterator for Patience {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failed = if self.works.swap(false, Ordering::Relaxed) { 1 } else { (self.failed + 1).min(6) };
        Some(Duration::from_millis(125) * 2_u32.pow(self.failed))
    }
}

impl Backoff for Patience {
    fn reset(&mut self) {}
}

fn sighting(object: Glimpse) -> Sighting {
    let metadata = object.metadata;
    let name = metadata.name.unwrap_or_default();
    let owners = metadata.owner_references.unwrap_or_default().into_iter().map(|owner| owner.name);
    let service = metadata.labels.unwrap_or_default().remove("kubernetes.io/service-name");
    let mut marked = DefaultHasher::new();
    (&metadata.uid, metadata.generation, metadata.deletion_timestamp.is_some()).hash(&mut marked);
    let annotations = metadata.annotations.unwrap_or_default();
    let asks_to_abort = annotations.get(REQUEST_ANNOTATION).is_some_and(|request| request.contains("\"abort\""));
    for ours in annotations.iter().filter(|(key, _)| key.starts_with("rollout.dev/")) {
        ours.hash(&mut marked);
    }
    Sighting {
        namespace: metadata.namespace.unwrap_or_default(),
        names: owners.chain(service).chain([name.clone()]).collect(),
        name,
        mark: marked.finish(),
        is_running: metadata.finalizers.unwrap_or_default().iter().any(|finalizer| finalizer == FINALIZER),
        is_urgent: asks_to_abort || metadata.deletion_timestamp.is_some(),
        version: metadata.resource_version.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use kube::runtime::utils::Backoff as _;

    use super::Patience;

    #[test]
    fn a_watch_that_never_told_anything_is_tried_ever_more_rarely() {
        let mut patience = Patience::default();
        let mut next = || {
            // The stream says so whenever it begins to list.
            patience.reset();
            patience.next().unwrap().as_millis()
        };
        assert_eq!([next(), next(), next()], [250, 500, 1000]);
        assert_eq!([next(), next(), next(), next()], [2000, 4000, 8000, 8000]);
        patience.works.store(true, Ordering::Relaxed);
        assert_eq!(patience.next().unwrap().as_millis(), 250);
    }
}
