//! One plan's task: it sleeps until its bell rings, looks, does what can be done, and ends when the plan is at rest.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch as values};
use tokio::time::{Instant, sleep_until};

use super::attend::{Attendance, Next};
use super::bell::Bell;
use super::claims::PlanKey;
use super::limits::Lane;
use super::shared::Shared;
use super::trouble::Trouble;
use super::turns::{Sort, Turns};

/// What is different when a plan is looked at that was there from the beginning.
pub(super) struct First {
    /// Those who wait for their turn; absent for a plan that does not.
    pub(super) turns: Option<Arc<Semaphore>>,
    /// Told when its claims are entered, or nobody should wait for that any longer.
    pub(super) looked: Arc<tokio::sync::Notify>,
}

impl Drop for First {
    fn drop(&mut self) {
        self.looked.notify_one();
    }
}

/// So many failures in a row, and other plans wait no longer for what this one claims.
const ENOUGH: u32 = 7;
/// How long the content of a plan that only waits is held.
const IDLE: Duration = Duration::from_secs(30);

/// Why the plan is looked at now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// Something has happened, or a time is over.
    Up,
    /// It is held, and nothing has happened.
    Held,
    /// Something failed that may pass.
    Again,
}

/// Attends to one plan until it is at rest. While it waits for its turn nothing of the plan is held.
pub(super) async fn tend(
    shared: Arc<Shared>,
    key: PlanKey,
    bell: Arc<Bell>,
    turns: Turns,
    mut examined: values::Receiver<bool>,
    mut first: Option<First>,
) {
    let mut attendance: Option<Box<Attendance>> = None;
    let mut failed = 0;
    let mut last_trouble: Option<Trouble> = None;
    let mut woken = Woken::Up;
    loop {
        let first_turn = match first.as_ref().and_then(|first| first.turns.clone()) {
            Some(turns) => turns.acquire_owned().await.ok(),
            None => None,
        };
        let goes_back = bell.is_urgent() || attendance.as_ref().is_some_and(|plan| plan.goes_back);
        let sort = match woken {
            _ if goes_back => Sort::Abort,
            Woken::Up => Sort::Ordinary,
            Woken::Held if bell.has_rung() => Sort::Ordinary,
            Woken::Held => Sort::Held,
            Woken::Again => Sort::Again,
        };
        let (sort, turn) = match sort {
            // Many may wait for such a turn: what happens meanwhile is not looked at in their pace.
            Sort::Held => tokio::select! {
                turn = turns.take(Sort::Held) => (Sort::Held, turn),
                () = bell.rung() => (Sort::Ordinary, turns.take(Sort::Ordinary).await),
            },
            sort @ (Sort::Abort | Sort::Ordinary | Sort::Again) => (sort, turns.take(sort).await),
        };
        let heard = bell.hear();
        let plan = attendance.get_or_insert_with(|| Box::new(Attendance::new(&shared, key.clone(), Arc::clone(bell.reads()))));
        plan.may_check = *examined.borrow();
        // Also what asks to go back has the room and the requests of those that do, before its plan is read.
        plan.goes_back |= goes_back;
        let lane = match sort {
            Sort::Held => Lane::Held,
            _ if goes_back || plan.has_kept => Lane::Release,
            Sort::Abort | Sort::Ordinary | Sort::Again => Lane::Look,
        };
        plan.wake(lane, heard);
        let result = turn.work(Box::pin(plan.pass(|| bell.is_loud()))).await;
        if plan.has_looked || failed >= ENOUGH {
            first = None;
        }
        drop(first_turn);
        woken = match result {
            Ok(Next::Rest) => return,
            Ok(Next::Examined) => {
                plan.unload();
                // A release may wait here in its middle: what people ask for is heard.
                tokio::select! {
                    is_closed = async { examined.wait_for(|examined| *examined).await.is_err() } => if is_closed {
                        return;
                    },
                    () = bell.rung_loudly() => {}
                }
                Woken::Up
            }
            Ok(Next::Wait(time)) => {
                failed = 0;
                wait(plan, time, bell.rung()).await
            }
            Ok(Next::Pause(time)) => {
                failed = 0;
                wait(plan, time, bell.rung_loudly()).await
            }
            // Also when we may not write: a lease that is renewed late is held again, and one that is lost ends this task.
            Err(trouble) => {
                if last_trouble.as_ref() != Some(&trouble) {
                    // It got further, or something else is wrong now.
                    failed = 0;
                }
                pause(plan, &bell, &trouble, &mut failed).await;
                let woken = if trouble.is_passing() { Woken::Again } else { Woken::Up };
                last_trouble = Some(trouble);
                woken
            }
        };
    }
}

/// Waits for so long or until it rings. A plan that is held keeps nothing meanwhile; any other leaves when it waits long, or
/// when somebody else wants its room.
async fn wait(plan: &mut Attendance, time: Duration, rung: impl Future<Output = ()>) -> Woken {
    let mut rung = std::pin::pin!(rung);
    let (end, idle) = (Instant::now() + time, Instant::now() + IDLE);
    if plan.is_held {
        plan.unload();
    }
    loop {
        let room = Arc::clone(&plan.shared.room);
        tokio::select! {
            () = &mut rung => return Woken::Up,
            () = sleep_until(end) => return if plan.is_held { Woken::Held } else { Woken::Up },
            () = sleep_until(idle), if plan.is_loaded() => plan.unload(),
            () = room.is_wanted(), if plan.is_loaded() => plan.unload(),
        }
    }
}

/// A moment that grows with each failure of the same kind in a row, up to half a minute, and longer where the API server asks for it; of that, what
/// people ask for is heard at once but in the first second. A conflict only means to look again.
async fn pause(plan: &mut Attendance, bell: &Bell, trouble: &Trouble, failed: &mut u32) {
    *failed += 1;
    plan.shared.metrics.failed();
    let is_conflict = matches!(trouble, Trouble::Conflict(_)) && *failed < 5;
    let time = if is_conflict { Duration::from_millis(20) } else { Duration::from_millis(250) * 2_u32.pow((*failed).min(7)) };
    let asked = if let Trouble::Busy { after: Some(after), .. } = trouble { (*after).min(Duration::from_mins(1)) } else { Duration::ZERO };
    let time = time.max(asked);
    tracing::warn!(plan = %plan.key, %trouble, seconds = time.as_secs_f64(), "tried again");
    let deaf = time.min(Duration::from_secs(1));
    tokio::time::sleep(deaf).await;
    wait(plan, time.saturating_sub(deaf), bell.rung_loudly()).await;
}
