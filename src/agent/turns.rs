//! Who may work on a plan now: a few plans at a time, so that an agent that begins does not hold all plans at once.
//!
//! A turn is given back after a moment: a pass that lasts longer waits for an answer, and keeps nobody else waiting.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many plans are worked on at the same time, of each sort.
const AT_ONCE: usize = 16;
/// How many of those that are tried again after a failure.
const AGAIN_AT_ONCE: usize = 8;
/// How many of those that are held and looked at because time went by. They keep their turns to the end.
const HELD_AT_ONCE: usize = 2;
/// How long a turn lasts.
const LASTS: Duration = Duration::from_secs(1);

/// Why a plan is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Somebody asks to go back, or the release does already.
    Abort,
    /// Anything has changed, or a time is over.
    Ordinary,
    /// What failed is tried again: a cluster that answers slowly delays only what it has delayed already.
    Again,
    /// A plan that is held is looked at again.
    Held,
}

/// The turns of all plans.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    abort: Arc<Semaphore>,
    ordinary: Arc<Semaphore>,
    again: Arc<Semaphore>,
    held: Arc<Semaphore>,
}

impl Default for Turns {
    /// All are free.
    fn default() -> Self {
        let turns = |count| Arc::new(Semaphore::new(count));
        Self { abort: turns(AT_ONCE), ordinary: turns(AT_ONCE), again: turns(AGAIN_AT_ONCE), held: turns(HELD_AT_ONCE) }
    }
}

/// A turn that was taken.
pub(super) struct Turn {
    permit: Option<OwnedSemaphorePermit>,
    sort: Sort,
}

impl Turns {
    /// Waits for a turn.
    pub(super) async fn take(&self, sort: Sort) -> Turn {
        let turns = match sort {
            Sort::Abort => &self.abort,
            Sort::Ordinary => &self.ordinary,
            Sort::Again => &self.again,
            Sort::Held => &self.held,
        };
        // They are never closed.
        Turn { permit: Arc::clone(turns).acquire_owned().await.ok(), sort }
    }
}

impl Turn {
    /// Does the work, and gives the turn back when that is over, or has lasted a moment.
    pub(super) async fn work<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if self.sort != Sort::Held {
            if let Ok(done) = tokio::time::timeout(LASTS, &mut work).await {
                return done;
            }
            self.permit = None;
        }
        work.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt as _;

    use super::{AT_ONCE, HELD_AT_ONCE, Sort, Turns};

    #[test]
    fn only_work_on_held_plans_that_waits_for_an_answer_keeps_its_turn() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::default();
            for sort in [[Sort::Ordinary; AT_ONCE].as_slice(), &[Sort::Held; HELD_AT_ONCE]].concat() {
                let turn = turns.take(sort).await;
                tokio::spawn(turn.work(pending::<()>()));
            }
            assert!(turns.take(Sort::Ordinary).now_or_never().is_none());
            assert!(turns.take(Sort::Abort).now_or_never().is_some());
            turns.take(Sort::Ordinary).await;
            assert!(turns.take(Sort::Held).now_or_never().is_none());
        });
    }
}
