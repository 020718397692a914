//! `rollout schema`: what a plan's file, `.rollout.yaml` and a JSON report may hold, for editors and validators.

use clap::ValueEnum;

use super::{Answer, Failure, World};
use crate::{config, plan, report};

/// Prints the JSON schema of a plan, of `.rollout.yaml`, or of a report
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout schema > rolloutplan.schema.json
  rollout schema config > rollout.schema.json
  rollout schema report > rollout-report.schema.json")]
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
    /// What `rollout render --format json` prints
    Report,
}

/// Prints the schema.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let schema = match args.subject {
        Subject::Plan => plan::schema::schema(),
        Subject::Config => config::schema(),
        Subject::Report => report::json_schema(),
    };
    writeln!(world.stdout, "{schema:#}")?;
    Ok(Answer::Yes)
}
