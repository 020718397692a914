//! `rollout diff`: two plans against each other, or two states of one plan.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::plan_file::{self, StateName};
use super::{Answer, Failure, World};
use crate::diff::{self, ObjectDiff};
use crate::model::{ObjectRef, Plan, hidden};
use crate::plan::manifests;
use crate::plan::states::State;
use crate::report::{Colors, colored};

/// Compares two plans state by state, or two states of one plan
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout diff plan.yaml --from baseline --to 1
  rollout diff plan.yaml --from 2 --to target
  rollout diff old/plan.yaml new/plan.yaml --exit-code")]
pub(super) struct Args {
    /// The plan's file; `-` reads standard input
    #[arg(value_name = "PLAN")]
    plan: String,

    /// Another plan, compared with the first
    #[arg(value_name = "OTHER", required_unless_present = "from", conflicts_with_all = ["from", "to"])]
    other: Option<String>,

    /// A state of the plan: baseline, target or the number of a step
    #[arg(long, value_name = "STATE", requires = "to")]
    from: Option<StateName>,

    /// The state that it is compared with
    #[arg(long, value_name = "STATE", requires = "from")]
    to: Option<StateName>,

    /// Answer no, with exit status 1, where there is a difference
    #[arg(long)]
    exit_code: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A headline for each pair of states, and the differences in color
    Text,
    /// Unified diffs alone
    Diff,
    /// Objects, hunks and lines
    Json,
}

/// What differs between two states.
struct Compared {
    from: String,
    to: String,
    diffs: Vec<ObjectDiff>,
}

/// Prints the differences.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    if args.plan == "-" && args.other.as_deref() == Some("-") {
        return Err("standard input can be read only once\nhelp: name a file for one of the two plans".into());
    }
    let plan = plan_file::read(&args.plan, world)?;
    let compared = match (&args.other, args.from, args.to) {
        (None, Some(from), Some(to)) => {
            let diffs = diff::between(&objects(&plan, from)?, &objects(&plan, to)?);
            vec![Compared { from: named(from), to: named(to), diffs }]
        }
        (other, _, _) => plans(&plan, &plan_file::read(other.as_deref().unwrap_or("-"), world)?),
    };
    let differs = compared.iter().any(|pair| !pair.diffs.is_empty());
    world.stdout.write_all(printed(&compared, args.format, world.stdout_colors).as_bytes())?;
    Ok(if differs && args.exit_code { Answer::No } else { Answer::Yes })
}

/// Compares two plans: baselines, each step with the step of its number, targets.
fn plans(old: &Plan, new: &Plan) -> Vec<Compared> {
    let steps = (1..=old.spec.steps.len().max(new.spec.steps.len())).map(StateName::Step);
    let states = std::iter::once(StateName::Baseline).chain(steps).chain([StateName::Target]);
    states
        .map(|state| {
            // A step that only one of them has is compared with nothing.
            let of = |plan| objects(plan, state).unwrap_or_default();
            Compared { from: named(state), to: named(state), diffs: diff::between(&of(old), &of(new)) }
        })
        .collect()
}

fn objects(plan: &Plan, state: StateName) -> Result<BTreeMap<ObjectRef, Value>, Failure> {
    let state: State = state.of(plan)?;
    Ok(manifests::named(plan, &state))
}

fn named(state: StateName) -> String {
    match state {
        StateName::Baseline => "baseline".to_owned(),
        StateName::Step(step) => format!("step-{step}"),
        StateName::Target => "target".to_owned(),
    }
}

fn printed(compared: &[Compared], format: Format, colors: Colors) -> String {
    let different = compared.iter().filter(|pair| !pair.diffs.is_empty());
    match format {
        Format::Diff => different.map(|pair| diff::unified(&pair.diffs)).collect(),
        Format::Json => {
            let pairs: Vec<Value> = compared.iter().map(|pair| json!({"from": pair.from, "to": pair.to, "objects": pair.diffs})).collect();
            hidden::pretty_json(&json!({"version": crate::report::VERSION, "differences": pairs}))
        }
        Format::Text => {
            let texts: Vec<String> = different
                .map(|pair| {
                    let way = if pair.from == pair.to { pair.from.clone() } else { format!("{} → {}", pair.from, pair.to) };
                    format!("{way}\n{}", colored(&diff::unified(&pair.diffs), colors))
                })
                .collect();
            if texts.is_empty() { "no difference\n".to_owned() } else { texts.join("\n") }
        }
    }
}
