//! The agent's budgets on a real control plane: what it takes at rest with a thousand plans, and how fast it goes on.
//!
//! `tests/e2e/run --bench` brings the control plane along and runs this with a release build; `rest`, `release` or `many`
//! behind it only that part. Every time is read from a watch of the API server, every request from the API server's own audit log. Linux
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

/// How many releases run at the same time where many do.
const MANY: usize = 20;

/// What the command line asks for.
struct Wishes {
    names: Vec<String>,
    plans: usize,
    runs: usize,
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
    let mut wishes = Wishes { names: Vec::new(), plans: 1_000, runs: 3 };
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|number| number.parse().ok()).ok_or(format!("`{argument}` needs a number"));
        match argument.as_str() {
            "--plans" => wishes.plans = number()?,
            "--runs" => wishes.runs = number()?,
            // The script's own, and cargo's.
            "--keep" | "--bench" => {}
            unknown if unknown.starts_with('-') => {
                return Err(format!("unknown argument `{unknown}`; known are --plans N, --runs N, --keep, `rest`, `release` and `many`"));
            }
            name => wishes.names.push(name.to_owned()),
        }
    }
    Ok(wishes)
}

/// Measures what is wished for; true when every budget is met.
fn measure(folder: &Path, wishes: &Wishes) -> Result<bool, String> {
    let is_wanted = |name: &str| wishes.names.is_empty() || wishes.names.iter().any(|wish| name.contains(wish.as_str()));
    let audit = Audit::prepare(folder)?;
    let plane = ControlPlane::start_with(&folder.join("control-plane"), Definitions::Ours, audit.flags())?;
    subject::install_account(&plane)?;
    let mut rows = Rows::default();
    let (park, more) = (folder.join("park"), if is_wanted("many") { MANY } else { 0 });
    let size = park::fill(&plane, &park, wishes.plans, more)?;
    rows.say(&format!("{} plans, {:.1} KB each in the cluster; load {}", wishes.plans, size / 1000.0, rows::load()));
    let mut agent = subject::Subject::new(&plane, folder)?;
    rest::measure(&mut agent, &audit, wishes.plans, is_wanted("rest"), &mut rows)?;
    if is_wanted("release") {
        scenario::measure(&plane, folder, &mut agent, wishes.runs, &mut rows)?;
    }
    if is_wanted("many") {
        park::release(&plane, &park, wishes.plans..wishes.plans + MANY)?;
        let memory = agent.memory()?;
        rows.say("");
        rows.value(&format!("{MANY} releases at their first gates: resident"), memory.resident, "MiB");
        rows.value(&format!("{MANY} releases at their first gates: peak"), memory.peak, "MiB");
    }
    Ok(rows.are_met())
}
