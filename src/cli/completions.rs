//! `rollout completions SHELL`: what a shell needs to complete our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Answer, Arguments, Failure, World};

/// Prints the completions of a shell
///
/// Load them at the start of a shell: `source <(rollout completions bash)`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script that the shell reads.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "rollout", &mut script);
    world.stdout.write_all(&script)?;
    Ok(Answer::Yes)
}
