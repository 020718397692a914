//! Whether the baseline of a release is rolled out: every pod of the workload is of its newest template, and available.
//!
//! A step pins the stable Service to the newest revision, and the way back leads to it. Pods that are of another revision get no
//! request from then on, and pods that are not available answer none.

use serde_json::Value;

use super::availability::{Availability, complaint};
use super::revisions::Found;
use crate::model::{Hold, HoldCause, ObjectKey, Plan};

/// Returns what keeps a release of the plan from beginning; `found` is the newest revision, where it is known.
pub(super) fn missing(plan: &Plan, key: &ObjectKey, live: &Value, found: Option<&Found>) -> Option<Hold> {
    let pods = Availability::of(live);
    if pods.is_complete() {
        return None;
    }
    let words = if pods.is_observed {
        let available = found.map_or(pods.ready(), |found| found.available);
        let revision = found.map_or_else(|| "the newest template".to_owned(), |found| format!("revision `{}`", found.hash));
        let rest = match pods.old() {
            0 => String::new(),
            1 => ", 1 of other revisions is left".to_owned(),
            old => format!(", {old} of other revisions are left"),
        };
        format!("{available} of {} pods of {revision} are available{rest}{}", pods.wanted, complaint(live))
    } else {
        "its controller has not seen the newest change yet".to_owned()
    };
    let undo = format!("kubectl rollout undo {}/{} -n {}", key.kind().to_lowercase(), key.name(), plan.namespace);
    let message = format!("{key}: {words}; the release begins when what it begins with is rolled out; what cannot get there: {undo}");
    Some(Hold { cause: HoldCause::NotRolledOut, message })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::missing;
    use crate::agent::revisions::Found;
    use crate::model::ObjectKey;
    use crate::plan::fixture;

    fn words(status: &Value, found: Option<&Found>) -> Option<String> {
        let live = json!({"metadata": {"generation": 2}, "spec": {"replicas": 10}, "status": status});
        missing(&fixture(), &ObjectKey::new("Deployment", "shop"), &live, found).map(|hold| hold.message)
    }

    #[test]
    fn a_rollout_that_is_stuck_is_told_by_its_revision_and_by_how_many_old_pods_are_left() {
        let stuck = json!({"observedGeneration": 2, "replicas": 13, "updatedReplicas": 5, "availableReplicas": 8, "conditions": [
            {"type": "Progressing", "status": "False", "message": "has timed out progressing"}]});
        let found = Found { hash: "5c7".into(), ready: 0, available: 0 };
        let expected =
            "Deployment/shop: 0 of 10 pods of revision `5c7` are available, 8 of other revisions are left (has timed out progressing); ";
        let message = words(&stuck, Some(&found)).unwrap();
        assert!(message.starts_with(expected), "{message}");
        assert!(message.ends_with("kubectl rollout undo deployment/shop -n prod"), "{message}");
    }

    #[test]
    fn counts_of_an_older_spec_are_not_told_and_a_complete_rollout_holds_nothing() {
        let status =
            |generation: u64| json!({"observedGeneration": generation, "replicas": 10, "updatedReplicas": 10, "availableReplicas": 10});
        assert!(words(&status(1), None).unwrap().contains("has not seen the newest change yet"));
        assert_eq!(words(&status(2), None), None);
    }
}
