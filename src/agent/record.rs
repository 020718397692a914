//! The status of a plan in the cluster: read, and written with the resource version that was read.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::Api;
use super::glimpse::Glimpse;
use super::trouble::Trouble;
use crate::model::{Condition, Phase, PlanStatus};

/// Reads the status of a plan's object. One that cannot be read is told, never guessed: it says what was written.
pub(super) fn read(object: &Value) -> Result<PlanStatus, String> {
    match object.get("status").filter(|status| status.as_object().is_some_and(|fields| !fields.is_empty())) {
        Some(status) => serde_json::from_value(status.clone()).map_err(|error| format!("`status` cannot be read: {error}")),
        None => Ok(PlanStatus::default()),
    }
}

/// Writes the status, unless the object has changed since it was read. Returns the object's metadata.
pub(super) async fn write(api: &Api, address: &str, resource_version: &str, status: &PlanStatus) -> Result<Glimpse, Trouble> {
    let value = serde_json::to_value(status).map_err(|error| Trouble::Refused(error.to_string()))?;
    let operations = [
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version}),
        json!({"op": "add", "path": "/status", "value": value}),
    ];
    api.patch_for_metadata(&format!("{address}/status"), &operations).await
}

/// The status of a plan that cannot be read, or of which nothing is known but that: what runs stays as it is.
pub(super) fn unreadable(status: &PlanStatus, generation: i64, problem: &str, now: Timestamp) -> PlanStatus {
    let mut next = status.clone();
    next.observed_generation = Some(generation);
    next.phase = Phase::Stalled;
    next.waiting_for = Some(format!("a plan that can be used: {problem}"));
    let conditions = [("Ready", false), ("Reconciling", false), ("Stalled", true), ("InSync", false)];
    next.conditions = conditions
        .into_iter()
        .map(|(kind, holds)| {
            let holds = if holds { "True" } else { "False" };
            let since = status.condition(kind).filter(|before| before.status == holds).map(|before| before.last_transition_time);
            Condition {
                kind: kind.to_owned(),
                status: holds.to_owned(),
                reason: "PlanRefused".to_owned(),
                message: problem.to_owned(),
                last_transition_time: since.unwrap_or(now),
                observed_generation: Some(generation),
            }
        })
        .collect();
    next
}
