//! How far the rollout of a workload has come: how many of its pods are of the newest template, and available.
//!
//! Read from the workload's own status; no request is made.

use serde_json::Value;

/// The pods of a workload, as its status counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Availability {
    /// Whether the controller has seen the newest spec. The counts are of an older one otherwise.
    pub(super) is_observed: bool,
    /// How many pods there should be.
    pub(super) wanted: u64,
    /// How many there are.
    all: u64,
    /// How many are of the newest template.
    updated: u64,
    /// How many are available, of whichever template.
    available: u64,
}

impl Availability {
    /// Reads the status of a live workload.
    pub(super) fn of(live: &Value) -> Self {
        let status = |field: &str| number(live, &format!("/status/{field}")).unwrap_or_default();
        let is_observed = is_observed(live);
        if live.pointer("/status/desiredNumberScheduled").is_some() {
            let (wanted, updated) = (status("desiredNumberScheduled"), status("updatedNumberScheduled"));
            return Self { is_observed, wanted, all: wanted, updated, available: status("numberAvailable") };
        }
        let wanted = number(live, "/spec/replicas").unwrap_or(1);
        Self { is_observed, wanted, all: status("replicas"), updated: status("updatedReplicas"), available: status("availableReplicas") }
    }

    /// Whether every pod is of the newest template, and available.
    pub(super) fn is_complete(self) -> bool {
        self.is_observed && self.updated == self.wanted && self.all == self.wanted && self.available == self.wanted
    }

    /// How many pods of the newest template are available at most: the status does not tell by template.
    pub(super) fn ready(self) -> u64 {
        self.updated.min(self.available)
    }

    /// How many pods of older templates are left.
    pub(super) fn old(self) -> u64 {
        self.all.saturating_sub(self.updated)
    }
}

/// Whether the object's controller has seen its newest spec.
pub(super) fn is_observed(live: &Value) -> bool {
    number(live, "/status/observedGeneration").unwrap_or_default() >= number(live, "/metadata/generation").unwrap_or_default()
}

/// What the workload's controller complains about, in brackets; empty when it does not.
pub(super) fn complaint(live: &Value) -> String {
    if live.pointer("/spec/paused").and_then(Value::as_bool) == Some(true) {
        return " (it is paused: `spec.paused`)".to_owned();
    }
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let complaint = conditions.iter().find(|condition| match text(condition, "type").as_str() {
        "ReplicaFailure" => text(condition, "status") == "True",
        "Progressing" => text(condition, "status") == "False",
        _ => false,
    });
    complaint.map(|condition| format!(" ({})", text(condition, "message"))).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Availability, complaint};

    fn is_complete(status: &Value) -> bool {
        Availability::of(&json!({"metadata": {"generation": 2}, "spec": {"replicas": 3}, "status": status})).is_complete()
    }

    #[test]
    fn a_rollout_is_complete_when_all_pods_are_new_and_available_and_no_other_is_left() {
        let status = |all: u64, updated: u64, available: u64| json!({"observedGeneration": 2, "replicas": all, "updatedReplicas": updated, "availableReplicas": available});
        assert!(is_complete(&status(3, 3, 3)));
        for (all, updated, available) in [(4, 3, 3), (3, 2, 3), (3, 3, 2), (0, 0, 0)] {
            assert!(!is_complete(&status(all, updated, available)), "{all} {updated} {available}");
        }
        let mut behind = status(3, 3, 3);
        behind["observedGeneration"] = json!(1);
        assert!(!is_complete(&behind), "the counts are of the spec before");
        assert!(!is_complete(&json!({})));
    }

    #[test]
    fn a_daemon_set_counts_by_nodes() {
        let status = |available: u64| json!({"observedGeneration": 2, "desiredNumberScheduled": 5, "updatedNumberScheduled": 5, "numberAvailable": available});
        assert!(is_complete(&status(5)));
        assert!(!is_complete(&status(4)));
    }

    #[test]
    fn a_quota_and_a_pause_are_named_as_the_reason() {
        let live = json!({"status": {"conditions": [
            {"type": "Available", "status": "False", "message": "not this"},
            {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: pods"},
        ]}});
        assert_eq!(complaint(&live), " (exceeded quota: pods)");
        assert_eq!(complaint(&json!({"spec": {"paused": true}})), " (it is paused: `spec.paused`)");
    }
}
