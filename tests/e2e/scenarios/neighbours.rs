//! More than one who cares for the same objects: another plan, an autoscaler, a gateway that refuses, another controller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, alone, before_pods, beside};
use crate::cluster::{At, Patch};
use crate::release::{begin, prepare};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("two-plans-for-one-workload", two_plans),
    beside("autoscaler", autoscaler),
    beside("route-not-accepted-holds", not_accepted),
    beside("deadline-aborts", deadline),
    beside("racing-approvals", racing_approvals),
    before_pods("unknown-plan-version", unknown_version),
    alone("another-controller", another_controller),
];

/// The second plan holds and names the first, and runs when that one is done.
fn two_plans(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    let mut second = running.plan.clone();
    second["metadata"]["name"] = json!("second");
    running.world.cluster.apply(&second)?;
    let world = running.world;
    let status = world.wait("the second plan to hold", PATIENCE, || {
        let status = world.get("RolloutPlan", "second")?.unwrap_or_default()["status"].clone();
        Ok((status["phase"] == "Holding" && status["cursor"]["hold"]["cause"] == "Claimed").then_some(status))
    })?;
    if !status["cursor"]["hold"]["message"].as_str().is_some_and(|message| message.contains("api")) {
        return Err(format!("the holder is not named: {}", status["cursor"]["hold"]));
    }
    world.cluster.delete(world.at("RolloutPlan", "second"), "Background")?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// An HPA owns the replicas: they are never written, and it is as before in the end.
fn autoscaler(world: &mut World<'_>) -> Result<(), String> {
    const HPA: &str = "
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: cart
  namespace: NAMESPACE
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}
  minReplicas: 2
  maxReplicas: 10
";
    let hpa = HPA.replace("NAMESPACE", &world.namespace);
    let change = move |_: &str, file: &str, text: String| if file.ends_with("deployment.yaml") { text + &hpa } else { text };
    let mut running = begin(world, "two-gateways", change)?;
    running.wait_gate(1)?;
    let scale = json!({"spec": {"replicas": 7}});
    running.world.cluster.patch_sub(running.world.at("Deployment", "cart"), "scale", Patch::Merge, &scale)?;
    running.approve_to_the_end()?;
    running.wait_phase("Succeeded")?;
    let live = running.world.get("Deployment", "cart")?.unwrap_or_default();
    if live["spec"]["replicas"] != 7 {
        return Err(format!("replicas were set to {}", live["spec"]["replicas"]));
    }
    let behaviour = &running.world.get("HorizontalPodAutoscaler", "cart")?.unwrap_or_default()["spec"]["behavior"];
    if !behaviour["scaleDown"]["selectPolicy"].is_null() && behaviour["scaleDown"]["selectPolicy"] == "Disabled" {
        return Err(format!("scaling down is still switched off: {behaviour}"));
    }
    running.assert_no_fault()
}

/// A gateway that refuses the route keeps the step from being reached, and the words say so.
fn not_accepted(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    let refuse = |value: Value| json!({"metadata": {"annotations": {"e2e.rollout.dev/accepted": value}}});
    running.world.merge("HTTPRoute", "cart", &refuse(json!("False")))?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait("the wait for the gateway", |status| {
        status["cursor"]["written"] == true && status["waitingFor"].as_str().is_some_and(|text| text.contains("HTTPRoute/cart"))
    })?;
    thread::sleep(Duration::from_secs(2));
    if running.status()?["cursor"]["part"] != "stages" {
        return Err(format!("it went on: {:#}", running.status()?));
    }
    running.world.merge("HTTPRoute", "cart", &refuse(Value::Null))?;
    // The gateway looks at a route again when that changes.
    running.world.merge("HTTPRoute", "cart", &json!({"spec": {"hostnames": ["cart.example.com", "cart.example.org"]}}))?;
    running.wait_gate(1)?;
    running.ask("abort", 0)?;
    running.wait_phase("Aborted")?;
    running.assert_no_fault()
}

/// Pods that never get ready end the step at its deadline, as the Rollout asks.
fn deadline(world: &mut World<'_>) -> Result<(), String> {
    let change = |side: &str, file: &str, text: String| {
        if side == "after" && file.ends_with("deployment.yaml") {
            super::labelled(&text, "never")
        } else if file.ends_with("rollout.yaml") {
            text.replacen(
                "metadata:\n",
                "metadata:\n  annotations:\n    rollout.dev/step-deadline: 5s\n    rollout.dev/on-deadline: abort\n",
                1,
            )
        } else {
            text
        }
    };
    let mut running = begin(world, "two-gateways", change)?;
    running.assert_aborted()?;
    running.assert_no_fault()
}

/// Approvals written in the middle of the agent's own writes of the same status are never lost.
fn racing_approvals(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "httproute-five-steps", |_, _, text| text.replace("duration: 1", ""))?;
    let is_over = AtomicBool::new(false);
    let (world, name) = (running.world, running.name().to_owned());
    let noisy = world.plane.admin("noise")?;
    let address = (world.namespace.clone(), name.clone());
    thread::scope(|scope| {
        // Somebody else writes the same status all the time, so that the agent's writes meet conflicts.
        scope.spawn(|| {
            let at = At { kind: "Rollout", namespace: &address.0, name: &address.1 };
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                let _ = noisy.patch_sub(at, "status", Patch::Merge, &json!({"status": {"message": format!("noise {number}")}}));
                thread::sleep(Duration::from_millis(150));
            }
        });
        let result = (1..=running.steps()).try_for_each(|step| {
            running.wait_gate(step)?;
            running.approve()?;
            running.wait(&format!("the approval of step {step} to be obeyed"), |status| {
                status["cursor"]["step"].as_u64() != Some(step) || status["cursor"]["part"] != "gate"
            })?;
            Ok::<(), String>(())
        });
        is_over.store(true, Ordering::Relaxed);
        result
    })?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// A plan of a format that this agent does not know is left alone.
fn unknown_version(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text)?;
    running.agent.start()?;
    running.plan["spec"]["steps"][0]["gate"] = json!({"moonPhase": "full"});
    running.apply_plan()?;
    running.wait("the refusal", |status| status["conditions"].as_array().is_some_and(|conditions| !conditions.is_empty()))?;
    running.assert_untouched()
}

/// OpenKruise's own manager is installed, or runs: the agent holds, and goes on when that is gone.
fn another_controller(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "own-script", |_, _, text| text)?;
    let name = "kruise-rollout-mutating-webhook-configuration";
    let cluster = &running.world.cluster;
    cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": [],
    }))?;
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kruise-rollout"}}))?;
    let lease = |holder: &str| {
        let now = jiff::Timestamp::now();
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "71ddec2c.kruise.io", "namespace": "kruise-rollout"},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": format!("{now:.6}")},
        })
    };
    cluster.apply(&lease("manager-1"))?;
    running.agent.start()?;
    running.apply_plan()?;
    let mut held = || {
        running.wait("the hold", |status| status["cursor"]["hold"]["message"].as_str().is_some_and(|said| said.contains(name)))?;
        running.world.cluster.delete(At { kind: "MutatingWebhookConfiguration", namespace: "", name }, "Background")?;
        // Its webhooks are gone and it still runs.
        let status = running.wait("the other hold", |status| {
            status["cursor"]["hold"]["message"].as_str().is_some_and(|said| said.contains("`manager-1`"))
        })?;
        if status["phase"] != "Holding" || status["cursor"]["hold"]["cause"] != "OtherController" {
            return Err(format!("it does not hold: {status:#}"));
        }
        running.wait_event("OtherController", "`manager-1` holds the Lease")?;
        running.assert_untouched()
    };
    let held = held();
    // A manager that stops gives its lease back. Other scenarios must not meet it.
    running.world.cluster.delete(At { kind: "MutatingWebhookConfiguration", namespace: "", name }, "Background")?;
    running.world.cluster.apply(&lease(""))?;
    held?;
    // Nothing tells the agent; it looks again by itself.
    running.wait_long("the release to begin", Duration::from_secs(20), |status| status["cursor"]["part"] != "check")?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}
