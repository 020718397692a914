//! The health script for Argo CD, on statuses as the agent records them. `tests/health` runs it, and the expressions for Flux,
//! in what the engines run them in.

use serde_json::{Value, json};

use rollout::lua::Script;

fn health(status: impl Into<Value>) -> (String, String) {
    let script = Script::compile("argocd-health.lua", include_str!("../../examples/health/argocd-health.lua")).expect("it compiles");
    let plan = json!({"metadata": {"generation": 4}, "spec": {"steps": [{}, {}, {}]}, "status": status.into()});
    let answer = script.call(&[("obj", &plan)]).expect("an answer").value;
    let text = |field: &str| answer[field].as_str().expect("a text").to_owned();
    (text("status"), text("message"))
}

#[test]
fn every_phase_of_a_plan_has_a_health() {
    let phases = [
        ("Running", "Progressing"),
        ("Finishing", "Progressing"),
        ("Aborting", "Progressing"),
        ("Holding", "Suspended"),
        ("Gated", "Suspended"),
        ("Paused", "Suspended"),
        ("Succeeded", "Healthy"),
        ("Preview", "Healthy"),
        ("Bypassed", "Healthy"),
        ("Aborted", "Degraded"),
        ("Stalled", "Degraded"),
    ];
    for (phase, wanted) in phases {
        assert_eq!(health(json!({"phase": phase, "observedGeneration": 4})).0, wanted, "{phase}");
    }
    let schema = serde_json::to_value(schemars::schema_for!(rollout::model::Phase)).expect("a schema");
    assert_eq!(schema["oneOf"].as_array().expect("phases").len(), phases.len(), "a phase has no health: {schema}");
}

#[test]
fn a_plan_that_no_agent_has_looked_at_is_progressing() {
    assert_eq!(health(Value::Null).0, "Progressing");
    assert_eq!(health(json!({"observedGeneration": -1})).0, "Progressing", "so the definition has it");
    assert_eq!(health(json!({"phase": "Succeeded", "observedGeneration": 3})).0, "Progressing", "that was about an older plan");
}

#[test]
fn what_is_waited_for_is_said() {
    let status = json!({
        "phase": "Gated", "observedGeneration": 4, "cursor": {"part": "gate", "step": 2}, "waitingFor": "approval of step 2",
    });
    assert_eq!(health(status).1, "Gated, step 2 of 3: approval of step 2");
}

#[test]
fn a_rollout_without_a_status_is_healthy_and_one_at_a_gate_waits() {
    let text = include_str!("../../examples/health/argocd-rollout-health.lua");
    let script = Script::compile("argocd-rollout-health.lua", text).expect("it compiles");
    let paused = json!({"currentStepState": "StepPaused"});
    for (status, wanted) in [
        (Value::Null, "Healthy"),
        (json!({"observedGeneration": -1}), "Healthy"),
        (json!({"observedGeneration": 1, "phase": "Healthy"}), "Progressing"),
        (json!({"observedGeneration": 2, "phase": "Healthy"}), "Healthy"),
        (json!({"observedGeneration": 2, "phase": "Progressing"}), "Progressing"),
        (json!({"observedGeneration": 2, "phase": "Progressing", "message": "step 1", "canaryStatus": paused}), "Suspended"),
    ] {
        let rollout = json!({"metadata": {"generation": 2}, "status": status});
        let answer = script.call(&[("obj", &rollout)]).expect("an answer").value;
        assert_eq!(answer["status"], wanted, "{rollout}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{rollout}");
    }
}
