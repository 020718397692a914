//! `rollout approve`, `pause`, `resume`, `abort`, `retry`, `jump`: what a person asks of a running release.

use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;

use super::connection::{Connection, shown};
use super::{Answer, Failure, World};
use crate::model::{Part, PlanStatus, Request, Verb};
use crate::report;

/// How long an agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which release.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The plan
    #[arg(value_name = "PLAN")]
    name: String,
    #[command(flatten)]
    connection: Connection,
}

/// Which release, and which step of it.
#[derive(Debug, clap::Args)]
pub(super) struct StepArgs {
    #[command(flatten)]
    plan: Args,
    /// The step, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    step: u32,
}

/// Which release, and which step where that has to be certain.
#[derive(Debug, clap::Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    plan: Args,
    /// Only this step; the one that waits when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    step: Option<u32>,
}

/// Opens the gate of the step that the release waits in.
pub(super) fn approve(args: &ApproveArgs, world: &mut World<'_>) -> Result<Answer, Failure> {
    ask(&args.plan, Verb::Approve, args.step, world)
}

/// Goes to a step.
pub(super) fn jump(args: &StepArgs, world: &mut World<'_>) -> Result<Answer, Failure> {
    ask(&args.plan, Verb::Jump, Some(args.step), world)
}

/// Asks something that is about no step.
pub(super) fn plain(args: &Args, verb: Verb, world: &mut World<'_>) -> Result<Answer, Failure> {
    ask(args, verb, None, world)
}

fn ask(args: &Args, verb: Verb, step: Option<u32>, world: &mut World<'_>) -> Result<Answer, Failure> {
    let cluster = args.connection.open(world)?;
    let namespace = args.connection.namespace(&cluster);
    let plan = cluster.plan(namespace, &args.name)?;
    let Some(digest) = plan.status.digest.clone() else {
        return Err(format!("no agent has looked at the plan `{namespace}/{}` yet", args.name).into());
    };
    let step = match (verb, step) {
        (_, Some(step)) => step,
        (Verb::Approve, None) => {
            let Some(step) = gate(&plan.status) else {
                let line = report::headline(shown(&plan), world.stderr_colors);
                write!(world.stderr, "the release waits for no approval\n{line}")?;
                return Ok(Answer::No);
            };
            step
        }
        (Verb::Pause | Verb::Resume | Verb::Abort | Verb::Retry | Verb::Jump, None) => 0,
    };
    // Two requests of one person are further apart than a nanosecond.
    let id = format!("{}-{}", Timestamp::now().as_nanosecond(), std::process::id());
    let request = Request { verb, digest, step, id: id.clone() };
    cluster.ask(namespace, &args.name, &request)?;

    let answered = cluster.watch(namespace, &args.name, Some(PATIENCE), |plan| {
        if plan.status.handled_request.as_ref() == Some(&id) { ControlFlow::Break(plan) } else { ControlFlow::Continue(()) }
    })?;
    let Some(plan) = answered else {
        return Err(format!(
            "no agent answered within {} seconds; the request stands, and is obeyed if it still fits then",
            PATIENCE.as_secs()
        )
        .into());
    };
    if let Some(refused) = &plan.status.refused_request {
        writeln!(world.stderr, "refused: {}", report::one_line(refused))?;
        return Ok(Answer::No);
    }
    write!(world.stdout, "{}", report::headline(shown(&plan), world.stdout_colors))?;
    Ok(Answer::Yes)
}

/// The step whose gate the release is at.
fn gate(status: &PlanStatus) -> Option<u32> {
    status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate).map(|cursor| cursor.step)
}
