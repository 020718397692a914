//! Moving on: from stage to stage, from step to step, and when time does it.

use jiff::{SignedDuration, Timestamp};

use super::{ending, ways};
use crate::model::{Cursor, DeadlineAction, Ending, Gate, Outcome, Part, PlanSpec, PlanStatus, Stage};

/// Goes on as far as it can without anybody's help.
pub(super) fn advance(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) {
    while one_move(spec, status, now) {}
}

/// Makes at most one move, and says whether it did. Every move goes forward or clears a goal, so that they end.
fn one_move(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) -> bool {
    let is_paused = status.suspended.is_paused();
    let is_stalled = is_stalled(status);
    let Some(cursor) = status.cursor.as_mut() else { return false };
    match cursor.part {
        Part::Check | Part::Capture | Part::HandBack => false,
        Part::Gate => !is_paused && !is_stalled && leave_gate(spec, status, now),
        Part::Abort | Part::AbortFinish => next_stage(spec, status, now),
        Part::Finish | Part::Settle => !is_paused && next_stage(spec, status, now),
        Part::Stages | Part::EnterFromAbove | Part::Reassert => {
            if is_paused {
                return false;
            }
            if !cursor.late && deadline(spec, cursor).is_some_and(|(at, _)| now >= at) {
                cursor.late = true;
                return miss_deadline(spec, status, now);
            }
            match cursor.goal {
                // What a refresh changes is written first, from there on every way is the plan's own.
                Some(goal) if goal < cursor.step && cursor.part != Part::Reassert => {
                    cursor.goal = None;
                    enter(status, Part::EnterFromAbove, goal, now);
                    true
                }
                Some(goal) if goal == cursor.step => {
                    cursor.goal = None;
                    true
                }
                Some(_) | None => next_stage(spec, status, now),
            }
        }
    }
}

/// Whether only a person can make what has to stay true be so: nobody leaves a step that is not what was approved. An
/// approval waits, and is obeyed when it is so again.
pub(super) fn is_stalled(status: &PlanStatus) -> bool {
    status.failure.as_ref().is_some_and(|failure| failure.permanent)
}

/// Goes to another part, in the same step.
pub(super) fn turn_to(status: &mut PlanStatus, part: Part, now: Timestamp) {
    let Some(cursor) = status.cursor.as_mut() else { return };
    cursor.part = part;
    place(cursor, 0, now);
    status.turn += 1;
    status.failure = None;
}

/// Begins the way into a step.
pub(super) fn enter(status: &mut PlanStatus, part: Part, step: u32, now: Timestamp) {
    turn_to(status, part, now);
    let Some(cursor) = status.cursor.as_mut() else { return };
    cursor.step = step;
    cursor.entered = now;
    cursor.late = false;
    cursor.approved = false;
    cursor.refreshed = None;
    if part != Part::Reassert {
        cursor.gated = None;
    }
}

fn place(cursor: &mut Cursor, stage: u32, now: Timestamp) {
    cursor.stage = stage;
    cursor.since = now;
    cursor.written = false;
    cursor.holding = None;
    cursor.unmet = Vec::new();
    cursor.hold = None;
}

/// Counts a grace from now, and nothing from the future: a grace is short, and what it waits for tells nobody when it is there.
/// Gates and deadlines are long, and an error of two clocks is not.
pub(super) fn restart_clock(status: &mut PlanStatus, now: Timestamp) {
    if let Some(since) = status.suspended.since.as_mut() {
        *since = now.min(*since);
    }
    let Some(cursor) = status.cursor.as_mut() else { return };
    cursor.holding = cursor.holding.map(|_| now);
    cursor.since = now.min(cursor.since);
    cursor.entered = now.min(cursor.entered);
    cursor.gated = cursor.gated.map(|since| now.min(since));
}

fn next_stage(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) -> bool {
    let Some(cursor) = status.cursor.as_mut() else { return false };
    match ways::stage(spec, cursor) {
        None => {
            complete(status, now);
            true
        }
        Some(stage) if is_over(cursor, &stage, now) => {
            place(cursor, cursor.stage + 1, now);
            status.turn += 1;
            status.failure = None;
            true
        }
        Some(_) => false,
    }
}

fn is_over(cursor: &Cursor, stage: &Stage, now: Timestamp) -> bool {
    cursor.written && cursor.holding.is_some_and(|since| now >= later(since, ways::grace(stage)))
}

/// The last stage of a part is over.
fn complete(status: &mut PlanStatus, now: Timestamp) {
    let Some(cursor) = status.cursor.as_mut() else { return };
    match cursor.part {
        Part::Stages | Part::EnterFromAbove | Part::Reassert => {
            let since = *cursor.gated.get_or_insert(now);
            turn_to(status, Part::Gate, now);
            if let Some(cursor) = status.cursor.as_mut() {
                cursor.since = since;
            }
        }
        Part::Finish => {
            cursor.ending = Some(Ending { outcome: Outcome::Succeeded, reason: String::new(), returns_to: None });
            turn_to(status, Part::HandBack, now);
        }
        Part::Settle | Part::Abort | Part::AbortFinish => turn_to(status, Part::HandBack, now),
        Part::Check | Part::Capture | Part::Gate | Part::HandBack => {}
    }
}

fn leave_gate(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) -> bool {
    let Some(cursor) = status.cursor.as_mut() else { return false };
    let step = cursor.step;
    match cursor.goal {
        Some(goal) if goal > step && goal <= ways::last_step(spec) => enter(status, Part::Stages, step + 1, now),
        Some(goal) if goal > step => cursor.goal = None,
        Some(goal) if goal == step => {
            cursor.goal = None;
            cursor.gated = None;
            enter(status, Part::Reassert, step, now);
        }
        Some(goal) => {
            cursor.goal = None;
            enter(status, Part::EnterFromAbove, goal.max(1), now);
        }
        None if cursor.approved || opens_at(spec, cursor).is_some_and(|at| now >= at) => {
            cursor.approved = false;
            if step < ways::last_step(spec) {
                enter(status, Part::Stages, step + 1, now);
            } else {
                turn_to(status, Part::Finish, now);
            }
        }
        None => return false,
    }
    true
}

/// When a gate opens by time. `None`: only a person opens it.
fn opens_at(spec: &PlanSpec, cursor: &Cursor) -> Option<Timestamp> {
    match ways::step(spec, cursor.step)?.gate {
        Gate::Approval {} => None,
        Gate::Seconds(seconds) => Some(later(cursor.since, seconds)),
        Gate::None {} => Some(cursor.since),
    }
}

/// The deadline of the way into a step.
pub(super) fn deadline(spec: &PlanSpec, cursor: &Cursor) -> Option<(Timestamp, DeadlineAction)> {
    let deadline = ways::step(spec, cursor.step)?.deadline?;
    Some((later(cursor.entered, deadline.seconds), deadline.then))
}

/// Says whether the release went elsewhere for it.
fn miss_deadline(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) -> bool {
    let Some(cursor) = status.cursor.as_ref() else { return false };
    let Some(deadline) = ways::step(spec, cursor.step).and_then(|step| step.deadline) else { return false };
    match deadline.then {
        DeadlineAction::Hold => true,
        DeadlineAction::Abort => {
            let reason = format!("step {} was not reached within {} s", cursor.step, deadline.seconds);
            ending::abort(status, &reason, now);
            true
        }
    }
}

/// When time alone moves the release.
pub(super) fn wake_at(spec: &PlanSpec, status: &PlanStatus) -> Option<Timestamp> {
    let cursor = status.cursor.as_ref()?;
    let is_paused = status.suspended.is_paused();
    let grace = || {
        let stage = ways::stage(spec, cursor)?;
        cursor.holding.filter(|_| cursor.written).map(|since| later(since, ways::grace(&stage)))
    };
    match cursor.part {
        Part::Abort | Part::AbortFinish => grace(),
        Part::Check | Part::Capture | Part::HandBack => None,
        _ if is_paused => None,
        Part::Gate if is_stalled(status) => None,
        Part::Gate => opens_at(spec, cursor),
        Part::Finish | Part::Settle => grace(),
        Part::Stages | Part::EnterFromAbove | Part::Reassert => {
            let deadline = deadline(spec, cursor).filter(|_| !cursor.late).map(|(at, _)| at);
            grace().into_iter().chain(deadline).min()
        }
    }
}

/// Returns the time so many seconds later, or the end of time.
pub fn later(since: Timestamp, seconds: u32) -> Timestamp {
    since.saturating_add(SignedDuration::from_secs(i64::from(seconds))).unwrap_or(Timestamp::MAX)
}
