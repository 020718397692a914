//! One release from its plan to its end, timed by what a watch of the API server saw.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{At, Patch};
use crate::gaps::{Gap, gaps};
use crate::recorder::Event;
use crate::subject::install_rights;
use crate::world::{PATIENCE, World};

/// The name of everything in these releases.
pub(crate) const NAME: &str = "shop";

/// Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// From the plan to the first step's gate.
    pub(crate) first: f64,
    /// From an approval to the next step's gate, on average.
    pub(crate) next: f64,
    /// From the last approval to the end.
    pub(crate) end: f64,
}

/// Carries a release out and approves each step.
pub(crate) fn succeed(world: &mut World<'_>) -> Result<(Times, Vec<Gap>), String> {
    let plan = begin(world)?;
    let steps = plan["spec"]["steps"].as_array().map_or(0, |steps| steps.len() as u64);
    for step in 1..=steps {
        wait(world, |status| is_gate(status, step))?;
        approve(world)?;
    }
    wait(world, |status| status["phase"] == "Succeeded" && status["cursor"].is_null())?;
    let events = events(world)?;
    let applied = moment(&events, 0, |event| event.kind == "RolloutPlan" && event.object.is_some())?;
    let (mut approvals, mut gates) = (Vec::new(), Vec::new());
    for step in 1..=steps {
        let gate = status_moment(&events, 0, |status| is_gate(status, step))?;
        gates.push(gate);
        approvals.push(moment(&events, gate, |event| {
            event.kind == "Rollout" && at(event, "/status/canaryStatus/currentStepState") == "StepReady"
        })?);
    }
    let end = status_moment(&events, approvals.last().copied().unwrap_or_default(), |status| {
        status["phase"] == "Succeeded" && status["cursor"].is_null()
    })?;
    let nexts: Vec<f64> = approvals.iter().zip(gates.iter().skip(1)).map(|(from, to)| between(&events, *from, *to)).collect();
    let times = Times {
        first: between(&events, applied, gates.first().copied().unwrap_or_default()),
        next: nexts.iter().sum::<f64>() / f64::from(u32::try_from(nexts.len().max(1)).unwrap_or(1)),
        end: approvals.last().map_or(f64::NAN, |from| between(&events, *from, end)),
    };
    Ok((times, gaps(&plan, &events)))
}

/// Takes a release back in its second step. Returns the seconds until the route is back, and until everything is.
pub(crate) fn roll_back(world: &mut World<'_>) -> Result<(f64, f64), String> {
    let plan = begin(world)?;
    wait(world, |status| is_gate(status, 1))?;
    approve(world)?;
    wait(world, |status| is_gate(status, 2))?;
    let digest = &plan["metadata"]["annotations"]["rollout.dev/digest"];
    let request = json!({"verb": "abort", "digest": digest, "step": 2, "id": "back"}).to_string();
    world.merge("RolloutPlan", NAME, &json!({"metadata": {"annotations": {"rollout.dev/request": request}}}))?;
    wait(world, |status| status["phase"] == "Aborted" && status["cursor"].is_null())?;
    let events = events(world)?;
    let asked =
        moment(&events, 0, |event| event.kind == "RolloutPlan" && !at(event, "/metadata/annotations/rollout.dev~1request").is_empty())?;
    let route = moment(&events, asked, |event| event.kind == "VirtualService")?;
    let end = status_moment(&events, asked, |status| status["phase"] == "Aborted" && status["cursor"].is_null())?;
    Ok((between(&events, asked, route), between(&events, asked, end)))
}

/// Makes room for the next one.
pub(crate) fn clear(world: &World<'_>) {
    let _ = world.cluster.delete(At { kind: "Namespace", namespace: "", name: &world.namespace }, "Background");
}

fn begin(world: &mut World<'_>) -> Result<Value, String> {
    world.install("before")?;
    let plan = world.render()?;
    install_rights(world.plane, &world.folder.join("rollouts-after"))?;
    world.record()?;
    // Rights take a moment to reach every part of the API server.
    std::thread::sleep(Duration::from_millis(500));
    world.cluster.create(&plan)?;
    Ok(plan)
}

fn approve(world: &World<'_>) -> Result<(), String> {
    world.wait("the Rollout to say StepPaused", PATIENCE, || {
        let rollout = world.get("Rollout", NAME)?.unwrap_or_default();
        Ok((rollout["status"]["canaryStatus"]["currentStepState"] == "StepPaused").then_some(()))
    })?;
    let patch = json!({"status": {"canaryStatus": {"currentStepState": "StepReady"}}});
    world.cluster.patch_sub(world.at("Rollout", NAME), "status", Patch::Merge, &patch).map(|_| ())
}

fn wait(world: &World<'_>, is_so: impl Fn(&Value) -> bool) -> Result<(), String> {
    let mut last = Value::Null;
    let found = world.wait("the release to go on", PATIENCE, || {
        last = world.get("RolloutPlan", NAME)?.unwrap_or_default()["status"].clone();
        Ok(is_so(&last).then_some(()))
    });
    found.map_err(|error| format!("{error}; the plan's status is {last:#}"))
}

fn is_gate(status: &Value, step: u64) -> bool {
    status["cursor"]["part"] == "gate" && status["cursor"]["step"] == step
}

fn events(world: &World<'_>) -> Result<Vec<Event>, String> {
    let mut events = world.recorded()?;
    events.sort_by_key(|event| event.revision);
    Ok(events)
}

fn at<'a>(event: &'a Event, pointer: &str) -> &'a str {
    event.object.as_ref().and_then(|object| object.pointer(pointer)).and_then(Value::as_str).unwrap_or_default()
}

/// The place of the first event from a place on that is meant.
fn moment(events: &[Event], from: usize, is_meant: impl Fn(&Event) -> bool) -> Result<usize, String> {
    events.iter().skip(from).position(is_meant).map(|place| place + from).ok_or_else(|| "the recorder missed a moment".to_owned())
}

fn status_moment(events: &[Event], from: usize, is_meant: impl Fn(&Value) -> bool) -> Result<usize, String> {
    moment(events, from, |event| event.kind == "RolloutPlan" && event.object.as_ref().is_some_and(|plan| is_meant(&plan["status"])))
}

fn between(events: &[Event], from: usize, to: usize) -> f64 {
    let millis = events[to].millis.saturating_sub(events[from].millis);
    f64::from(u32::try_from(millis).unwrap_or(u32::MAX)) / 1000.0
}
