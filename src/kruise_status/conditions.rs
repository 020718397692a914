//! OpenKruise's conditions: `Progressing`, `Succeeded`, `Terminating`. Conditions of others are kept.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::{Outcome, Part, PlanStatus};

const OURS: [&str; 3] = ["Progressing", "Succeeded", "Terminating"];

/// Returns the conditions as they should be. One that says what it said keeps its times.
pub(super) fn conditions(status: &PlanStatus, phase: &str, before: &Value, now: Timestamp) -> Value {
    let old = before["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let message = status.waiting_for.clone().unwrap_or_default();
    let mut conditions: Vec<Value> = old.iter().filter(|condition| !OURS.iter().any(|ours| condition["type"] == *ours)).cloned().collect();
    let mut say = |kind: &str, holds: bool, reason: &str, message: &str| {
        let value = if holds { "True" } else { "False" };
        let last = old.iter().find(|condition| condition["type"] == kind);
        let time = |field: &str, same: bool| match last.filter(|_| same) {
            Some(last) if last[field].is_string() => last[field].clone(),
            Some(_) | None => json!(now),
        };
        let same_value = last.is_some_and(|last| last["status"] == value);
        let same = same_value && last.is_some_and(|last| last["reason"] == reason && last["message"] == message);
        conditions.push(json!({
            "type": kind, "status": value, "reason": reason, "message": message,
            "lastUpdateTime": time("lastUpdateTime", same), "lastTransitionTime": time("lastTransitionTime", same_value),
        }));
    };
    if let Some(reason) = progressing(status) {
        say("Progressing", reason != "Completed", reason, if reason == "Completed" { "" } else { &message });
    }
    let outcome = status.last.as_ref().filter(|_| status.is_at_rest()).map(|last| last.outcome);
    if let Some(outcome) = outcome {
        say("Succeeded", outcome == Outcome::Succeeded, "", "");
    }
    if phase == "Terminating" {
        let is_over = status.is_at_rest();
        say("Terminating", !is_over, if is_over { "Completed" } else { "InTerminating" }, "");
    }
    Value::Array(conditions)
}

/// The reason of `Progressing`. `None`: no release was ever made.
fn progressing(status: &PlanStatus) -> Option<&'static str> {
    let Some(cursor) = &status.cursor else { return status.last.as_ref().map(|_| "Completed") };
    let is_way_back = cursor.ending.as_ref().is_some_and(|ending| ending.outcome != Outcome::Succeeded);
    Some(match cursor.part {
        Part::Abort | Part::AbortFinish => "Cancelling",
        Part::HandBack if is_way_back => "Cancelling",
        _ if status.suspended.is_paused() => "Paused",
        Part::Check | Part::Capture => "Initializing",
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate => "InRolling",
        Part::Finish | Part::Settle | Part::HandBack => "Finalising",
    })
}
