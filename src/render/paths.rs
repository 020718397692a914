//! All that a plan changes, by object: nothing else is ever written.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ObjectKey, ObjectPaths};

/// The paths of a plan's objects.
#[derive(Debug, Default)]
pub(super) struct Paths(BTreeMap<ObjectKey, BTreeSet<String>>);

impl Paths {
    /// Adds a path of an object; the empty path is all of it.
    pub(super) fn add(&mut self, object: &ObjectKey, path: &str) {
        self.0.entry(object.clone()).or_default().insert(path.to_owned());
    }

    /// The paths as a plan lists them.
    pub(super) fn into_list(self) -> Vec<ObjectPaths> {
        self.0.into_iter().map(|(object, paths)| ObjectPaths { object, paths: paths.into_iter().collect() }).collect()
    }
}
