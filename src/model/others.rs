//! The names of objects that no Rollout names: what may have been meant where a reference leads nowhere.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::{ObjectRef, Place};

/// An object by its name, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Other {
    /// The object.
    pub object: ObjectRef,
    /// Where it stands.
    pub place: Place,
}

/// The objects of an environment that were not read. They are read on first use: most references lead somewhere.
#[derive(Clone, Default)]
pub struct Others(Option<Arc<LazyLock<Vec<Other>, Read>>>);

/// Reads them.
type Read = Box<dyn FnOnce() -> Vec<Other> + Send>;

impl Others {
    /// Those that `read` returns, called once, on first use.
    pub fn new(read: impl FnOnce() -> Vec<Other> + Send + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(read)))))
    }

    /// Those of a kind in a namespace.
    pub fn of_kind(&self, kind: &str, namespace: &str) -> impl Iterator<Item = &Other> {
        let all = self.0.as_ref().map_or(&[][..], |read| read.as_slice());
        all.iter().filter(move |other| other.object.kind == kind && other.object.namespace == namespace)
    }
}

impl fmt::Debug for Others {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Others")
    }
}
