//! A thousand approvals at once: none is lost, and none of one step opens the next.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Scenario, beside, with_steps};
use crate::cluster::{At, Cluster, Patch};
use crate::release::{Running, begin};
use crate::world::{PATIENCE, World, program};

pub(super) const SCENARIOS: &[Scenario] = &[beside("a-thousand-racing-approvals", thousand)];

/// How many steps there are; in every second one many approve at once.
const LAST: u64 = 10;
/// How many approve at once, and how often each.
const WRITERS: usize = 20;
const EACH: usize = 10;
/// How many of them come late on purpose: when the next step is on its way.
const LATE: usize = 5;
/// How many run the program.
const PROGRAMS: usize = 4;

/// What was seen of all approvals.
#[derive(Default)]
struct Seen {
    sent: usize,
    /// Steps whose gate had been published when an approval arrived: each of them has to open.
    approved: BTreeSet<u64>,
    /// Approvals that arrived when nothing waited for them.
    stale: usize,
}

fn thousand(world: &mut World<'_>) -> Result<(), String> {
    let steps: Vec<String> = (1..=LAST).map(|step| format!("      - replicas: 1\n        traffic: {step}%\n")).collect();
    let steps = steps.concat();
    let mut running = begin(world, "own-script", move |_, file, text| with_steps(file, &text, &steps))?;
    let seen = Mutex::new(Seen::default());
    let is_over = AtomicBool::new(false);
    let address = (running.world.namespace.clone(), running.name().to_owned());
    let plane = running.world.plane;
    let result = thread::scope(|scope| {
        // Somebody else writes the same status all the time, so that the agent's writes meet conflicts.
        for _ in 0..2 {
            scope.spawn(|| noise(&plane.admin("noise").expect("a client"), at(&address), &is_over));
        }
        let result = (1..=LAST).try_for_each(|step| {
            gate(&mut running, step, &seen)?;
            let approve = if step % 2 == 0 { storm } else { alone };
            approve(&running, step, &seen)?;
            running.wait(&format!("the approval of step {step} to be obeyed"), |status| {
                status["cursor"]["step"].as_u64() != Some(step) || status["cursor"]["part"] != "gate"
            })?;
            Ok::<(), String>(())
        });
        is_over.store(true, Ordering::Relaxed);
        result
    });
    result?;
    running.assert_succeeded()?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    if seen.sent < 1000 || seen.stale < 100 || seen.approved.len() < usize::try_from(LAST).unwrap_or_default() {
        return Err(format!("too few to prove anything: {} sent, {} of them stale, for steps {:?}", seen.sent, seen.stale, seen.approved));
    }
    println!("    {} approvals, {} of them stale", seen.sent, seen.stale);
    running.assert_no_fault()
}

fn at(address: &(String, String)) -> At<'_> {
    At { kind: "Rollout", namespace: &address.0, name: &address.1 }
}

fn noise(cluster: &Cluster, at: At<'_>, is_over: &AtomicBool) {
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let _ = cluster.patch_sub(at, "status", Patch::Merge, &json!({"status": {"message": format!("noise {number}")}}));
        thread::sleep(Duration::from_millis(60));
    }
}

/// The gate of the step is reached, published, and stays closed: nothing that was sent for a step before opens it.
fn gate(running: &mut Running<'_, '_>, step: u64, seen: &Mutex<Seen>) -> Result<(), String> {
    running.wait(&format!("the gate of step {step}"), |status| {
        status["cursor"]["part"] == "gate" && status["cursor"]["step"] == step
            // An approval of the storm before that arrived after this gate was published is one of this step.
            || was_approved(seen, step)
    })?;
    if step > 1 {
        running.ask("approve", step - 1)?;
        let id = running.asked();
        let status = running.wait("the stale request to be answered", |status| status["handledRequest"] == id.as_str())?;
        if !status["refusedRequest"].is_string() {
            return Err(format!("an approval of step {} was obeyed in step {step}: {status:#}", step - 1));
        }
    }
    thread::sleep(Duration::from_millis(300));
    let cursor = running.status()?["cursor"].clone();
    if (cursor["part"] != "gate" || cursor["step"] != step) && !was_approved(seen, step) {
        return Err(format!("the gate of step {step} was opened by nobody: {cursor}"));
    }
    Ok(())
}

/// Whether somebody of the storm before was so late that he approved this step.
fn was_approved(seen: &Mutex<Seen>, step: u64) -> bool {
    seen.lock().unwrap_or_else(PoisonError::into_inner).approved.contains(&step)
}

/// The step's gate is published, or has been and is open already.
fn paused(running: &Running<'_, '_>, step: u64, seen: &Mutex<Seen>) -> Result<(), String> {
    running.world.wait("the Rollout to say StepPaused", PATIENCE, || {
        Ok((is_paused(&running.rollout_status()?, step) || was_approved(seen, step)).then_some(()))
    })
}

/// One approval, as kubectl-kruise sends it, into the noise. Nobody sends another.
fn alone(running: &Running<'_, '_>, step: u64, seen: &Mutex<Seen>) -> Result<(), String> {
    let world = running.world;
    paused(running, step, seen)?;
    let answer = approve(&world.cluster, world.at("Rollout", running.name()))?;
    note(&answer, seen);
    Ok(())
}

/// Many who all have read `StepPaused` send their approvals at once, the late ones when the next step is on its way.
fn storm(running: &Running<'_, '_>, step: u64, seen: &Mutex<Seen>) -> Result<(), String> {
    let (world, name) = (running.world, running.name());
    let (namespace, plane) = (world.namespace.as_str(), world.plane);
    paused(running, step, seen)?;
    let kubeconfig = plane.admin_kubeconfig()?;
    let all_have_read = Barrier::new(WRITERS + PROGRAMS);
    let troubles = Mutex::new(Vec::new());
    let complain = |trouble: String| troubles.lock().unwrap_or_else(PoisonError::into_inner).push(trouble);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (all_have_read, complain) = (&all_have_read, &complain);
            scope.spawn(move || {
                let at = At { kind: "Rollout", namespace, name };
                let cluster = plane.admin("kubectl-kruise");
                all_have_read.wait();
                let send = || {
                    let cluster = cluster?;
                    if writer < LATE {
                        world.wait("the next step to be on its way", PATIENCE, || {
                            let status = cluster.get(at)?.unwrap_or_default()["status"].clone();
                            Ok((!is_paused(&status, step)).then_some(()))
                        })?;
                    }
                    for _ in 0..EACH {
                        note(&approve(&cluster, at)?, seen);
                    }
                    Ok::<(), String>(())
                };
                if let Err(trouble) = send() {
                    complain(trouble);
                }
            });
        }
        for _ in 0..PROGRAMS {
            let (all_have_read, complain, kubeconfig) = (&all_have_read, &complain, &kubeconfig);
            scope.spawn(move || {
                let step = step.to_string();
                let mut command = Command::new(program());
                command.args(["approve", name, "--namespace", namespace, "--step", &step, "--kubeconfig"]).arg(kubeconfig);
                all_have_read.wait();
                // Obeyed, or refused because somebody was faster; never without an answer.
                match command.stdin(Stdio::null()).output() {
                    Ok(output) if matches!(output.status.code(), Some(0 | 1)) => {
                        seen.lock().unwrap_or_else(PoisonError::into_inner).sent += 1;
                    }
                    // A machine that is too slow for it: whoever asked knows that nothing was asked.
                    Ok(output) if String::from_utf8_lossy(&output.stderr).contains("nothing was asked") => {}
                    Ok(output) => complain(format!("rollout approve: {}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
                    Err(error) => complain(error.to_string()),
                }
            });
        }
    });
    let troubles = troubles.into_inner().unwrap_or_else(PoisonError::into_inner);
    if troubles.is_empty() { Ok(()) } else { Err(troubles.join("\n")) }
}

/// What `kubectl-kruise rollout approve` sends after it has read `StepPaused`.
fn approve(cluster: &Cluster, at: At<'_>) -> Result<Value, String> {
    cluster.patch_sub(at, "status", Patch::Merge, &json!({"status": {"canaryStatus": {"currentStepState": "StepReady"}}}))
}

fn is_paused(status: &Value, step: u64) -> bool {
    status["currentStepState"] == "StepPaused" && status["currentStepIndex"] == step
}

/// The copies at the top of the status say what the agent had published when the approval arrived.
fn note(rollout: &Value, seen: &Mutex<Seen>) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.sent += 1;
    let status = &rollout["status"];
    match status["currentStepIndex"].as_u64().filter(|step| is_paused(status, *step)) {
        Some(step) => {
            seen.approved.insert(step);
        }
        None => seen.stale += 1,
    }
}
