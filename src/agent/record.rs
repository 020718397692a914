//! The status of a plan in the cluster: read, and written with the resource version that was read.
//!
//! What cannot be read is not written over: it may be all that leads back to what ran before. Fields that another version of
//! the agent has added are written back as they were read.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::attend::Attendance;
use super::events::Kind;
use super::tidings;
use super::trouble::Trouble;
use super::unknown::Unknown;
use crate::model::{Condition, Part, Phase, PlanStatus, Writer};

/// How long one wording of what is waited for stands at least.
pub(super) const REWORDED: Duration = Duration::from_secs(1);

/// Fields that say in words what the others record: the machine writes all of them anew. A newer agent may have a phase, or a
/// cause of a hold, that this one has no word for.
const WORDS: [(&str, &str); 5] = [("", "phase"), ("", "waitingFor"), ("", "conditions"), ("/cursor", "hold"), ("/cursor", "unmet")];

/// Reads the status of a plan's object, and the fields of it that this version does not know. A status that cannot be read is
/// told, never guessed: it says what was written. Words that cannot be read are left out.
pub(super) fn read(object: &Value) -> Result<(PlanStatus, Unknown), String> {
    let Some(stored) = object.get("status").filter(|status| status.as_object().is_some_and(|fields| !fields.is_empty())) else {
        return Ok((PlanStatus::default(), Unknown::default()));
    };
    let known = |stored: &Value| PlanStatus::deserialize(stored);
    let with_unknown = |status: PlanStatus, stored: &Value| {
        let unknown = serde_json::to_value(&status).map(|known| Unknown::of(stored, &known));
        (status, unknown.unwrap_or_default())
    };
    let error = match known(stored) {
        Ok(status) => return Ok(with_unknown(status, stored)),
        Err(error) => error,
    };
    let mut rest = stored.clone();
    for (parent, field) in WORDS {
        rest.pointer_mut(parent).and_then(Value::as_object_mut).and_then(|fields| fields.remove(field));
    }
    match known(&rest) {
        Ok(status) => Ok(with_unknown(status, &rest)),
        Err(_) => Err(format!("`status` cannot be read: {error}")),
    }
}

/// Returns what can be read of a status that cannot be read as a whole: what is claimed, where what is kept is found, and what
/// people are told.
pub(super) fn readable_part(object: &Value) -> PlanStatus {
    fn field<T: DeserializeOwned + Default>(object: &Value, field: &str) -> T {
        let value = object.get("status").and_then(|status| status.get(field)).cloned();
        value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }
    PlanStatus {
        claims: field(object, "claims"),
        captured: field(object, "captured"),
        waiting_for: field(object, "waitingFor"),
        conditions: field(object, "conditions"),
        ..PlanStatus::default()
    }
}

/// The status of a plan with which nothing can be done: what is recorded of its release stays as it is, and the words say why.
pub(super) fn stuck(status: &PlanStatus, reason: &str, words: &str, now: Timestamp) -> PlanStatus {
    let mut next = status.clone();
    next.phase = Phase::Stalled;
    next.waiting_for = Some(words.to_owned());
    let conditions = [("Ready", false), ("Reconciling", false), ("Stalled", true), ("InSync", false)];
    next.conditions = conditions
        .into_iter()
        .map(|(kind, holds)| {
            let holds = if holds { "True" } else { "False" };
            let since = status.condition(kind).filter(|before| before.status == holds).map(|before| before.last_transition_time);
            Condition {
                kind: kind.to_owned(),
                status: holds.to_owned(),
                reason: reason.to_owned(),
                message: words.to_owned(),
                last_transition_time: since.unwrap_or(now),
                observed_generation: status.observed_generation,
            }
        })
        .collect();
    next
}

/// Whether nothing has changed but what is waited for, in words.
fn is_reworded(before: &PlanStatus, after: &PlanStatus) -> bool {
    let silent = |status: &PlanStatus| {
        let mut status = status.clone();
        status.waiting_for = None;
        if let Some(cursor) = &mut status.cursor {
            cursor.unmet.clear();
        }
        for condition in &mut status.conditions {
            condition.message.clear();
        }
        status
    };
    silent(before) == silent(after)
}

impl Attendance {
    /// Records the status if it has changed, and tells what is worth telling.
    pub(super) async fn record(&mut self) -> Result<(), Trouble> {
        if self.status == self.recorded {
            return Ok(());
        }
        if has_reached_a_gate(&self.recorded, &self.status)
            && let Some(plan) = self.plan()
        {
            // First where OpenKruise's clients look: who reads of the gate in the plan may approve it there at once. What cannot
            // be shown now is shown at the end of the pass.
            let _ = self.publish(&plan).await;
        }
        match self.write_status().await {
            // Deleted, and nothing held it back any more: the release is over.
            Err(Trouble::NotFound(_)) if self.status.is_at_rest() => {}
            // Without a status nobody knows where the release stands, so nothing more is written.
            Err(Trouble::NotFound(_)) => return Err(Trouble::Conflict("the plan is gone in mid-release".to_owned())),
            written => written?,
        }
        let before = std::mem::replace(&mut self.recorded, self.status.clone());
        self.count();
        if let Some(last) = self.status.last.as_ref().filter(|last| before.last.as_ref() != Some(last)) {
            self.shared.metrics.ended(&format!("{:?}", last.outcome));
        }
        self.announce(tidings::between(&before, &self.status)).await;
        if self.status.is_at_rest() {
            self.shared.claims.release(&self.key);
            self.shared.interests.release(&self.key.namespace);
        }
        Ok(())
    }

    /// The same when there is nothing more to do. Nothing but other words waits a moment: each record writes the whole plan.
    pub(super) async fn record_at_the_end(&mut self) -> Result<(), Trouble> {
        if self.status == self.recorded {
            return Ok(());
        }
        if is_reworded(&self.recorded, &self.status) {
            if self.reworded.is_some_and(|reworded| reworded.elapsed() < REWORDED) {
                return Ok(());
            }
            self.reworded = Some(Instant::now());
        }
        self.record().await
    }

    pub(super) async fn write_status(&mut self) -> Result<(), Trouble> {
        let identity = self.shared.identity.to_string();
        self.status.agent = Some(Writer { version: env!("CARGO_PKG_VERSION").to_owned(), identity });
        let mut value = serde_json::to_value(&self.status).map_err(|error| Trouble::Refused(error.to_string()))?;
        self.unknown.put_back(&mut value);
        self.patch_status(vec![json!({"op": "add", "path": "/status", "value": value})]).await?;
        self.has_written = true;
        Ok(())
    }

    /// Whether the times in the status are ours.
    pub(super) fn is_by_our_clock(&self) -> bool {
        self.status.agent.as_ref().is_some_and(|writer| *writer.identity == *self.shared.identity)
    }

    /// Tells of another agent that writes the status while this one leads: both have a Lease of their own, or none.
    pub(super) async fn tell_of_another(&mut self) {
        let Some(other) = self.status.agent.as_ref().filter(|_| self.has_written && !self.is_by_our_clock()) else { return };
        let other = other.identity.clone();
        if self.told_other.as_ref() != Some(&other) {
            let message = format!(
                "the agent `{}` writes the status of this plan while `{}` does: two agents that do not share a Lease work on it; stop one",
                other.escape_debug(),
                self.shared.identity
            );
            self.tell(Kind::Warning, "AnotherAgent", &message).await;
            self.told_other = Some(other);
        }
    }

    /// Writes of a status that cannot be read no more than what says so. Returns whether that is news.
    pub(super) async fn write_words(&mut self, said: &PlanStatus) -> Result<bool, Trouble> {
        if (&said.waiting_for, &said.conditions) == (&self.status.waiting_for, &self.status.conditions) {
            return Ok(false);
        }
        let values = serde_json::to_value(said).map_err(|error| Trouble::Refused(error.to_string()))?;
        let add = |field: &str| json!({"op": "add", "path": format!("/status/{field}"), "value": values.get(field)});
        self.patch_status(["phase", "waitingFor", "conditions"].map(add).to_vec()).await?;
        Ok(true)
    }

    /// Writes to the status, unless the object has changed since it was read.
    async fn patch_status(&mut self, operations: Vec<Value>) -> Result<(), Trouble> {
        let version = self.object.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        let mut patch = vec![json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version})];
        patch.extend(operations);
        let written = self.shared.api.patch_for_metadata(&format!("{}/status", self.address), &patch).await?;
        self.object["metadata"]["resourceVersion"] = json!(written.metadata.resource_version);
        if let Some(finalizers) = written.metadata.finalizers {
            self.object["metadata"]["finalizers"] = json!(finalizers);
        }
        Ok(())
    }
}

fn has_reached_a_gate(before: &PlanStatus, after: &PlanStatus) -> bool {
    let gate = |status: &PlanStatus| status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate).map(|cursor| cursor.step);
    gate(after).is_some() && gate(before) != gate(after)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Unknown, read, readable_part};
    use crate::model::Phase;

    #[test]
    fn of_a_status_that_cannot_be_read_the_claims_are() {
        let object = json!({"status": {"phase": "Baking", "claims": ["Service/shop"], "captured": "rollout-shop-2", "turn": "x"}});
        assert!(read(&object).unwrap_err().starts_with("`status` cannot be read: "));
        let part = readable_part(&object);
        assert_eq!((part.claims.len(), part.captured.as_deref(), part.conditions.len()), (1, Some("rollout-shop-2"), 0));
        assert_eq!(read(&json!({})).unwrap(), (readable_part(&json!({})), Unknown::default()));
    }

    #[test]
    fn words_of_a_newer_agent_keep_no_release_up_and_are_replaced() {
        let time = "2026-01-01T00:00:00Z";
        let cursor = json!({"part": "check", "since": time, "entered": time, "hold": {"cause": "Moonlight", "message": "full"}});
        let object = json!({"status": {"phase": "Baking", "conditions": 7, "turn": 4, "cursor": cursor}});
        let (status, mut unknown) = read(&object).unwrap();
        assert_eq!((status.phase, status.turn, status.cursor.as_ref().and_then(|cursor| cursor.hold.as_ref())), (Phase::Holding, 4, None));
        let mut written = serde_json::to_value(&status).unwrap();
        unknown.put_back(&mut written);
        assert_eq!((&written["phase"], &written["cursor"]["hold"]), (&json!("Holding"), &json!(null)));
    }
}
