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
    json!({"metadata": {"generation": 3, "resourceVersion": "41"}, "spec": {}, "status": status.into()})
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
fn a_status_that_says_it_all_is_not_written_again() {
    let (plan, gate) = (fixture(), status(Part::Gate, 1));
    let shown = published(&plan, &gate);
    let workload = json!({"metadata": {"generation": 2}});
    let later = Timestamp::from_second(1_000).expect("a time");
    let again = project(&plan, &gate, Seen { rollout: &shown, workload: Some(&workload), canary: None }, later);
    assert_eq!(patch(&shown, &again), None);
}

#[test]
fn a_write_touches_only_our_own_fields_and_fails_after_any_other_write() {
    let plan = fixture();
    let mut live = published(&plan, &status(Part::Gate, 1));
    live["status"]["canaryStatus"]["theirs"] = json!(1);
    live["status"]["theirs"] = json!(2);
    live["status"]["conditions"].as_array_mut().expect("a list").push(json!({"type": "Theirs", "status": "True"}));
    let workload = json!({"metadata": {"generation": 2}});
    let seen = Seen { rollout: &live, workload: Some(&workload), canary: None };
    let operations = patch(&live, &project(&plan, &status(Part::Finish, 2), seen, Timestamp::UNIX_EPOCH)).expect("a change");
    assert_eq!(operations[0], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "41"}));
    let mut after = live.clone();
    json_patch::patch(&mut after, &serde_json::from_value::<json_patch::Patch>(json!(operations)).expect("a patch")).expect("it fits");
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
