//! Namespaces in which a plan has gone in mid-release: what was kept of it is looked for there.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::claims::PlanKey;

/// Namespaces that wait to be swept, each once.
#[derive(Debug, Default)]
pub(super) struct Vanished {
    namespaces: Mutex<BTreeSet<String>>,
    noted: Notify,
    restored: Mutex<BTreeSet<PlanKey>>,
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

    /// Claims the restoration of a plan that is gone, until the answer is dropped. `None`: it is being restored already.
    pub(super) fn begin(&self, plan: &PlanKey) -> Option<Restoring<'_>> {
        let is_first = self.restored.lock().unwrap_or_else(PoisonError::into_inner).insert(plan.clone());
        is_first.then(|| Restoring { vanished: self, plan: plan.clone() })
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The restoration of one plan.
pub(super) struct Restoring<'a> {
    vanished: &'a Vanished,
    plan: PlanKey,
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        self.vanished.restored.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.plan);
    }
}
