//! How much of all plans is held in memory at the same time, by a limit for all and one for each namespace.
//!
//! A plan whose content does not fit waits outside, with nothing but its key. One that only waits leaves as soon as another wants in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How many bytes a plan takes for each byte of its JSON text: as values, as what is kept of its release, and while both are read.
const EACH: usize = 16;
/// KiB for the plans of one agent.
const ALL: usize = 48 * 1024;
/// KiB for the plans of one namespace, so that no tenant takes all.
const NAMESPACE: usize = ALL / 2;
/// KiB more for releases that go back.
const ABORTS: usize = 16 * 1024;

/// Room for the content of plans.
#[derive(Debug)]
pub(super) struct Room {
    all: Arc<Semaphore>,
    aborts: Arc<Semaphore>,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    outside: AtomicUsize,
    wanted: Notify,
}

/// What a plan takes of the room, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    bytes: usize,
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Place {
    /// Whether a plan with a text of that many bytes has room in here.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }
}

impl Default for Room {
    /// Empty.
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(ALL)),
            aborts: Arc::new(Semaphore::new(ABORTS)),
            namespaces: Mutex::default(),
            outside: AtomicUsize::new(0),
            wanted: Notify::new(),
        }
    }
}

impl Room {
    /// Waits until there is room for a plan with a text of that many bytes. A release that goes back waits only for others that do.
    pub(super) async fn enter(&self, namespace: &str, bytes: usize, goes_back: bool) -> Place {
        let of_namespace = self.of(namespace);
        let limits = if goes_back { vec![(&self.aborts, ABORTS)] } else { vec![(&of_namespace, NAMESPACE), (&self.all, ALL)] };
        let mut permits = Vec::new();
        for (limit, most) in limits {
            // The largest plans take all of it, and come in one by one.
            let wanted = u32::try_from((bytes * EACH).div_ceil(1024).min(most)).unwrap_or(u32::MAX);
            let permit = match Arc::clone(limit).try_acquire_many_owned(wanted) {
                Ok(permit) => Some(permit),
                Err(_) => self.wait_outside(limit, wanted).await,
            };
            permits.extend(permit);
        }
        Place { bytes, _permits: permits }
    }

    async fn wait_outside(&self, limit: &Arc<Semaphore>, wanted: u32) -> Option<OwnedSemaphorePermit> {
        let _outside = Outside::new(&self.outside);
        self.wanted.notify_waiters();
        // It is never closed.
        Arc::clone(limit).acquire_many_owned(wanted).await.ok()
    }

    /// Returns when somebody waits for room.
    pub(super) async fn is_wanted(&self) {
        let notified = self.wanted.notified();
        if self.outside.load(Ordering::Acquire) == 0 {
            notified.await;
        }
    }

    fn of(&self, namespace: &str) -> Arc<Semaphore> {
        let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        namespaces.retain(|_, limit| Arc::strong_count(limit) > 1 || limit.available_permits() < NAMESPACE);
        Arc::clone(namespaces.entry(namespace.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(NAMESPACE))))
    }
}

/// Counts one that waits, however that ends.
struct Outside<'a>(&'a AtomicUsize);

impl<'a> Outside<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::{ALL, EACH, NAMESPACE, Room};

    /// The text that fills a share of KiB.
    fn text(kibibytes: usize) -> usize {
        kibibytes * 1024 / EACH
    }

    fn enter(room: &Room, namespace: &str, kibibytes: usize) -> Option<super::Place> {
        room.enter(namespace, text(kibibytes), false).now_or_never()
    }

    #[test]
    fn one_namespace_does_not_take_all_the_room() {
        let room = Room::default();
        let first = enter(&room, "a", NAMESPACE).unwrap();
        assert!(enter(&room, "a", 16).is_none());
        let second = enter(&room, "b", 16).unwrap();
        assert!(enter(&room, "c", ALL - NAMESPACE).is_none(), "16 KiB too many");
        drop(second);
        assert!(enter(&room, "c", ALL - NAMESPACE).is_some());
        drop(first);
        assert!(enter(&room, "a", 10 * ALL).is_some(), "the largest come in one by one");
    }

    #[test]
    fn a_release_that_goes_back_has_room_when_all_is_taken() {
        let room = Room::default();
        let _full = [enter(&room, "a", NAMESPACE).unwrap(), enter(&room, "b", ALL - NAMESPACE).unwrap()];
        assert!(enter(&room, "c", 16).is_none());
        assert!(room.enter("a", text(16), true).now_or_never().is_some());
    }

    #[test]
    fn those_that_only_wait_hear_that_another_wants_in() {
        let room = Room::default();
        let full = enter(&room, "a", NAMESPACE).unwrap();
        assert!(room.is_wanted().now_or_never().is_none());
        let mut entering = Box::pin(room.enter("a", text(16), false));
        assert!(entering.as_mut().now_or_never().is_none());
        assert!(room.is_wanted().now_or_never().is_some());
        drop(full);
        assert!(entering.now_or_never().is_some());
        assert!(room.is_wanted().now_or_never().is_none());
    }
}
