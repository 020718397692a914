//! The command line: one file a subcommand, each with `Args` and `run`.
//!
//! A subcommand turns arguments into values, calls one room, hands the answer to a report, and says yes or no.
//! To add one: a file here, a line in `Command`, a line in `Command::run`, a transcript in `tests/cmd`.
#![expect(clippy::disallowed_methods, reason = "the command line is one of the rooms that touch the world")]

#[cfg(feature = "agent")]
mod agent;
mod answer;
#[cfg(feature = "agent")]
mod ask;
mod base_tree;
mod builder;
mod changed;
mod commit;
mod completions;
#[cfg(feature = "agent")]
mod connection;
mod crds;
mod diff;
mod engines;
mod explain;
mod function;
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
mod simulate;
mod sources;
#[cfg(feature = "agent")]
mod status;
mod test;
mod world;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[cfg(feature = "agent")]
use crate::model::Verb;

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
    #[cfg(feature = "agent")]
    Agent(agent::Args),
    Completions(completions::Args),
    Crds(crds::Args),
    Diff(diff::Args),
    Explain(explain::Args),
    #[command(name = "fn")]
    Function(function::Args),
    Gateways(gateways::Args),
    Manifests(manifests::Args),
    Render(Box<render::Args>),
    Test(test::Args),
    Schema(schema::Args),
    Show(show::Args),
    #[cfg(feature = "agent")]
    Status(status::Args),
    /// Opens the gate of the step that a release waits in
    #[cfg(feature = "agent")]
    Approve(ask::ApproveArgs),
    /// Lets a release stay where it is
    #[cfg(feature = "agent")]
    Pause(ask::Args),
    /// Lets a paused release go on
    #[cfg(feature = "agent")]
    Resume(ask::Args),
    /// Takes a release back: what ran before runs again
    #[cfg(feature = "agent")]
    Abort(ask::Args),
    /// Begins an aborted release again, or tries at once what could not be done
    #[cfg(feature = "agent")]
    Retry(ask::Args),
    /// Goes to a step, up or down
    #[cfg(feature = "agent")]
    Jump(ask::StepArgs),
    Simulate(simulate::Args),
}

impl Command {
    fn run(&self, world: &mut World<'_>) -> Result<Answer, Failure> {
        match self {
            #[cfg(feature = "agent")]
            Self::Agent(args) => agent::run(args, world),
            Self::Completions(args) => completions::run(args, world),
            Self::Crds(args) => crds::run(args, world),
            Self::Diff(args) => diff::run(args, world),
            Self::Explain(args) => explain::run(args, world),
            Self::Function(args) => function::run(args, world),
            Self::Gateways(args) => gateways::run(args, world),
            Self::Manifests(args) => manifests::run(args, world),
            Self::Render(args) => render::run(args, world),
            Self::Test(args) => test::run(args, world),
            Self::Schema(args) => schema::run(args, world),
            Self::Show(args) => show::run(args, world),
            #[cfg(feature = "agent")]
            Self::Status(args) => status::run(args, world),
            #[cfg(feature = "agent")]
            Self::Approve(args) => ask::approve(args, world),
            #[cfg(feature = "agent")]
            Self::Pause(args) => ask::plain(args, Verb::Pause, world),
            #[cfg(feature = "agent")]
            Self::Resume(args) => ask::plain(args, Verb::Resume, world),
            #[cfg(feature = "agent")]
            Self::Abort(args) => ask::plain(args, Verb::Abort, world),
            #[cfg(feature = "agent")]
            Self::Retry(args) => ask::plain(args, Verb::Retry, world),
            #[cfg(feature = "agent")]
            Self::Jump(args) => ask::jump(args, world),
            Self::Simulate(args) => simulate::run(args, world),
        }
    }
}

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    world::with_process(|world| run(std::env::args_os(), world))
}

/// The name by which kubectl finds this program as a plugin, and the one by which people then call it.
const PLUGIN: (&str, &str) = ("kubectl-rollout_plan", "kubectl rollout-plan");

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().and_then(|program| Path::new(program).file_stem()?.to_str());
    let mut command = Arguments::command();
    if name == Some(PLUGIN.0) {
        command = command.bin_name(PLUGIN.1);
    }
    Arguments::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

/// Runs one command line in a world: says what it has to say, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>, world: &mut World<'_>) -> ExitCode {
    let arguments = match parse(arguments) {
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
    fn as_a_plugin_of_kubectl_the_program_goes_by_that_name() {
        let help = super::parse(["/usr/bin/kubectl-rollout_plan", "show", "--help"].map(Into::into)).expect_err("it is help");
        assert!(help.to_string().contains("Usage: kubectl rollout-plan show"), "{help}");
    }

    #[cfg(feature = "agent")]
    #[test]
    fn the_installation_starts_the_agent_with_arguments_that_it_knows() {
        let installation = crate::objects::Installation { namespace: "rollout-system", image: "rollout:1" };
        let objects = crate::objects::manifests(&installation, &[]);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").expect("the agent's");
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().expect("arguments");
        let arguments = arguments.iter().map(|argument| argument.as_str().expect("a text").into());
        super::parse(std::iter::once("rollout".into()).chain(arguments)).expect("the agent takes them");
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
