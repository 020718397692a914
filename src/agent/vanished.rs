//! Namespaces in which a plan has gone in mid-release: what was kept of it is looked for there.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Namespaces that wait to be swept, each once.
#[derive(Debug, Default)]
pub(super) struct Vanished {
    namespaces: Mutex<BTreeSet<String>>,
    noted: Notify,
}

impl Vanished {
    /// A plan of the namespace has gone.
    pub(super) fn note(&self, namespace: &str) {
        self.waiting().insert(namespace.to_owned());
        self.noted.notify_one();
    }

    /// Returns the next namespace, and waits until there is one.
    pub(super) async fn next(&self) -> String {
        loop {
            let next = self.waiting().pop_first();
            match next {
                Some(namespace) => return namespace,
                None => self.noted.notified().await,
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
