//! A repository as a value: path → bytes.
//!
//! No IO: `disk` and `git` make these values and write them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by path. Paths are relative to a root, use `/`, and never contain `..`. A clone is cheap until one of both changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(Arc<BTreeMap<String, Arc<[u8]>>>);

impl Files {
    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) {
        Arc::make_mut(&mut self.0).insert(path.into(), bytes.into());
    }

    /// Takes a file away.
    pub fn remove(&mut self, path: &str) -> Option<Arc<[u8]>> {
        Arc::make_mut(&mut self.0).remove(path)
    }

    /// A file's bytes.
    pub fn get(&self, path: &str) -> Option<&Arc<[u8]>> {
        self.0.get(path)
    }

    /// All files, sorted by path.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Arc<[u8]>)> {
        self.0.iter().map(|(path, bytes)| (path.as_str(), bytes))
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Arc<[u8]>)> for Files {
    fn from_iter<I: IntoIterator<Item = (String, Arc<[u8]>)>>(files: I) -> Self {
        Self(Arc::new(files.into_iter().collect()))
    }
}
