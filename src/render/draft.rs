//! A plan in the making: how its objects are called, which versions of them it has, what it changes, what it was made from.

use std::sync::Arc;

use serde_json::Value;

use super::baseline::Baseline;
use super::keys::Keys;
use super::paths::Paths;
use super::plan::Inputs;
use super::pointers::{put, with_values_of};
use super::versions::Versions;
use crate::digest;
use crate::model::{Catalog, LabelSet, Manifest, ObjectKey, ObjectRef, Place, Resolution, Rollout, Source, Stored, VersionKey};

/// What the objects of a release add to, one after the other.
pub(super) struct Draft<'a> {
    /// The Rollout.
    pub(super) rollout: &'a Rollout,
    /// Every version of every object.
    pub(super) versions: Versions,
    /// All that is changed.
    pub(super) paths: Paths,
    catalog: &'a Catalog,
    baseline: Baseline<'a>,
    keys: Keys,
    /// What was read, for the digest.
    read: digest::List,
}

/// An object that stands in git.
pub(super) struct Original {
    /// Its name in the plan.
    pub(super) object: ObjectKey,
    /// Its version before the release.
    pub(super) baseline: VersionKey,
    /// Its version after the release.
    pub(super) target: VersionKey,
}

impl<'a> Draft<'a> {
    /// The empty draft of a release from `baseline` on; all of `sources` will have a part in it.
    pub(super) fn new<'s>(inputs: &Inputs<'a>, baseline: Baseline<'a>, sources: impl Iterator<Item = &'s Source>) -> Self {
        let mut keys = Keys::default();
        for source in sources {
            keys.know(source.manifest.api_version(), source.manifest.kind());
        }
        let rollout = inputs.rollout;
        let mut draft = Self {
            rollout,
            versions: Versions::default(),
            paths: Paths::default(),
            catalog: inputs.catalog,
            baseline,
            keys,
            read: digest::List::default(),
        };
        let reference = &rollout.reference;
        let object = ObjectRef::new(&reference.api_version, &reference.kind, &rollout.namespace, &reference.name);
        if let Resolution::Found(source) = inputs.catalog.resolve(&object, &rollout.place.path) {
            draft.read.push(source.source().manifest.value());
        }
        draft
    }

    /// The name in the plan of an object of the same kind as `like`.
    pub(super) fn key(&self, like: &Manifest, name: &str) -> ObjectKey {
        self.keys.key(like.api_version(), like.kind(), name)
    }

    /// The object as it is to be: with its namespace, without what only a cluster writes.
    pub(super) fn head(&self, source: &Source) -> Value {
        written(source, &self.rollout.namespace)
    }

    /// The object as it was before the release; absent where it is as the head has it.
    pub(super) fn before(&self, source: &Source) -> Option<&'a Value> {
        self.baseline.get(&source.object)
    }

    /// Where the Rollout says something.
    pub(super) fn place_in_rollout(&self, pointer: &str) -> Place {
        let (reference, place) = (&self.rollout.reference, &self.rollout.place);
        let object = ObjectRef::new(&reference.api_version, &reference.kind, &self.rollout.namespace, &reference.name);
        match self.catalog.resolve(&object, &place.path) {
            Resolution::Found(source) => Place { path: source.path.clone(), position: source.places.at(pointer) },
            Resolution::Missing | Resolution::Ambiguous(_) => place.clone(),
        }
    }

    /// Adds something that was read to what the plan was made from.
    pub(super) fn note(&mut self, read: &Value) {
        self.read.push(read);
    }

    /// Adds an object that stands in git, of which the release changes `path`: the head, and before the release the head with
    /// the baseline's value there.
    pub(super) fn original(&mut self, source: &Source, path: &str) -> Original {
        let (object, before, head) = self.original_values(source, &[path.to_owned()]);
        self.paths.add(&object, path);
        let baseline = self.versions.add(&object, before, Vec::new());
        let target = self.versions.add(&object, head, Vec::new());
        Original { object, baseline, target }
    }

    /// The key, the head with the baseline's values at `paths`, and the head.
    pub(super) fn original_values(&mut self, source: &Source, paths: &[String]) -> (ObjectKey, Value, Value) {
        self.values_before(source, self.head(source), paths)
    }

    /// The same for a head that was made before.
    pub(super) fn values_before(&mut self, source: &Source, head: Value, paths: &[String]) -> (ObjectKey, Value, Value) {
        let object = self.key(&source.manifest, source.manifest.name());
        let before = match self.before(source) {
            Some(base) => with_values_of(&head, base, paths),
            None => head.clone(),
        };
        self.note(&before);
        self.note(&head);
        (object, before, head)
    }

    /// Other workloads of the namespace with pods that a selector selects.
    pub(super) fn other_workloads(&self, workload: &Source, selector: &LabelSet) -> impl Iterator<Item = Arc<Stored>> {
        let selected = self.catalog.neighbors.workloads(&workload.object.namespace, selector);
        selected.into_iter().filter(|other| other.object != workload.object)
    }

    /// The digest of everything that the plan was made from.
    pub(super) fn inputs(&self) -> String {
        self.read.digest()
    }
}

/// The object as a plan has it: with its namespace, without what only a cluster writes.
pub(super) fn written(source: &Source, namespace: &str) -> Value {
    let mut value = source.manifest.value().clone();
    put(&mut value, "/metadata/namespace", Some(namespace.into()));
    put(&mut value, "/status", None);
    value
}
