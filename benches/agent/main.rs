//! The agent's budgets on a real control plane: what it takes at rest with a thousand plans, and how fast it goes on.
//!
//! `tests/e2e/run --bench` brings the control plane along and runs this with a release build; the names of parts behind it (`PARTS`)
//! only those. Every time is read from a watch of the API server, every request from the API server's own audit log. Linux
//! only: memory and the processor's time are read from `/proc`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::panic, reason = "a program of its own, outside of the rooms")]
#![allow(dead_code, reason = "the end-to-end suite's own parts are used, and not all of each")]

#[path = "../../tests/e2e/cluster.rs"]
mod cluster;
#[path = "../../tests/e2e/control_plane.rs"]
mod control_plane;
#[path = "../../tests/e2e/gateway.rs"]
mod gateway;
#[path = "../generate.rs"]
mod generate;
#[path = "../../tests/e2e/process.rs"]
mod process;
#[path = "../../tests/e2e/recorder/mod.rs"]
mod recorder;
#[path = "../../tests/e2e/watcher.rs"]
mod watcher;
#[path = "../../tests/e2e/world.rs"]
mod world;

mod audit;
mod course;
mod gaps;
mod load;
mod park;
mod rest;
mod rows;
mod scenario;
mod subject;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use audit::Audit;
use control_plane::{ControlPlane, Definitions};
use rows::Rows;

/// What can be measured by itself.
const PARTS: [&str; 7] = ["rest", "failover", "release", "requests", "gated", "at-once", "held"];

/// What the command line asks for.
struct Wishes {
    names: Vec<String>,
    plans: usize,
    runs: usize,
    gated: usize,
    at_once: usize,
    held: usize,
}

fn main() -> ExitCode {
    let Some(folder) = env::var_os("ROLLOUT_E2E_DIR").map(PathBuf::from) else {
        println!("the agent's budgets need a control plane and are not measured here: `tests/e2e/run --bench` does");
        return ExitCode::SUCCESS;
    };
    let wishes = match wishes(env::args().skip(1)) {
        Ok(wishes) => wishes,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    process::end_with_parent();
    match measure(&folder, &wishes) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn wishes(mut arguments: impl Iterator<Item = String>) -> Result<Wishes, String> {
    let mut wishes = Wishes { names: Vec::new(), plans: 1_000, runs: 3, gated: 200, at_once: 500, held: 1_000 };
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|number| number.parse().ok()).ok_or(format!("`{argument}` needs a number"));
        match argument.as_str() {
            "--plans" => wishes.plans = number()?,
            "--runs" => wishes.runs = number()?,
            "--gated" => wishes.gated = number()?,
            "--at-once" => wishes.at_once = number()?,
            "--held" => wishes.held = number()?,
            // The script's own, and cargo's.
            "--keep" | "--bench" => {}
            unknown if unknown.starts_with('-') => {
                let flags = "--plans N, --runs N, --gated N, --at-once N, --held N, --keep";
                return Err(format!("unknown argument `{unknown}`; known are {flags} and the parts {}", PARTS.join(", ")));
            }
            name if !PARTS.contains(&name) => return Err(format!("unknown part `{name}`; known are {}", PARTS.join(", "))),
            name => wishes.names.push(name.to_owned()),
        }
    }
    Ok(wishes)
}

/// Measures what is wished for; true when every budget is met.
fn measure(folder: &Path, wishes: &Wishes) -> Result<bool, String> {
    let is_wanted = |name: &str| wishes.names.is_empty() || wishes.names.iter().any(|wish| wish == name);
    let audit = Audit::prepare(folder)?;
    let plane = ControlPlane::start_with(&folder.join("control-plane"), Definitions::Ours, audit.flags())?;
    subject::install_account(&plane)?;
    let mut rows = Rows::default();
    let new = wishes.plans..wishes.plans + [1, wishes.gated, wishes.at_once, wishes.held].into_iter().max().unwrap_or(1);
    let (park, size) = park::fill(&plane, &folder.join("park"), wishes.plans, new.len())?;
    rows.say(&format!("{} plans, {:.1} KB each in the cluster; load {}", wishes.plans, size / 1000.0, rows::load()));
    let mut agent = subject::Subject::new(&plane, folder)?;
    rest::measure(&mut agent, &audit, wishes.plans, is_wanted("rest"), &mut rows)?;
    let mut field = load::Field { plane: &plane, park: &park, agent: &mut agent, audit: &audit, rows: &mut rows };
    if is_wanted("failover") {
        field.failover(new.start, wishes.plans)?;
    }
    if is_wanted("release") {
        scenario::measure(&plane, folder, field.agent, wishes.runs, field.rows)?;
    }
    if is_wanted("requests") {
        scenario::requests(&plane, folder, &audit, field.rows)?;
    }
    if is_wanted("held") {
        field.held(new.start..new.start + wishes.held)?;
    }
    if is_wanted("gated") {
        field.gated(new.start..new.start + wishes.gated)?;
    }
    if is_wanted("at-once") {
        field.at_once(new.start..new.start + wishes.at_once)?;
    }
    Ok(rows.are_met())
}
