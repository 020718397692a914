//! Parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    rollout::cli::main()
}
