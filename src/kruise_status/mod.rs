//! The Rollout's own status, in OpenKruise's words: what its clients read of a release, and what they ask for by writing it.
//!
//! Only a projection: nothing is decided from it but the commands that users put there. No IO.

mod commands;
mod conditions;
mod patch;
mod step;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use commands::{Command, commands};
pub use patch::patch;

use self::step::Position;
use crate::model::{Outcome, Phase, Plan, PlanStatus, Style};

/// The label or annotation of a workload that names its release.
const ROLLOUT_ID: &str = "rollouts.kruise.io/rollout-id";

/// Live objects that the projection is made from, as the API server answers them.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The Rollout.
    pub rollout: &'a Value,
    /// The released workload. `None`: there is none.
    pub workload: Option<&'a Value>,
    /// The second workload of a release in Canary style, while there is one.
    pub canary: Option<&'a Value>,
}

/// Returns the fields of `Rollout.status` that are ours, as they should be. What else stands there is left alone.
pub fn project(plan: &Plan, status: &PlanStatus, seen: Seen<'_>, now: Timestamp) -> Map<String, Value> {
    let before = &seen.rollout["status"];
    let position = Position::of(plan, status, before);
    let phase = phase(status, seen);
    let message = message(status, seen, phase);
    let mut fields = Map::new();
    fields.insert("observedGeneration".into(), seen.rollout["metadata"]["generation"].clone());
    fields.insert("phase".into(), phase.into());
    fields.insert("message".into(), message.into());
    fields.insert("currentStepIndex".into(), position.index.into());
    fields.insert("currentStepState".into(), position.state.into());
    fields.insert("conditions".into(), conditions::conditions(status, phase, before, now));
    fields.insert(sub_status_name(plan.spec.style).into(), sub_status(plan, status, seen, &position, now));
    fields
}

/// The field with what only one style has.
fn sub_status_name(style: Style) -> &'static str {
    match style {
        Style::Canary | Style::Partition => "canaryStatus",
        Style::BlueGreen => "blueGreenStatus",
    }
}

fn phase(status: &PlanStatus, seen: Seen<'_>) -> &'static str {
    let is_at_rest = status.is_at_rest();
    if status.deleted || !seen.rollout["metadata"]["deletionTimestamp"].is_null() {
        return "Terminating";
    }
    if status.suspended.disabled {
        return if is_at_rest { "Disabled" } else { "Disabling" };
    }
    match (is_at_rest, seen.workload) {
        (true, None) => "Initial",
        (true, Some(_)) => "Healthy",
        (false, _) => "Progressing",
    }
}

/// What is going on, in a sentence; the three that clients know stay as they know them.
fn message(status: &PlanStatus, seen: Seen<'_>, phase: &str) -> String {
    if let Some(waiting) = &status.waiting_for {
        return waiting.clone();
    }
    let last = status.last.as_ref();
    match (phase, status.phase) {
        ("Disabled", _) => "Rollout is disabled".to_owned(),
        ("Initial", _) if seen.workload.is_none() => "Workload Not Found".to_owned(),
        (_, Phase::Bypassed) => "the workload was rolled out by somebody else".to_owned(),
        ("Healthy", _) => match last.map(|last| last.outcome) {
            Some(Outcome::Succeeded) => "Rollout progressing has been completed".to_owned(),
            Some(Outcome::Aborted | Outcome::Superseded) => "Rollout progressing has been cancelled".to_owned(),
            None => "rollout is healthy".to_owned(),
        },
        _ => "Rollout is in Progressing".to_owned(),
    }
}

fn sub_status(plan: &Plan, status: &PlanStatus, seen: Seen<'_>, position: &Position, now: Timestamp) -> Value {
    let bindings = &status.bindings;
    let revision = bindings.canary_revision.clone().unwrap_or_default();
    let name = sub_status_name(plan.spec.style);
    let (prefix, canary) = match plan.spec.style {
        Style::Canary => ("canary", seen.canary.map(|canary| (&canary["status"]["replicas"], &canary["status"]["readyReplicas"]))),
        Style::Partition => ("canary", seen.workload.map(updated)),
        Style::BlueGreen => ("updated", seen.workload.map(updated)),
    };
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
    let mut fields = json!({
        "observedWorkloadGeneration": seen.workload.map_or(Value::Null, |workload| workload["metadata"]["generation"].clone()),
        "observedRolloutID": rollout_id(seen, &revision, status),
        "rolloutHash": status.digest.clone().unwrap_or_default(),
        "stableRevision": bindings.stable_revision.clone().unwrap_or_default(),
        "podTemplateHash": revision,
        "currentStepIndex": position.index,
        "nextStepIndex": position.next,
        "currentStepState": position.state,
        "finalisingStep": position.finalising,
        "lastUpdateTime": status.cursor.as_ref().map_or(now, |cursor| cursor.since),
    });
    fields[format!("{prefix}Revision")] = json!(revision);
    fields[format!("{prefix}Replicas")] = json!(count(canary.map(|(all, _)| all)));
    fields[format!("{prefix}ReadyReplicas")] = json!(count(canary.map(|(_, ready)| ready)));
    if status.is_at_rest() {
        // The last move was then, not now: a status that says the same is not written again.
        let before = &seen.rollout["status"][name];
        for kept in ["lastUpdateTime", "stableRevision", "podTemplateHash", "observedRolloutID"] {
            let is_unknown = kept == "lastUpdateTime" || fields[kept] == "";
            if let Some(value) = before.get(kept).filter(|value| is_unknown && !value.is_null()) {
                fields[kept] = value.clone();
            }
        }
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    fields
}

fn updated(workload: &Value) -> (&Value, &Value) {
    let status = &workload["status"];
    (&status["updatedReplicas"], &status["updatedReadyReplicas"])
}

/// The release by the name that the workload gives it, else by its revision; a way back says so.
fn rollout_id(seen: Seen<'_>, revision: &str, status: &PlanStatus) -> String {
    let metadata = seen.workload.map(|workload| &workload["metadata"]);
    let named = ["labels", "annotations"].iter().find_map(|place| metadata?.get(place)?.get(ROLLOUT_ID)?.as_str());
    let id = named.unwrap_or(revision);
    let is_way_back = matches!(status.phase, Phase::Aborting);
    if is_way_back && named.is_none() && !id.is_empty() { format!("rollback-{id}") } else { id.to_owned() }
}

#[cfg(test)]
mod tests;
