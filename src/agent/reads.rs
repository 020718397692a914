//! What one plan has read of the cluster and need not read again: as long as a watch tells of each change, and otherwise for one pass.
//!
//! An answer that was overtaken by what a watch tells is not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// The objects and lists that a plan has read.
#[derive(Debug, Default)]
pub(super) struct Reads(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By address; `None`: there was no such object.
    objects: BTreeMap<String, Option<Value>>,
    /// By address with query.
    lists: BTreeMap<String, Vec<Value>>,
    /// The collections of which a watch tells every change.
    watched: BTreeSet<String>,
    /// What watches have told since a read began: the version by an object's address, and any by its collection's.
    told: BTreeMap<String, Option<String>>,
}

/// What a watch has told of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    /// Its collection's address.
    pub(super) collection: &'a str,
    /// Its address.
    pub(super) address: &'a str,
    /// Its resource version. `None`: it is gone.
    pub(super) version: Option<&'a str>,
}

impl Reads {
    /// What is known of the object at an address; within that, whether there is one.
    #[expect(clippy::option_option, reason = "that there is no such object is known, too")]
    pub(super) fn object(&self, address: &str) -> Option<Option<Value>> {
        self.kept().objects.get(address).cloned()
    }

    /// What is known of a list.
    pub(super) fn list(&self, target: &str) -> Option<Vec<Value>> {
        self.kept().lists.get(target).cloned()
    }

    /// An object or a list is about to be asked for, or written.
    pub(super) fn begins(&self, target: &str) {
        self.kept().told.remove(without_query(target));
    }

    /// Keeps the answer, unless a watch has told something newer meanwhile.
    pub(super) fn keep(&self, address: &str, object: Option<&Value>) {
        let mut kept = self.kept();
        if kept.told.get(address).is_some_and(|told| told.as_deref() != object.and_then(version)) {
            kept.objects.remove(address);
        } else {
            kept.objects.insert(address.to_owned(), object.cloned());
        }
    }

    /// Keeps a list, unless a watch has told of its collection meanwhile.
    pub(super) fn keep_list(&self, target: &str, list: &[Value]) {
        let mut kept = self.kept();
        if !kept.told.contains_key(without_query(target)) {
            kept.lists.insert(target.to_owned(), list.to_vec());
        }
    }

    /// What was read of an object may be wrong.
    pub(super) fn forget(&self, address: &str) {
        self.kept().objects.remove(address);
    }

    /// A watch has told of an object. Returns whether that is news.
    pub(super) fn tell(&self, change: Change<'_>) -> bool {
        let mut kept = self.kept();
        kept.lists.retain(|target, _| without_query(target) != change.collection);
        kept.told.insert(change.collection.to_owned(), None);
        if kept.objects.get(change.address).is_some_and(|known| known.as_ref().and_then(version) == change.version) {
            return false;
        }
        kept.objects.remove(change.address);
        kept.told.insert(change.address.to_owned(), change.version.map(str::to_owned));
        true
    }

    /// From now on a watch tells every change of a collection. What was read before may have changed unseen.
    pub(super) fn watched(&self, collection: &str) {
        let mut kept = self.kept();
        kept.forget_collection(collection);
        kept.told.insert(collection.to_owned(), None);
        kept.watched.insert(collection.to_owned());
    }

    /// No watch tells of a collection any more.
    pub(super) fn unwatched(&self, collection: &str) {
        self.kept().watched.remove(collection);
    }

    /// A pass begins: only what is watched is still known.
    pub(super) fn begin_pass(&self) {
        let kept = &mut *self.kept();
        kept.told.clear();
        let watched = &kept.watched;
        kept.objects.retain(|address, _| watched.contains(collection_of(address)));
        kept.lists.retain(|target, _| watched.contains(without_query(target)));
    }

    /// Nothing is known any more.
    pub(super) fn clear(&self) {
        let mut kept = self.kept();
        kept.objects.clear();
        kept.lists.clear();
        kept.told.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget_collection(&mut self, collection: &str) {
        self.objects.retain(|address, _| collection_of(address) != collection);
        self.lists.retain(|target, _| without_query(target) != collection);
    }
}

fn version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion")?.as_str()
}

fn collection_of(address: &str) -> &str {
    address.rsplit_once('/').map_or(address, |(collection, _)| collection)
}

fn without_query(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Change, Reads};

    const SETS: &str = "/apis/apps/v1/namespaces/prod/replicasets";
    const SHOP: &str = "/apis/apps/v1/namespaces/prod/replicasets/shop";
    const LIST: &str = "/apis/apps/v1/namespaces/prod/replicasets?labelSelector=app";

    fn object(version: &str) -> Value {
        json!({"metadata": {"resourceVersion": version}})
    }

    fn told(version: Option<&str>) -> Change<'_> {
        Change { collection: SETS, address: SHOP, version }
    }

    #[test]
    fn what_is_watched_is_known_beyond_a_pass_until_a_watch_tells_of_it() {
        let reads = Reads::default();
        reads.keep(SHOP, Some(&object("1")));
        reads.begin_pass();
        assert_eq!(reads.object(SHOP), None, "nobody watches it");
        reads.watched(SETS);
        reads.begins(SHOP);
        reads.keep(SHOP, Some(&object("1")));
        reads.begins(LIST);
        reads.keep_list(LIST, &[object("1")]);
        reads.begin_pass();
        assert!(reads.object(SHOP).is_some() && reads.list(LIST).is_some());
        assert!(!reads.tell(told(Some("1"))), "our own write is no news");
        assert!(reads.object(SHOP).is_some() && reads.list(LIST).is_none());
        assert!(reads.tell(told(Some("2"))));
        assert!(reads.object(SHOP).is_none());
    }

    #[test]
    fn an_answer_that_a_watch_has_overtaken_is_not_kept() {
        let reads = Reads::default();
        reads.watched(SETS);
        reads.begins(SHOP);
        reads.begins(LIST);
        reads.tell(told(Some("2")));
        reads.keep(SHOP, Some(&object("1")));
        reads.keep_list(LIST, &[object("1")]);
        assert!(reads.object(SHOP).is_none() && reads.list(LIST).is_none());
        reads.keep(SHOP, Some(&object("2")));
        assert_eq!(reads.object(SHOP), Some(Some(object("2"))), "told of this very version");
        reads.tell(told(None));
        reads.keep(SHOP, None);
        assert_eq!(reads.object(SHOP), Some(None));
        assert!(!reads.tell(told(None)));
    }

    #[test]
    fn what_was_read_before_a_watch_began_is_not_trusted() {
        let reads = Reads::default();
        reads.begins(LIST);
        reads.keep(SHOP, Some(&object("1")));
        reads.watched(SETS);
        reads.keep_list(LIST, &[object("1")]);
        reads.begin_pass();
        assert!(reads.object(SHOP).is_none() && reads.list(LIST).is_none());
        reads.keep(SHOP, Some(&object("1")));
        reads.unwatched(SETS);
        reads.begin_pass();
        assert_eq!(reads.object(SHOP), None);
    }
}
