//! The end-to-end suite: the program against a real control plane. `tests/e2e/run` brings the control plane along and runs it.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stand outside of the rooms, and one that cannot go on has failed"
)]

mod agent;
mod cluster;
mod control_plane;
mod engine;
mod gateway;
mod image;
mod plans;
mod player;
mod process;
mod proxy;
mod recorder;
mod release;
mod runner;
mod scenarios;
mod watcher;
mod world;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use runner::Wishes;

fn main() -> ExitCode {
    let Some(folder) = env::var_os("ROLLOUT_E2E_DIR").map(PathBuf::from) else {
        println!("the end-to-end suite needs a control plane and is skipped here: tests/e2e/run runs it");
        return ExitCode::SUCCESS;
    };
    let wishes = match Wishes::read(env::args().skip(1)) {
        Ok(wishes) => wishes,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    process::end_with_parent();
    match runner::run(&folder, &wishes) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("e2e: {error}");
            ExitCode::from(2)
        }
    }
}
