//! One plan's task: it sleeps until its bell rings, looks, does what can be done, and ends when the plan is at rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::{Notify, Semaphore, watch as values};

use super::attend::{Attendance, Next};
use super::claims::PlanKey;
use super::shared::Shared;
use super::trouble::Trouble;

/// How a plan's task is woken.
#[derive(Default)]
pub(super) struct Bell {
    rung: AtomicBool,
    /// Whether it was the plan or its Rollout that has changed.
    loud: AtomicBool,
    notify: Notify,
}

impl Bell {
    /// Wakes the task. Loudly: the plan or its Rollout has changed.
    pub(super) fn ring(&self, loud: bool) {
        self.rung.store(true, Ordering::Release);
        self.loud.fetch_or(loud, Ordering::AcqRel);
        self.notify.notify_one();
    }

    /// Whether it has rung since the task looked last.
    pub(super) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Waits until it was rung loudly.
    async fn rung_loudly(&self) {
        while !self.loud.load(Ordering::Acquire) {
            self.notify.notified().await;
        }
    }

    /// Forgets what has rung up to now: what follows sees it.
    fn hear(&self) {
        let _ = self.notify.notified().now_or_never();
        self.rung.store(false, Ordering::Release);
        self.loud.store(false, Ordering::Release);
    }
}

/// What is different when a plan is looked at that was there from the beginning.
pub(super) struct First {
    /// Those who wait for their turn; absent for a plan that does not.
    pub(super) turns: Option<Arc<Semaphore>>,
    /// Told when its claims are entered, or nobody should wait for that any longer.
    pub(super) looked: Arc<Notify>,
}

impl Drop for First {
    fn drop(&mut self) {
        self.looked.notify_one();
    }
}

/// So many failures in a row, and other plans wait no longer for what this one claims.
const ENOUGH: u32 = 7;

/// Attends to one plan until it is at rest. While it waits for its turn nothing of the plan is held.
pub(super) async fn tend(
    shared: Arc<Shared>,
    key: PlanKey,
    bell: Arc<Bell>,
    turns: Arc<Semaphore>,
    mut examined: values::Receiver<bool>,
    mut first: Option<First>,
) {
    let mut attendance: Option<Box<Attendance>> = None;
    let mut failed = 0;
    loop {
        let first_turn = match first.as_ref().and_then(|first| first.turns.clone()) {
            Some(turns) => turns.acquire_owned().await.ok(),
            None => None,
        };
        let Ok(turn) = turns.acquire().await else { return };
        bell.hear();
        let plan = attendance.get_or_insert_with(|| Box::new(Attendance::new(Arc::clone(&shared), key.clone())));
        plan.may_check = *examined.borrow();
        let result = Box::pin(plan.pass(|| bell.loud.load(Ordering::Acquire))).await;
        if plan.has_looked || failed >= ENOUGH {
            first = None;
        }
        drop((turn, first_turn));
        match result {
            Ok(Next::Rest) => return,
            Ok(Next::Examined) => {
                // Whatever rings meanwhile is seen afterwards.
                if examined.wait_for(|examined| *examined).await.is_err() {
                    return;
                }
            }
            Ok(Next::Wait(time)) => {
                failed = 0;
                let _ = tokio::time::timeout(time, bell.notify.notified()).await;
            }
            Ok(Next::Pause(time)) => {
                failed = 0;
                let _ = tokio::time::timeout(time, bell.rung_loudly()).await;
            }
            // Also when we may not write: a lease that is renewed late is held again, and one that is lost ends this task.
            Err(trouble) => pause(&shared, &key, &bell, &trouble, &mut failed).await,
        }
    }
}

/// A moment that grows with each failure in a row, up to half a minute; of that, what people ask for is heard at once but in
/// the first second. A conflict only means to look again.
async fn pause(shared: &Shared, key: &PlanKey, bell: &Bell, trouble: &Trouble, failed: &mut u32) {
    *failed += 1;
    shared.metrics.failed();
    let is_conflict = matches!(trouble, Trouble::Conflict(_)) && *failed < 5;
    let time = if is_conflict { Duration::from_millis(20) } else { Duration::from_millis(250) * 2_u32.pow((*failed).min(7)) };
    tracing::warn!(plan = %key, %trouble, seconds = time.as_secs_f64(), "tried again");
    let deaf = time.min(Duration::from_secs(1));
    tokio::time::sleep(deaf).await;
    let _ = tokio::time::timeout(time.saturating_sub(deaf), bell.rung_loudly()).await;
}
