//! How a plan's task is woken, and by what.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use tokio::sync::Notify;

use super::reads::Reads;

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ring {
    /// The plan.
    Plan,
    /// The plan, which is being deleted or carries a request to abort.
    Urgent,
    /// The plan's Rollout, or something that it waits for.
    Loud,
    /// An object, which somebody may write all the time.
    Quiet,
}

/// Rings for one plan.
#[derive(Debug, Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    loud: AtomicBool,
    plan: AtomicBool,
    urgent: AtomicBool,
    notify: Notify,
    reads: Arc<Reads>,
}

/// What a task has heard since it looked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    /// Whether the plan has changed.
    pub(super) plan: bool,
}

impl Bell {
    /// Wakes the task.
    pub(super) fn ring(&self, ring: Ring) {
        let is_plan = matches!(ring, Ring::Plan | Ring::Urgent);
        self.plan.fetch_or(is_plan, Ordering::AcqRel);
        self.urgent.fetch_or(ring == Ring::Urgent, Ordering::AcqRel);
        self.loud.fetch_or(is_plan || ring == Ring::Loud, Ordering::AcqRel);
        self.rung.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// What the plan has read, which watches keep up to date.
    pub(super) fn reads(&self) -> &Arc<Reads> {
        &self.reads
    }

    /// Whether it has rung since the task looked last.
    pub(super) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Whether the plan or its Rollout has changed since the task looked last.
    pub(super) fn is_loud(&self) -> bool {
        self.loud.load(Ordering::Acquire)
    }

    /// Whether somebody asks to go back.
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent.load(Ordering::Acquire)
    }

    /// Waits until it has rung.
    pub(super) async fn rung(&self) {
        while !self.has_rung() {
            self.notify.notified().await;
        }
    }

    /// Waits until it has rung for the plan or its Rollout.
    pub(super) async fn rung_loudly(&self) {
        while !self.is_loud() {
            self.notify.notified().await;
        }
    }

    /// Forgets what has rung up to now: what follows sees it.
    pub(super) fn hear(&self) -> Heard {
        let _ = self.notify.notified().now_or_never();
        self.rung.store(false, Ordering::Release);
        self.loud.store(false, Ordering::Release);
        self.urgent.store(false, Ordering::Release);
        Heard { plan: self.plan.swap(false, Ordering::AcqRel) }
    }
}
