//! Parse, run, exit.

use std::process::ExitCode;

/// Rendering is many small allocations on all cores, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rollout::cli::main()
}
