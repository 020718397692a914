//! `rollout approve`, `pause`, `resume`, `abort`, `retry`, `jump`: what a person asks of a running release.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::connection::{Connection, shown};
use super::{Answer, Failure, World};
use crate::model::{Part, PlanStatus, Request, Verb};
use crate::operate::Cluster;
use crate::report;

/// How long an agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long another person's request may wait for its answer before ours takes its place.
const COURTESY: Duration = Duration::from_secs(5);

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
    let Some(id) = send(&cluster, namespace, &args.name, (verb, step), world)? else { return Ok(Answer::No) };
    let answered = cluster.watch(namespace, &args.name, Some(PATIENCE), |plan| {
        let is_answered = plan.status.handled_request.as_ref() == Some(&id);
        // Somebody asked next, which this program does after an answer only.
        let is_past = plan.requested.as_ref() != Some(&id);
        if is_answered || is_past { ControlFlow::Break((plan, is_answered)) } else { ControlFlow::Continue(()) }
    })?;
    let Some((plan, is_answered)) = answered else {
        return Err(format!(
            "no agent answered within {} seconds; the request stands, and is obeyed if it still fits then",
            PATIENCE.as_secs()
        )
        .into());
    };
    if !is_answered {
        writeln!(world.stderr, "somebody else asked right after; the release stands so")?;
    } else if let Some(refused) = &plan.status.refused_request {
        writeln!(world.stderr, "refused: {}", report::one_line(refused))?;
        return Ok(Answer::No);
    }
    write!(world.stdout, "{}", report::headline(shown(&plan), world.stdout_colors))?;
    Ok(Answer::Yes)
}

/// Puts the request on the plan once nobody else's waits there, and returns its id; none where there is nothing to approve.
fn send(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    (verb, step): (Verb, Option<u32>),
    world: &mut World<'_>,
) -> Result<Option<String>, Failure> {
    let begin = Instant::now();
    loop {
        let plan = cluster.plan(namespace, name)?;
        let Some(digest) = plan.status.digest.clone() else {
            return Err(format!("no agent has looked at the plan `{namespace}/{name}` yet").into());
        };
        let step = match (verb, step) {
            (_, Some(step)) => step,
            (Verb::Approve, None) => {
                let Some(step) = gate(&plan.status) else {
                    let line = report::headline(shown(&plan), world.stderr_colors);
                    write!(world.stderr, "the release waits for no approval\n{line}")?;
                    return Ok(None);
                };
                step
            }
            (Verb::Pause | Verb::Resume | Verb::Abort | Verb::Retry | Verb::Jump, None) => 0,
        };
        // One that nobody answers for so long is in nobody's hands any more.
        if !plan.is_asked() || begin.elapsed() > COURTESY {
            // Two requests of one person are further apart than a nanosecond.
            let id = format!("{}-{}", Timestamp::now().as_nanosecond(), std::process::id());
            if cluster.ask(&plan, &Request { verb, digest, step, id: id.clone() })? {
                return Ok(Some(id));
            }
        }
        if begin.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(format!("the plan `{namespace}/{name}` changed all the time, for {seconds} seconds; nothing was asked").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The step whose gate the release is at.
fn gate(status: &PlanStatus) -> Option<u32> {
    status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate).map(|cursor| cursor.step)
}
