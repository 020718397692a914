//! What the agent does next: a function of the plan, the recorded status, one event, and the time.
//!
//! Nothing here talks to a cluster, reads a clock, or fails. The one who drives the machine records the status that
//! `next` returns, where `records_first` says so before it does its `duty`. Every duty may be done twice: who comes back
//! after a crash reads the status and does the duty again.
//!
//! Which plan goes in, `runs_object` says: the plan's object, or the one that was captured.

mod advance;
mod asked;
mod ending;
mod offered;
mod pods;
mod recorded;
mod tell;
mod ways;

use std::borrow::Cow;

use jiff::Timestamp;

use crate::model::{Bindings, Bypass, Failure, Hold, Part, Plan, PlanSpec, PlanStatus, Purpose, Refreshed, Request, Stage, Verb};

pub use advance::later;
pub use recorded::records_first;

/// What happened.
///
/// `turn` is the `PlanStatus::turn` under which the duty was begun. News of another turn is no news any more.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The plan's object as it stands in the cluster. Told at start, after each change of the object and after `HandedBack`;
    /// also again and again before anything is kept, and where a release has neither ended nor begun, because the workload
    /// may have changed. A release that has ended is not offered again when its workload changes.
    Offered(Offer),
    /// All checks before the first write were made. Before anything is kept also: what they found does not hold any more.
    Checked {
        /// Of which turn.
        turn: u64,
        /// What was read on the way, or what stands against it.
        result: Result<Bindings, Hold>,
    },
    /// The plan and the values from before the release are kept.
    Captured {
        /// Of which turn.
        turn: u64,
        /// The ControllerRevision's name.
        name: String,
    },
    /// All that the stage writes, removes and evicts is so.
    Written {
        /// Of which turn.
        turn: u64,
    },
    /// What has to stay true in a gate or a pause is so. It says nothing about the stage that comes next.
    Kept {
        /// Of which turn.
        turn: u64,
    },
    /// What the stage waits for was looked at.
    Awaited {
        /// Of which turn.
        turn: u64,
        /// What does not hold yet, in words, without grace, which the machine counts itself.
        unmet: Vec<String>,
    },
    /// A late value was found, or has changed. Told before it is written anywhere.
    Bound(Bindings),
    /// Time went by.
    Tick,
    /// Another agent goes on. The times in the status are by the clock of the one before, which may go ahead.
    TakenOver,
    /// Somebody asked for something.
    Asked(Request),
    /// The same, in the Rollout's own status, which holds no digest and no id: whether it is fresh was found out where it was
    /// read. One that does not fit is passed over.
    Commanded {
        /// What.
        verb: Verb,
        /// The step whose gate is opened, or to go to.
        step: u32,
    },
    /// The Rollout's own switches.
    Suspended {
        /// `spec.strategy.paused`.
        paused: bool,
        /// `spec.disabled`.
        disabled: bool,
    },
    /// The plan, its Rollout or its namespace is being deleted.
    Deleted,
    /// Nothing of the agent's own is left.
    HandedBack {
        /// Of which turn.
        turn: u64,
    },
    /// The duty could not be done.
    Failed {
        /// What was tried, what came back, and what to do.
        reason: String,
        /// Whether only a person can cure it. The duty stays, and is tried again slowly.
        permanent: bool,
    },
}

/// A plan's object as it stands in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `metadata.generation`.
    pub generation: i64,
    /// The digest, verified.
    pub digest: String,
    /// `spec.release`.
    pub release: Option<String>,
    /// The workload as it stands. Only looked at while nothing is written.
    pub workload: Workload,
    /// Whether the target is what ran before the running release: git went back.
    pub returns: bool,
    /// Whether it leaves out an object or a path that the running plan changes.
    pub drops: bool,
}

/// A workload beside an offered plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// It does not exist.
    Missing,
    /// It is the target already, and who wrote it. Without a time: nobody that is known.
    AtTarget(Bypass),
    /// It is anything else.
    Elsewhere,
}

/// What is to be done in a recorded state.
#[derive(Debug, Clone, PartialEq)]
pub enum Duty<'a> {
    /// Nothing, until something happens.
    Nothing,
    /// Make the checks before the first write, then tell `Checked`; on a hold check again whenever something changes. For
    /// `Purpose::Release` and `Purpose::Create` live objects are compared with the baseline or the last completed state,
    /// otherwise only claims, rights and served kinds are looked at. Late values that must be known before the first write are
    /// told with it, those that a refresh is the first to want too. The plan is the object's own.
    Check {
        /// What for.
        purpose: Purpose,
    },
    /// Keep the object's own plan, with the live values at its paths; then tell `Captured`. For `Purpose::Release` live objects
    /// are compared once more, since the checks may be long ago; where they differ, tell `Checked` with the hold.
    Capture {
        /// The plan was refreshed: values that were captured before stay as they are.
        again: bool,
    },
    /// Write, remove and evict; then tell `Written`.
    Play {
        /// What.
        stage: Cow<'a, Stage>,
        /// Versions that the plan's baseline names are written as they were captured.
        originals: bool,
    },
    /// Look at what the stage waits for whenever it may have changed, and tell `Awaited`.
    Await {
        /// For what.
        stage: Cow<'a, Stage>,
        /// What has to stay true meanwhile.
        keep: Stage,
        /// Versions that the plan's baseline names are kept as they were captured.
        originals: bool,
    },
    /// Make it so, and keep it so: a gate or a pause. Tell `Kept` each time that it is so.
    Assert {
        /// What has to stay true.
        keep: Stage,
        /// Versions that the plan's baseline names are kept as they were captured.
        originals: bool,
    },
    /// Remove our `managedFields` entries, labels, finalizer and what was captured; then tell `HandedBack`, then `Offered`.
    HandBack,
}

/// Returns what is recorded after an event. An event that does not fit changes nothing but words.
pub fn next(plan: &Plan, status: &PlanStatus, event: &Event, now: Timestamp) -> PlanStatus {
    let mut next = status.clone();
    happen(&plan.spec, &mut next, event, now);
    // A refresh that is given up before it is captured leaves the plan that was: its stages are not in this one.
    let is_another = runs_object(status) && !runs_object(&next) && status.captured.is_some() && status.captured == next.captured;
    if !is_another {
        advance::advance(&plan.spec, &mut next, now);
    }
    tell::tell(plan, &mut next, now);
    next
}

/// Returns what is to be done. A function of what is recorded alone.
pub fn duty<'a>(plan: &'a Plan, status: &PlanStatus) -> Duty<'a> {
    let Some(cursor) = &status.cursor else { return Duty::Nothing };
    let originals = ways::writes_originals(cursor.part);
    let is_stopped = status.suspended.is_paused();
    match cursor.part {
        Part::Check | Part::Capture if is_stopped => Duty::Nothing,
        Part::Check => Duty::Check { purpose: cursor.purpose },
        Part::Capture => Duty::Capture { again: status.captured.is_some() },
        Part::HandBack => Duty::HandBack,
        Part::Gate => Duty::Assert { keep: ways::kept(&plan.spec, cursor), originals },
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Finish | Part::Settle if is_stopped => {
            Duty::Assert { keep: ways::kept(&plan.spec, cursor), originals }
        }
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Finish | Part::Settle | Part::Abort | Part::AbortFinish => {
            match ways::stage(&plan.spec, cursor) {
                Some(stage) if cursor.written => Duty::Await { stage, keep: ways::kept(&plan.spec, cursor), originals },
                Some(stage) => Duty::Play { stage, originals },
                None => Duty::Nothing,
            }
        }
    }
}

/// Returns when `Tick` has to be told, if nothing else happens before: a grace, a gate or a deadline is over.
pub fn wake_at(plan: &Plan, status: &PlanStatus) -> Option<Timestamp> {
    advance::wake_at(&plan.spec, status)
}

/// Whether `next`, `duty` and `wake_at` want the plan's object. Otherwise they want the plan that `status.captured` keeps.
pub fn runs_object(status: &PlanStatus) -> bool {
    let is_before = |part| matches!(part, Part::Check | Part::Capture);
    status.captured.is_none() || status.cursor.as_ref().is_some_and(|cursor| is_before(cursor.part))
}

fn happen(spec: &PlanSpec, status: &mut PlanStatus, event: &Event, now: Timestamp) {
    match event {
        Event::Offered(offer) => offered::offered(spec, status, offer, now),
        Event::Checked { turn, result } if *turn == status.turn => checked(spec, status, result, now),
        Event::Captured { turn, name } if *turn == status.turn => captured(spec, status, name, now),
        Event::Written { turn } if *turn == status.turn => written(spec, status, now),
        Event::Kept { turn } if *turn == status.turn => status.failure = None,
        Event::Awaited { turn, unmet } if *turn == status.turn => awaited(status, unmet, now),
        Event::HandedBack { turn } if *turn == status.turn => ending::handed_back(status, now),
        // News of another turn, and time, which `advance` looks at.
        Event::Checked { .. }
        | Event::Captured { .. }
        | Event::Written { .. }
        | Event::Kept { .. }
        | Event::Awaited { .. }
        | Event::HandedBack { .. }
        | Event::Tick => {}
        Event::TakenOver => advance::restart_clock(status, now),
        Event::Bound(bindings) => bind(status, bindings),
        Event::Asked(request) => asked::asked(spec, status, request, now),
        // What does not fit was asked too late, and the Rollout's status says where the release is now.
        Event::Commanded { verb, step } => _ = asked::obey(spec, status, *verb, *step, now).err(),
        Event::Suspended { paused, disabled } => {
            asked::suspend(status, *paused, status.suspended.asked, now);
            status.suspended.disabled = *disabled;
            if *disabled {
                ending::abort(status, "the Rollout is disabled", now);
            }
        }
        Event::Deleted => {
            status.deleted = true;
            ending::abort(status, "the plan, its Rollout or its namespace is being deleted", now);
        }
        Event::Failed { reason, permanent } => {
            let same = status.failure.as_ref().filter(|failure| failure.permanent == *permanent);
            let since = same.map_or(now, |failure| failure.since);
            status.failure = Some(Failure { reason: reason.clone(), permanent: *permanent, since });
        }
    }
}

fn checked(spec: &PlanSpec, status: &mut PlanStatus, result: &Result<Bindings, Hold>, now: Timestamp) {
    if result.is_err() && status.captured.is_none() && status.cursor.as_ref().is_some_and(|cursor| cursor.part == Part::Capture) {
        // Something has changed since the checks, and nothing is written yet.
        status.claims.clear();
        status.bindings = Bindings::default();
        advance::turn_to(status, Part::Check, now);
    }
    let Some(cursor) = status.cursor.as_mut().filter(|cursor| cursor.part == Part::Check) else { return };
    status.failure = None;
    match result {
        Err(hold) => cursor.hold = Some(hold.clone()),
        Ok(bindings) => {
            cursor.hold = None;
            let part = match cursor.purpose {
                Purpose::Release | Purpose::Refresh => Part::Capture,
                Purpose::Create | Purpose::Settle => Part::Settle,
            };
            let bindings = bindings.clone();
            status.claims = spec.paths.iter().map(|entry| entry.object.clone()).collect();
            bind(status, &bindings);
            advance::turn_to(status, part, now);
        }
    }
}

fn captured(spec: &PlanSpec, status: &mut PlanStatus, name: &str, now: Timestamp) {
    let Some(cursor) = status.cursor.as_mut().filter(|cursor| cursor.part == Part::Capture) else { return };
    status.captured = Some(name.to_owned());
    let (part, step) = match cursor.purpose {
        Purpose::Refresh if cursor.step > 0 => (Part::Reassert, cursor.step.min(ways::last_step(spec))),
        Purpose::Release | Purpose::Refresh | Purpose::Create | Purpose::Settle => (Part::Stages, 1),
    };
    cursor.goal = cursor.goal.map(|goal| goal.min(ways::last_step(spec)));
    let refreshed = cursor.refreshed;
    advance::enter(status, part, step, now);
    let pods = pods::of_step(spec, step, &status.bindings);
    if let Some(cursor) = status.cursor.as_mut().filter(|cursor| cursor.part == Part::Reassert) {
        let shrinks = |ready| pods.is_some_and(|pods| pods < ready);
        cursor.refreshed = refreshed.map(|Refreshed { ready, .. }| Refreshed { ready, shrinks: shrinks(ready) });
    }
}

fn written(spec: &PlanSpec, status: &mut PlanStatus, now: Timestamp) {
    let Some(cursor) = status.cursor.as_mut() else { return };
    status.failure = None;
    let Some(stage) = ways::stage(spec, cursor) else { return };
    if !cursor.written {
        cursor.written = true;
        cursor.holding = (!ways::looks(&stage)).then_some(now);
    }
}

fn awaited(status: &mut PlanStatus, unmet: &[String], now: Timestamp) {
    let Some(cursor) = status.cursor.as_mut().filter(|cursor| cursor.written) else { return };
    status.failure = None;
    cursor.unmet = unmet.to_vec();
    cursor.holding = if unmet.is_empty() { cursor.holding.or(Some(now)) } else { None };
}

/// Adds what was found. A stable revision stays what it was first: it names what the release began with.
fn bind(status: &mut PlanStatus, found: &Bindings) {
    let bindings = &mut status.bindings;
    if bindings.stable_revision.is_none() {
        bindings.stable_revision.clone_from(&found.stable_revision);
    }
    if found.canary_revision.is_some() {
        bindings.canary_revision.clone_from(&found.canary_revision);
    }
    bindings.replicas = found.replicas.or(bindings.replicas);
}

#[cfg(test)]
pub(crate) mod tests;
