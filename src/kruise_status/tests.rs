use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Seen, commands, patch, project};
use crate::model::{Cursor, Part, Plan, PlanStatus, Verb};
use crate::plan::fixture;

fn status(part: Part, step: u32) -> PlanStatus {
    let time = "2026-01-01T00:00:00Z";
    let cursor: Cursor = serde_json::from_value(json!({"part": part, "step": step, "since": time, "entered": time})).expect("a cursor");
    PlanStatus { cursor: Some(cursor), digest: Some("sha256:d".into()), ..PlanStatus::default() }
}

fn rollout(status: impl Into<Value>) -> Value {
    json!({"metadata": {"generation": 3, "resourceVersion": "41", "uid": "r"}, "spec": {}, "status": status.into()})
}

/// The Rollout with the status that we would write.
fn published(plan: &Plan, status: &PlanStatus) -> Value {
    let live = rollout(Value::Null);
    let workload = json!({"metadata": {"generation": 2}});
    let fields = project(plan, status, Seen { rollout: &live, workload: Some(&workload), canary: None }, Timestamp::UNIX_EPOCH);
    rollout(Value::Object(fields))
}

/// What `kubectl-kruise rollout approve` sends.
fn approved(mut rollout: Value) -> Value {
    rollout["status"]["canaryStatus"]["currentStepState"] = json!("StepReady");
    rollout
}

#[test]
fn a_gate_is_a_paused_step_and_its_approval_is_heard() {
    let (plan, gate) = (fixture(), status(Part::Gate, 1));
    let shown = published(&plan, &gate);
    assert_eq!(shown["status"]["phase"], "Progressing");
    assert_eq!(shown["status"]["canaryStatus"]["currentStepState"], "StepPaused");
    assert_eq!(shown["status"]["canaryStatus"]["nextStepIndex"], 2);
    assert_eq!(commands(&plan, &gate, &shown).asked, None);
    assert_eq!(commands(&plan, &gate, &approved(shown)).asked, Some((Verb::Approve, 1)));
}

#[test]
fn a_plan_that_was_rendered_again_and_is_held_stays_in_its_step() {
    let plan = fixture();
    for part in [Part::Check, Part::Capture] {
        let shown = published(&plan, &status(part, 2));
        assert_eq!(shown["status"]["canaryStatus"]["currentStepIndex"], 2);
        assert_eq!(shown["status"]["canaryStatus"]["nextStepIndex"], -1);
    }
    assert_eq!(published(&plan, &status(Part::Check, 0))["status"]["canaryStatus"]["currentStepIndex"], 1);
}

#[test]
fn an_approval_of_another_step_or_of_no_gate_is_not_heard() {
    let plan = fixture();
    let old = approved(published(&plan, &status(Part::Gate, 1)));
    assert_eq!(commands(&plan, &status(Part::Gate, 2), &old).asked, None, "it was for step 1");
    let early = approved(published(&plan, &status(Part::Stages, 2)));
    assert_eq!(commands(&plan, &status(Part::Gate, 2), &early).asked, None, "nobody had published the gate");
    let other = PlanStatus { digest: Some("sha256:e".into()), ..status(Part::Gate, 1) };
    assert_eq!(commands(&plan, &other, &old).asked, None, "it was for another plan");
}

#[test]
fn another_next_step_is_a_jump() {
    let (plan, gate) = (fixture(), status(Part::Gate, 1));
    let mut shown = published(&plan, &gate);
    for (next, asked) in [(2, None), (1, Some((Verb::Jump, 1))), (99, None), (0, None), (-7, None)] {
        shown["status"]["canaryStatus"]["nextStepIndex"] = json!(next);
        assert_eq!(commands(&plan, &gate, &shown).asked, asked, "{next}");
    }
}

#[test]
fn a_next_step_that_does_not_exist_is_refused_in_words() {
    let (plan, gate) = (fixture(), status(Part::Gate, 1));
    let mut shown = published(&plan, &gate);
    for (next, is_refused) in [(2, false), (1, false), (0, false), (99, true), (-1, true)] {
        shown["status"]["canaryStatus"]["nextStepIndex"] = json!(next);
        let refused = commands(&plan, &gate, &shown).refused;
        assert_eq!(refused.is_some_and(|words| words.contains(&format!("`nextStepIndex: {next}` is no step"))), is_refused, "{next}");
    }
}

#[test]
fn a_status_that_says_it_all_is_not_written_again() {
    let (plan, gate) = (fixture(), status(Part::Gate, 1));
    let shown = published(&plan, &gate);
    let workload = json!({"metadata": {"generation": 2}});
    let later = Timestamp::from_second(1_000).expect("a time");
    let again = project(&plan, &gate, Seen { rollout: &shown, workload: Some(&workload), canary: None }, later);
    assert_eq!(patch(&shown, &again), None);
}

#[track_caller]
fn patched(live: &Value, operations: &[Value]) -> Option<Value> {
    let mut after = live.clone();
    let patch = serde_json::from_value::<json_patch::Patch>(json!(operations)).expect("a patch");
    json_patch::patch(&mut after, &patch).is_ok().then_some(after)
}

#[test]
fn a_write_fails_after_a_users_and_after_no_other() {
    let plan = fixture();
    let live = published(&plan, &status(Part::Gate, 1));
    let seen = Seen { rollout: &live, workload: None, canary: None };
    let operations = patch(&live, &project(&plan, &status(Part::Finish, 2), seen, Timestamp::UNIX_EPOCH)).expect("a change");
    assert!(patched(&live, &operations).is_some());
    assert!(patched(&approved(live.clone()), &operations).is_none(), "an approval is lost");
    for (pointer, value, is_lost) in [
        ("/status/canaryStatus/nextStepIndex", json!(1), true),
        ("/status/conditions", json!([]), true),
        ("/metadata/uid", json!("another"), true),
        ("/status/message", json!("noise"), false),
        ("/metadata/resourceVersion", json!("42"), false),
    ] {
        let mut other = live.clone();
        *other.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = value;
        assert_eq!(patched(&other, &operations).is_none(), is_lost, "{pointer}");
    }
}

#[test]
fn a_status_that_is_not_there_yet_is_written_at_the_version_that_was_read() {
    let plan = fixture();
    let mut live = published(&plan, &status(Part::Gate, 1));
    live.as_object_mut().expect("a map").remove("status");
    let seen = Seen { rollout: &live, workload: None, canary: None };
    let operations = patch(&live, &project(&plan, &status(Part::Gate, 1), seen, Timestamp::UNIX_EPOCH)).expect("a change");
    assert_eq!(operations[0], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "41"}));
    assert_eq!(patched(&live, &operations).expect("it fits")["status"]["currentStepState"], "StepPaused");
    // Somebody else's words are there first, and change all the time.
    live["status"] = json!({"message": "noise"});
    let seen = Seen { rollout: &live, workload: None, canary: None };
    let operations = patch(&live, &project(&plan, &status(Part::Gate, 1), seen, Timestamp::UNIX_EPOCH)).expect("a change");
    live["metadata"]["resourceVersion"] = json!("42");
    live["status"]["message"] = json!("more noise");
    assert_eq!(patched(&live, &operations).expect("it fits")["status"]["currentStepState"], "StepPaused");
}

#[test]
fn a_write_touches_only_our_own_fields() {
    let plan = fixture();
    let mut live = published(&plan, &status(Part::Gate, 1));
    live["status"]["canaryStatus"]["theirs"] = json!(1);
    live["status"]["theirs"] = json!(2);
    live["status"]["conditions"].as_array_mut().expect("a list").push(json!({"type": "Theirs", "status": "True"}));
    let workload = json!({"metadata": {"generation": 2}});
    let seen = Seen { rollout: &live, workload: Some(&workload), canary: None };
    let operations = patch(&live, &project(&plan, &status(Part::Finish, 2), seen, Timestamp::UNIX_EPOCH)).expect("a change");
    let after = patched(&live, &operations).expect("it fits");
    assert_eq!(after["status"]["theirs"], 2);
    assert_eq!(after["status"]["canaryStatus"]["theirs"], 1);
    assert!(after["status"]["conditions"].as_array().expect("a list").iter().any(|condition| condition["type"] == "Theirs"));
    assert_eq!(after["status"]["canaryStatus"]["currentStepState"], "Completed");
}

#[test]
fn at_rest_clients_find_a_completed_step_as_they_expect() {
    let plan = fixture();
    let shown = published(&plan, &PlanStatus::default());
    let sub = &shown["status"]["canaryStatus"];
    assert_eq!((&shown["status"]["phase"], &sub["currentStepState"]), (&json!("Healthy"), &json!("Completed")));
    assert_eq!(sub["nextStepIndex"], -1);
    for required in ["canaryRevision", "podTemplateHash", "finalisingStep", "canaryReplicas", "canaryReadyReplicas"] {
        assert!(!sub[required].is_null(), "OpenKruise's definition requires {required}");
    }
}
