//! The status in words: phase, what is waited for and the command that continues, conditions as kstatus reads them.

use jiff::Timestamp;

use super::offered::awaits_retry;
use super::{advance, ways};
use crate::model::{Condition, Cursor, Gate, HoldCause, Outcome, Part, Phase, Plan, PlanSpec, PlanStatus, Purpose, Stage};

/// Makes the words say what the rest of the status says.
pub(super) fn tell(plan: &Plan, status: &mut PlanStatus, now: Timestamp) {
    status.phase = phase(status);
    status.waiting_for = waiting_for(plan, status);
    conditions(status, now);
}

fn phase(status: &PlanStatus) -> Phase {
    if status.failure.as_ref().is_some_and(|failure| failure.permanent) {
        return Phase::Stalled;
    }
    let Some(cursor) = &status.cursor else { return phase_at_rest(status) };
    let is_paused = status.suspended.is_paused();
    match cursor.part {
        Part::Abort | Part::AbortFinish => Phase::Aborting,
        Part::HandBack => match cursor.ending.as_ref().map(|ending| ending.outcome) {
            Some(Outcome::Aborted | Outcome::Superseded) => Phase::Aborting,
            Some(Outcome::Succeeded) | None => Phase::Finishing,
        },
        _ if is_paused => Phase::Paused,
        Part::Check if cursor.hold.is_some() => Phase::Holding,
        Part::Check | Part::Capture if cursor.purpose == Purpose::Release => Phase::Holding,
        Part::Stages | Part::EnterFromAbove | Part::Reassert if cursor.late => Phase::Stalled,
        Part::Check | Part::Capture | Part::Stages | Part::EnterFromAbove | Part::Reassert => Phase::Running,
        Part::Gate => Phase::Gated,
        Part::Finish | Part::Settle => Phase::Finishing,
    }
}

fn phase_at_rest(status: &PlanStatus) -> Phase {
    let last = status.last.as_ref();
    match &status.release {
        _ if status.bypass.is_some() => Phase::Bypassed,
        None if status.digest.is_some() => Phase::Preview,
        Some(release) if last.is_some_and(|last| last.release == *release) => match last.map(|last| last.outcome) {
            Some(Outcome::Succeeded) => Phase::Succeeded,
            Some(Outcome::Aborted) => Phase::Aborted,
            Some(Outcome::Superseded) | None => Phase::Holding,
        },
        Some(_) | None => Phase::Holding,
    }
}

fn waiting_for(plan: &Plan, status: &PlanStatus) -> Option<String> {
    let words = place(plan, status);
    match &status.failure {
        Some(failure) if failure.permanent => {
            let approved = status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate && cursor.approved);
            let then = approved.map_or_else(String::new, |cursor| format!("; step {} is approved, and is left then", cursor.step));
            Some(format!("{}{then}", failure.reason))
        }
        Some(failure) => Some(format!("{} (tried again by itself)", failure.reason)),
        None => words,
    }
}

fn place(plan: &Plan, status: &PlanStatus) -> Option<String> {
    let rollout = format!("rollout/{} -n {}", plan.spec.rollout.name, plan.namespace);
    let Some(cursor) = &status.cursor else {
        if status.suspended.disabled && !matches!(phase_at_rest(status), Phase::Succeeded | Phase::Preview | Phase::Bypassed) {
            return Some("the Rollout, which is disabled: take `spec.disabled` out of it".to_owned());
        }
        let retry = || format!("a retry: rollout retry {} -n {}; or another release", plan.name, plan.namespace);
        return (awaits_retry(status) && !status.deleted).then(retry);
    };
    let is_under_way_back = matches!(cursor.part, Part::Abort | Part::AbortFinish | Part::HandBack);
    if status.suspended.is_paused() && !is_under_way_back {
        return Some(if status.suspended.paused {
            format!("the end of the pause: kubectl-kruise rollout resume {rollout}")
        } else {
            format!("the end of the pause: rollout resume {} -n {}", plan.name, plan.namespace)
        });
    }
    match cursor.part {
        Part::Check => {
            Some(cursor.hold.as_ref().map_or_else(|| "the checks before the first write".to_owned(), |hold| hold.message.clone()))
        }
        Part::Capture => Some("the plan and the live values to be kept".to_owned()),
        Part::Gate => gate(&plan.spec, cursor, &rollout),
        Part::HandBack => Some("the agent's own traces to be gone".to_owned()),
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Finish | Part::Settle | Part::Abort | Part::AbortFinish => {
            let words = ways::stage(&plan.spec, cursor).map_or_else(|| "the next stage".to_owned(), |stage| waits(cursor, &stage));
            let abort = format!("; to give up: rollout abort {} -n {}", plan.name, plan.namespace);
            Some(format!("{}: {words}{}", way(cursor), if cursor.late { late(&plan.spec, cursor) + &abort } else { String::new() }))
        }
    }
}

/// Which way, for people.
fn way(cursor: &Cursor) -> String {
    match cursor.part {
        Part::Stages | Part::EnterFromAbove => format!("step {}", cursor.step),
        Part::Reassert => format!("step {} once more", cursor.step),
        Part::Finish => "finish".to_owned(),
        Part::Settle => "target".to_owned(),
        Part::Abort | Part::AbortFinish => "abort".to_owned(),
        Part::Check | Part::Capture | Part::Gate | Part::HandBack => "release".to_owned(),
    }
}

fn late(spec: &PlanSpec, cursor: &Cursor) -> String {
    advance::deadline(spec, cursor).map_or_else(String::new, |(at, _)| format!("; the deadline passed at {}", clock(at)))
}

fn waits(cursor: &Cursor, stage: &Stage) -> String {
    if !cursor.written {
        let names = stage.write.iter().map(|version| version.object().to_string()).chain(stage.remove.iter().map(|it| format!("-{it}")));
        let names: Vec<String> = names.chain(stage.evict.iter().map(|evict| format!("pods of {}", evict.workload))).collect();
        return if names.is_empty() { "nothing to write".to_owned() } else { format!("{} to be written", names.join(", ")) };
    }
    if let Some(since) = cursor.holding {
        let seconds = ways::grace(stage);
        return format!("{seconds} s of grace, until {}", clock(advance::later(since, seconds)));
    }
    if cursor.unmet.is_empty() { "what was written to take effect".to_owned() } else { cursor.unmet.join(", ") }
}

fn gate(spec: &PlanSpec, cursor: &Cursor, rollout: &str) -> Option<String> {
    let step = ways::step(spec, cursor.step)?;
    let plan = rollout.strip_prefix("rollout/").unwrap_or(rollout);
    let approve = format!("rollout approve {plan}, or kubectl-kruise rollout approve {rollout}");
    Some(match step.gate {
        Gate::Approval {} => format!("approval of step {}: {approve}", cursor.step),
        Gate::Seconds(seconds) => {
            let until = clock(advance::later(cursor.since, seconds));
            format!("the end of step {}, {seconds} s, at {until}; at once: {approve}", cursor.step)
        }
        Gate::None {} => format!("the end of step {}", cursor.step),
    })
}

/// A time in whole seconds.
fn clock(at: Timestamp) -> String {
    at.round(jiff::Unit::Second).unwrap_or(at).to_string()
}

/// What a condition says.
struct Says {
    holds: bool,
    reason: String,
}

fn conditions(status: &mut PlanStatus, now: Timestamp) {
    let phase = status.phase;
    let reason = reason(status);
    let held = status.cursor.as_ref().and_then(|cursor| cursor.hold.as_ref()).map(|hold| hold.cause);
    let is_stuck_before = phase == Phase::Holding && held.is_some_and(needs_a_person);
    let stalled = matches!(phase, Phase::Stalled | Phase::Aborted) || is_stuck_before;
    let ready = matches!(phase, Phase::Succeeded | Phase::Bypassed | Phase::Preview);
    let in_sync = matches!(phase, Phase::Succeeded | Phase::Bypassed | Phase::Gated | Phase::Preview) && status.failure.is_none();
    let message = status.waiting_for.clone().or_else(|| ended(status)).unwrap_or_default();
    let says = |holds: bool| Says { holds, reason: reason.clone() };
    let mut told =
        vec![("Ready", says(ready)), ("Reconciling", says(!ready && !stalled)), ("Stalled", says(stalled)), ("InSync", says(in_sync))];
    if status.bypass.is_some() {
        told.push(("Bypassed", says(true)));
    }
    let conditions = told.into_iter().map(|(kind, says)| {
        let holds = if says.holds { "True" } else { "False" };
        let before = status.condition(kind).filter(|before| before.status == holds);
        Condition {
            kind: kind.to_owned(),
            status: holds.to_owned(),
            reason: says.reason,
            message: message.clone(),
            last_transition_time: before.map_or(now, |before| before.last_transition_time),
            observed_generation: status.observed_generation,
        }
    });
    status.conditions = conditions.collect();
}

/// Whether what holds a release before its first write passes only when somebody does something.
fn needs_a_person(cause: HoldCause) -> bool {
    match cause {
        HoldCause::Claimed | HoldCause::NotRolledOut => false,
        HoldCause::Differs | HoldCause::Forbidden | HoldCause::NotServed | HoldCause::OtherController => true,
    }
}

fn reason(status: &PlanStatus) -> String {
    let cursor = status.cursor.as_ref();
    match (status.phase, cursor) {
        (Phase::Stalled, Some(cursor)) if status.failure.is_none() && cursor.late => "DeadlineExceeded".to_owned(),
        (Phase::Holding, Some(Cursor { hold: Some(hold), .. })) => format!("{:?}", hold.cause),
        (phase, _) => format!("{phase:?}"),
    }
}

/// The last end in words, at rest.
fn ended(status: &PlanStatus) -> Option<String> {
    if let Some(bypass) = &status.bypass {
        let at = bypass.at.map_or_else(String::new, |at| format!(" at {}", clock(at)));
        return Some(format!("`{}` wrote the target{at}, past the plan", bypass.manager));
    }
    let last = status.last.as_ref().filter(|last| status.release.as_ref() == Some(&last.release))?;
    match last.outcome {
        Outcome::Succeeded => Some("the target runs".to_owned()),
        Outcome::Aborted | Outcome::Superseded => Some(last.reason.clone()),
    }
}
