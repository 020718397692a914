//! `rollout schema`: what a plan's file and `.rollout.yaml` may hold, for editors and validators.

use clap::ValueEnum;

use super::{Answer, Failure, World};
use crate::{config, plan};

/// Prints the JSON schema of a plan, or of `.rollout.yaml`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout schema > rolloutplan.schema.json
  rollout schema config > rollout.schema.json")]
pub(super) struct Args {
    /// Of what
    #[arg(value_enum, default_value_t = Subject::Plan)]
    subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// A `plan.yaml`
    Plan,
    /// `.rollout.yaml`
    Config,
}

/// Prints the schema.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let schema = match args.subject {
        Subject::Plan => plan::schema::schema(),
        Subject::Config => config::schema(),
    };
    writeln!(world.stdout, "{schema:#}")?;
    Ok(Answer::Yes)
}
