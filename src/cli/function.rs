//! `rollout fn`: called by kpt and kustomize, not by people.

use std::io::Read as _;

use crate::disk;
use crate::files::Files;
use crate::function;
use crate::model::Severity;
use crate::report;

use super::{Answer, Failure, World};

/// Adds plans to a ResourceList, as a function of kpt or kustomize
///
/// Reads a ResourceList from stdin and prints it with a RolloutPlan for each Rollout among its items, and with findings as
/// `results`. The plan before, when it is among the items, tells what is released now; without one the plan is a preview.
/// All other items keep the bytes that they came with.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kpt fn eval --exec 'rollout fn' -- output=rollouts namespace=prod
  rollout fn < resource-list.yaml

The ConfigMap of the function may hold `output`, `namespace` and `environment`.")]
pub(super) struct Args {}

/// Prints the list.
pub(super) fn run(_: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let mut bytes = Vec::new();
    (&mut *world.stdin).take(disk::LARGEST_STREAM + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > disk::LARGEST_STREAM {
        return Err(format!("the ResourceList is longer than {} MiB", disk::LARGEST_STREAM >> 20).into());
    }
    let outcome = function::run(&bytes)?;
    world.stdout.write_all(outcome.text.as_bytes())?;
    world.stderr.write_all(report::findings(&outcome.findings, &Files::default(), world.stderr_colors).as_bytes())?;
    let is_no = outcome.findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if is_no { Answer::No } else { Answer::Yes })
}
