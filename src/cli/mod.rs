//! The command line: one file a subcommand, each with `Args` and `run`.
//!
//! A subcommand turns arguments into values, calls one room, hands the answer to a report, and says yes or no.
//! To add one: a file here, a line in `Command`, a line in `Command::run`, a transcript in `tests/cmd`.
#![expect(clippy::disallowed_methods, reason = "the command line is one of the rooms that touch the world")]

mod answer;
mod base_tree;
mod builder;
mod commit;
mod completions;
mod crds;
mod diff;
mod explain;
mod gateways;
mod manifests;
mod page;
mod plan_file;
mod plans;
mod progress;
mod render;
mod repository;
mod schema;
mod show;
mod sources;
mod test;
mod world;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use answer::{Answer, Failure};
pub use world::World;

/// Progressive delivery as files.
///
/// `rollout` reads the YAML of a repository and computes, offline, the exact manifests of every step of a release: who gets
/// which version, in which order objects are written, and the way back.
#[derive(Debug, Parser)]
#[command(
    name = "rollout",
    version,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  rollout render                  what this branch releases, step by step, against its base
  rollout render --out rollouts   the same, written as plans to commit
  rollout render --check          are the committed plans what the manifests say?
  rollout show rollouts/prod/shop/plan.yaml --step 1
                                  the manifests of one step
  rollout test                    run the cases of your own scripts

Exit status: 0 yes, 1 the answer is no, 2 no answer could be given"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Completions(completions::Args),
    Crds(crds::Args),
    Diff(diff::Args),
    Explain(explain::Args),
    Gateways(gateways::Args),
    Manifests(manifests::Args),
    Render(Box<render::Args>),
    Test(test::Args),
    Schema(schema::Args),
    Show(show::Args),
}

impl Command {
    fn run(&self, world: &mut World<'_>) -> Result<Answer, Failure> {
        match self {
            Self::Completions(args) => completions::run(args, world),
            Self::Crds(args) => crds::run(args, world),
            Self::Diff(args) => diff::run(args, world),
            Self::Explain(args) => explain::run(args, world),
            Self::Gateways(args) => gateways::run(args, world),
            Self::Manifests(args) => manifests::run(args, world),
            Self::Render(args) => render::run(args, world),
            Self::Test(args) => test::run(args, world),
            Self::Schema(args) => schema::run(args, world),
            Self::Show(args) => show::run(args, world),
        }
    }
}

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    world::with_process(|world| run(std::env::args_os(), world))
}

/// Runs one command line in a world: says what it has to say, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>, world: &mut World<'_>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(help) => return answer::usage(&help, world),
    };
    let outcome = arguments.command.run(world);
    answer::exit(outcome, world)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Arguments;

    #[test]
    fn the_arguments_contradict_nothing() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_and_every_argument_has_a_help_text() {
        for command in Arguments::command().get_subcommands() {
            assert!(command.get_about().is_some(), "`{}` has no help text", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "`{} {}` has no help text", command.get_name(), argument.get_id());
            }
        }
    }
}
