//! `rollout schema`: what a plan's file may hold, for editors and validators.

use super::{Answer, Failure, World};
use crate::plan::schema::schema;

/// Prints the JSON schema of a plan
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  rollout schema > rolloutplan.schema.json")]
pub(super) struct Args {}

/// Prints the schema.
pub(super) fn run(_: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    writeln!(world.stdout, "{:#}", schema())?;
    Ok(Answer::Yes)
}
