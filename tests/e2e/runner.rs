//! Runs scenarios side by side, each in a namespace of its own, and says how they ended.

use std::collections::VecDeque;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::control_plane::{ControlPlane, Definitions, has_controllers};
use crate::plans;
use crate::scenarios::{self, Scenario};
use crate::world::{World, program};

/// What the command line asks for.
pub(crate) struct Wishes {
    names: Vec<String>,
    jobs: usize,
    is_list: bool,
    is_hold: bool,
    definitions: Definitions,
}

impl Wishes {
    /// Reads the arguments.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wishes = Self { names: Vec::new(), jobs: 6, is_list: false, is_hold: false, definitions: Definitions::Ours };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => wishes.is_list = true,
                "--openkruise-crds" => wishes.definitions = Definitions::OfOpenKruise,
                "--hold" => wishes.is_hold = true,
                "--jobs" => {
                    let number = arguments.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                    wishes.jobs = number.ok_or("`--jobs` needs a number from 1")?;
                }
                // The script's own, and what `cargo test -- …` may hand over.
                "--keep" | "--quiet" | "--nocapture" => {}
                unknown if unknown.starts_with('-') => {
                    return Err(format!(
                        "unknown argument `{unknown}`; known are --list, --hold, --jobs N, --keep, --openkruise-crds and names"
                    ));
                }
                name => wishes.names.push(name.to_owned()),
            }
        }
        Ok(wishes)
    }
}

/// How a scenario ended.
struct Outcome {
    name: &'static str,
    trouble: Option<String>,
}

/// Runs what is wished for; true when nothing failed.
pub(crate) fn run(folder: &Path, wishes: &Wishes) -> Result<bool, String> {
    let is_wanted = |scenario: &&Scenario| wishes.names.is_empty() || wishes.names.iter().any(|name| scenario.name.contains(name.as_str()));
    let wanted: Vec<Scenario> = scenarios::all().iter().filter(is_wanted).copied().collect();
    if wishes.is_list {
        for scenario in &wanted {
            println!("{}", scenario.name);
        }
        return Ok(true);
    }
    if wanted.is_empty() {
        return Err(format!("no scenario is named {}; --list lists them", wishes.names.join(" or ")));
    }
    let has_agent = Command::new(program()).args(["agent", "--help"]).output().is_ok_and(|output| output.status.success());
    let count = wanted.len();
    let wanted: Vec<Scenario> = wanted.into_iter().filter(|scenario| has_agent || !scenario.needs_agent).collect();
    if wanted.len() < count {
        println!("this build has no agent: {} of {count} scenarios are skipped", count - wanted.len());
    }
    let count = wanted.len();
    let wanted: Vec<Scenario> = wanted.into_iter().filter(|scenario| has_controllers() || !scenario.needs_pods).collect();
    if wanted.len() < count {
        println!("nobody makes pods here: {} of {count} scenarios are skipped", count - wanted.len());
    }
    let begin = Instant::now();
    let plane = ControlPlane::start(&folder.join("control-plane"), wishes.definitions)?;
    println!("control plane ready after {:.1} s", begin.elapsed().as_secs_f64());
    if wishes.is_hold {
        println!("export KUBECONFIG={}", plane.admin_kubeconfig()?.display());
        println!("it stays until this is interrupted");
        loop {
            thread::park();
        }
    }

    // What shakes the control plane itself comes last and alone.
    let (alone, together): (Vec<Scenario>, Vec<Scenario>) = wanted.into_iter().partition(|scenario| scenario.is_alone);
    let mut outcomes = side_by_side(&plane, folder, together, wishes.jobs);
    outcomes.extend(side_by_side(&plane, folder, alone, 1));

    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.trouble.is_some()).collect();
    for outcome in &failed {
        println!("\n---- {} ----\n{}", outcome.name, outcome.trouble.as_deref().unwrap_or_default());
        let timeline = fs::read_to_string(folder.join(outcome.name).join("timeline.txt")).unwrap_or_default();
        if !timeline.is_empty() {
            println!("who got the traffic:\n{timeline}");
        }
        let log = fs::read_to_string(folder.join(outcome.name).join("agent.log")).unwrap_or_default();
        if !log.is_empty() {
            let lines: Vec<String> = log.lines().map(|line| line.chars().take(400).collect()).collect();
            println!("the agent's last words:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
    println!("\n{} passed, {} failed", outcomes.len() - failed.len(), failed.len());
    Ok(failed.is_empty())
}

fn side_by_side(plane: &ControlPlane, folder: &Path, scenarios: Vec<Scenario>, jobs: usize) -> Vec<Outcome> {
    let count = scenarios.len();
    let queue = Mutex::new(VecDeque::from(scenarios));
    let done = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(scenario) = next else { return };
                    let begin = Instant::now();
                    let trouble = attempt(plane, folder, &scenario).err();
                    let number = done.fetch_add(1, Ordering::Relaxed) + 1;
                    let verdict = if trouble.is_none() { "ok    " } else { "FAILED" };
                    println!("[{number}/{count}] {verdict} {} ({:.1} s)", scenario.name, begin.elapsed().as_secs_f64());
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(Outcome { name: scenario.name, trouble });
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| outcome.name);
    outcomes
}

fn attempt(plane: &ControlPlane, folder: &Path, scenario: &Scenario) -> Result<(), String> {
    let mut world = World::new(plane, folder, scenario.name)?;
    let kept = plans::follow(&world)?;
    let result = panic::catch_unwind(AssertUnwindSafe(|| (scenario.run)(&mut world)));
    let result = result.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().cloned().or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    if result.is_err() {
        world.note_timeline();
    }
    let result = result.and_then(|()| kept.map_or(Ok(()), |kept| kept.keep(scenario.name)));
    // The next ones need the room.
    for ending in ["", "-agent", "-bare", "-bare-agent"] {
        let name = format!("{}{ending}", scenario.name);
        let _ = world.cluster.delete(crate::cluster::At { kind: "Namespace", namespace: "", name: &name }, "Background");
    }
    result
}
