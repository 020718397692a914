//! `rollout schema`: what a plan's file, `.rollout.yaml`, a JSON report and a file of events may hold, for editors and validators.

use clap::ValueEnum;

use super::{Answer, Failure, World};
use crate::{config, plan, report, simulate};

/// Prints the JSON schema of a plan, of `.rollout.yaml`, of a report, or of events
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
    /// The events of `rollout simulate`
    Events,
}

/// Prints the schema.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let schema = match args.subject {
        Subject::Plan => plan::schema::schema(),
        Subject::Config => config::schema(),
        Subject::Report => report::json_schema(),
        Subject::Events => simulate::schema(),
    };
    writeln!(world.stdout, "{schema:#}")?;
    Ok(Answer::Yes)
}
