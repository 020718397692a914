//! `rollout status`: where releases stand in a cluster.

use std::ops::ControlFlow;

use super::connection::{Connection, shown};
use super::{Answer, Failure, World};
use crate::model::{Outcome, Phase, PlanStatus, hidden};
use crate::operate::{Cluster, LivePlan};
use crate::report;

/// Shows where releases stand in a cluster, and what they wait for
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout status                          the plans of this namespace
  rollout status -A                       of all namespaces
  rollout status shop -n prod             one plan, with its steps
  rollout status shop -n prod --watch     until the release ends; exit status 0 only for success")]
pub(super) struct Args {
    /// The plan; all plans when absent
    #[arg(value_name = "PLAN")]
    name: Option<String>,
    /// The plans of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    all_namespaces: bool,
    /// Tell each change, until the release ends
    #[arg(short, long, requires = "name")]
    watch: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables for people
    Text,
    /// One report with `.plans[].status`; one a line with `--watch`
    Json,
}

/// Prints what the plans say.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let cluster = args.connection.open(world)?;
    let namespace = args.connection.namespace(&cluster);
    match &args.name {
        Some(name) if args.watch => watch(args, &cluster, namespace, name, world),
        Some(name) => {
            let plan = cluster.plan(namespace, name)?;
            let text = match args.format {
                Format::Text => report::live(shown(&plan), world.stdout_colors),
                Format::Json => hidden::pretty_json(&report::live_json(&[shown(&plan)])),
            };
            world.stdout.write_all(text.as_bytes())?;
            Ok(Answer::Yes)
        }
        None => list(args, &cluster, (!args.all_namespaces).then_some(namespace), world),
    }
}

fn list(args: &Args, cluster: &Cluster, namespace: Option<&str>, world: &mut World<'_>) -> Result<Answer, Failure> {
    let mut plans = Vec::new();
    let mut answer = Answer::Yes;
    for plan in cluster.plans(namespace)? {
        match plan {
            Ok(plan) => plans.push(plan),
            Err(error) => {
                world.stderr.write_all(report::failure(&error, world.stderr_colors).as_bytes())?;
                answer = Answer::No;
            }
        }
    }
    let shown: Vec<_> = plans.iter().map(shown).collect();
    let text = match args.format {
        Format::Text if shown.is_empty() => {
            let place = namespace.map_or_else(|| "any namespace".to_owned(), |namespace| format!("the namespace `{namespace}`"));
            writeln!(world.stderr, "there are no plans in {place}")?;
            String::new()
        }
        Format::Text => report::live_list(&shown, world.stdout_colors),
        Format::Json => hidden::pretty_json(&report::live_json(&shown)),
    };
    world.stdout.write_all(text.as_bytes())?;
    Ok(answer)
}

fn watch(args: &Args, cluster: &Cluster, namespace: &str, name: &str, world: &mut World<'_>) -> Result<Answer, Failure> {
    let colors = world.stdout_colors;
    let mut last = String::new();
    let stdout = &mut *world.stdout;
    let outcome = cluster.watch(namespace, name, None, |plan: LivePlan| {
        let text = match args.format {
            Format::Text => {
                let waiting = plan.status.waiting_for.as_deref().map(|waiting| format!("  {}\n", report::one_line(waiting)));
                report::headline(shown(&plan), colors) + &waiting.unwrap_or_default()
            }
            Format::Json => format!("{}\n", report::live_json(&[shown(&plan)])),
        };
        if text != last {
            if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                return ControlFlow::Break(Err(error));
            }
            last = text;
        }
        end(&plan.status).map_or(ControlFlow::Continue(()), |answer| ControlFlow::Break(Ok(answer)))
    })?;
    match outcome {
        Some(answer) => Ok(answer?),
        None => Err("the API server ended the watch".into()),
    }
}

/// How a release that is over is answered.
fn end(status: &PlanStatus) -> Option<Answer> {
    if !status.is_at_rest() || status.observed_generation.is_none() {
        return None;
    }
    match (status.phase, status.last.as_ref().map(|last| last.outcome)) {
        (Phase::Succeeded | Phase::Preview | Phase::Bypassed, _) => Some(Answer::Yes),
        (Phase::Aborted, _) | (_, Some(Outcome::Aborted)) => Some(Answer::No),
        _ => None,
    }
}
