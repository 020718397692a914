//! The agent dies, sleeps or is refused, and so does the server.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Scenario, alone, beside};
use crate::proxy::{Proxy, Seen, Verdict};
use crate::release::{Running, begin, prepare};
use crate::world::{PATIENCE, World};

pub(super) const SCENARIOS: &[Scenario] = &[
    beside("killed-after-every-write", |world| killed_after_every_write(world, "two-gateways", Way::Success)),
    beside("killed-after-every-write-nginx", |world| killed_after_every_write(world, "nginx-ab", Way::Success)),
    beside("killed-after-every-write-of-an-abort", |world| killed_after_every_write(world, "two-gateways", Way::Abort)),
    beside("refused-again-and-again", refused),
    beside("asleep-past-its-lease", asleep),
    beside("told-to-stop", told_to_stop),
    alone("api-server-restarts-in-mid-step", api_server_restarts),
];

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Success,
    Abort,
}

/// What a write is about, so that each is met by one crash only.
fn subject(seen: &Seen) -> String {
    let cursor = &seen.body["status"]["cursor"];
    let path = seen.path.split('?').next().unwrap_or_default();
    format!(
        "{} {path} {} {} {} {} {}",
        seen.method, seen.body["status"]["phase"], cursor["part"], cursor["step"], cursor["stage"], cursor["written"]
    )
}

/// Every answer to a write is swallowed once, and the agent killed: it was killed between any two of its acts.
fn killed_after_every_write(world: &mut World<'_>, example: &str, way: Way) -> Result<(), String> {
    let mut running = prepare(world, example, |_, _, text| text)?;
    let proxy = Proxy::start(&running.world.plane.admin_kubeconfig()?)?;
    let deadly = Arc::new(AtomicBool::new(false));
    let met = Arc::new(Mutex::new(BTreeSet::new()));
    proxy.rule({
        let (deadly, met) = (Arc::clone(&deadly), Arc::clone(&met));
        move |seen| {
            let is_event = seen.path.contains("/events");
            let is_new = seen.is_write() && !is_event && met.lock().unwrap_or_else(PoisonError::into_inner).insert(subject(seen));
            if is_new || deadly.load(Ordering::SeqCst) && seen.is_write() {
                deadly.store(true, Ordering::SeqCst);
                // Nothing that is sent in the moment before the end arrives.
                return if is_new { Verdict::Swallow } else { Verdict::Refuse(503) };
            }
            Verdict::Pass
        }
    });
    let address = proxy.address.clone();
    running.agent.through(running.world, &address)?;
    running.agent.start()?;
    running.apply_plan()?;

    let end = Instant::now() + PATIENCE * 5;
    let mut is_asked = false;
    let mut crashes = 0;
    loop {
        if deadly.load(Ordering::SeqCst) {
            // The write has reached the server.
            thread::sleep(Duration::from_millis(150));
            running.agent.kill();
            crashes += 1;
            // Nobody holds the lease any more; waiting for its end would prove nothing here.
            running.world.cluster.delete(running.agent.lease(), "Background")?;
            deadly.store(false, Ordering::SeqCst);
            running.agent.start()?;
        }
        let status = running.status()?;
        if status["cursor"].is_null() && status["last"]["outcome"].is_string() {
            break;
        }
        let step = status["cursor"]["step"].as_u64().unwrap_or_default();
        if status["cursor"]["part"] == "gate" && !deadly.load(Ordering::SeqCst) {
            let is_last = step == running.steps();
            if way == Way::Abort && is_last {
                if !is_asked {
                    running.ask("abort", 0)?;
                    is_asked = true;
                }
            } else if running.needs_approval(step) && running.rollout_status()?["canaryStatus"]["currentStepState"] == "StepPaused" {
                running.approve()?;
            }
        }
        if Instant::now() > end {
            return Err(format!("not done after {crashes} crashes: {status:#}"));
        }
        thread::sleep(Duration::from_millis(30));
    }
    if crashes < 10 {
        return Err(format!("only {crashes} crashes: the proxy did not see the writes"));
    }
    proxy.rule(|_| Verdict::Pass);
    match way {
        Way::Success => running.assert_succeeded()?,
        Way::Abort => running.assert_aborted()?,
    }
    running.assert_no_fault()
}

/// Every third write is refused: a conflict, too many requests, a server that is not there.
fn refused(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "nginx-ab", |_, _, text| text)?;
    let proxy = Proxy::start(&running.world.plane.admin_kubeconfig()?)?;
    let count = Arc::new(AtomicUsize::new(0));
    proxy.rule({
        let count = Arc::clone(&count);
        move |seen| {
            if !seen.is_write() {
                return Verdict::Pass;
            }
            match count.fetch_add(1, Ordering::SeqCst) % 9 {
                2 => Verdict::Refuse(409),
                5 => Verdict::Refuse(429),
                8 => Verdict::Refuse(503),
                _ => Verdict::Pass,
            }
        }
    });
    let address = proxy.address.clone();
    running.agent.through(running.world, &address)?;
    running.agent.start()?;
    running.apply_plan()?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    if count.load(Ordering::SeqCst) < 18 {
        return Err("the proxy saw too few writes to have refused anything".to_owned());
    }
    running.assert_no_fault()
}

/// A leader that slept through the end of its lease writes nothing more.
fn asleep(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |_, _, text| text.replace("duration: 1", ""))?;
    let mut other = running.agent.twin();
    let proxy = Proxy::start(&running.world.plane.admin_kubeconfig()?)?;
    let address = proxy.address.clone();
    running.agent.through(running.world, &address)?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait_gate(1)?;
    let holder = |running: &Running<'_, '_>| -> Result<Value, String> {
        Ok(running.world.cluster.get(running.agent.lease())?.unwrap_or_default()["spec"]["holderIdentity"].clone())
    };
    let first = holder(&running)?;
    other.start()?;
    thread::sleep(Duration::from_secs(1));
    // In the middle of something: the approval is in, and the way into step 2 begins.
    running.approve()?;
    running.agent.process()?.signal("STOP");
    let world = running.world;
    world.wait("the other agent to lead", PATIENCE, || Ok((holder(&running)? != first).then_some(())))?;
    running.wait_gate(2)?;
    let before = proxy.seen().len();
    running.agent.process()?.signal("CONT");
    thread::sleep(Duration::from_secs(4));
    // What it had sent before it slept and what it sends now arrives here.
    let seen = proxy.seen();
    let writes: Vec<String> =
        seen[before..].iter().filter(|seen| seen.is_write()).map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    if !writes.is_empty() {
        return Err(format!("a leader without a lease wrote: {}", writes.join(", ")));
    }
    running.approve()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

/// An agent that is told to stop gives its lease back, and the next one goes on at once.
fn told_to_stop(world: &mut World<'_>) -> Result<(), String> {
    let mut running = begin(world, "own-script", |_, _, text| text)?;
    running.wait_gate(1)?;
    let agent = running.agent.process()?;
    agent.signal("TERM");
    let status = agent.ended_within(Duration::from_secs(15)).ok_or("the agent did not stop within 15 s")?;
    if !status.success() {
        return Err(format!("the agent stopped with {status}"));
    }
    running.agent.start()?;
    running.approve()?;
    // Less than a lease lasts.
    running.wait_long("the next agent to lead", Duration::from_secs(10), |status| status["cursor"]["step"] == 2)?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}

fn api_server_restarts(world: &mut World<'_>) -> Result<(), String> {
    let mut running = prepare(world, "two-gateways", |side, _, text| if side == "after" { super::slow(&text, "3s") } else { text })?;
    running.agent.start()?;
    running.apply_plan()?;
    running.wait("the way into step 1", |status| status["cursor"]["part"] == "stages")?;
    running.world.tolerate_gaps();
    running.world.plane.stop_api_server()?;
    thread::sleep(Duration::from_secs(3));
    running.world.plane.start_api_server()?;
    running.approve_to_the_end()?;
    running.assert_succeeded()?;
    running.assert_no_fault()
}
