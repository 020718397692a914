//! `rollout show PLAN`: the manifests of one state, or the commands that reach it by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::plan_file::{self, StateName};
use super::{Answer, Failure, World};
use crate::model::{Binding, Plan, Stage, hidden};
use crate::plan::manifests::{self, Bound};
use crate::plan::{commands, states};
use crate::yaml;

/// Prints the manifests of a state of a plan
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout show plan.yaml --baseline
  rollout show plan.yaml --step 2 --bind stableRevision=6d4cf56db6 --bind canaryRevision=7b8d9c
  rollout show plan.yaml --abort --commands")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line, three of which exclude each other")]
#[command(group(clap::ArgGroup::new("which").required(true).args(["step", "baseline", "target", "abort"])))]
pub(super) struct Args {
    /// The plan's file; `-` reads standard input
    #[arg(value_name = "PLAN")]
    plan: String,

    /// The state of a step, counted from 1
    #[arg(long, value_name = "N", value_parser = step_number)]
    step: Option<usize>,

    /// The state before the release
    #[arg(long)]
    baseline: bool,

    /// The state after the release
    #[arg(long)]
    target: bool,

    /// The state after an abort, which is the baseline; with `--commands`, the way back to it
    #[arg(long)]
    abort: bool,

    /// Print the kubectl commands that lead to the state by hand, from the baseline
    #[arg(long)]
    commands: bool,

    /// A value that only the cluster knows: stableRevision, canaryRevision or replicas
    #[arg(long, value_name = "NAME=VALUE")]
    bind: Vec<String>,

    /// How manifests are printed
    #[arg(long, value_enum, default_value_t = Format::Yaml, conflicts_with = "commands")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A stream of documents
    Yaml,
    /// One `List`
    Json,
}

/// The number of a step as tables name it: `2` and `step-2`.
fn step_number(text: &str) -> Result<usize, String> {
    match text.strip_prefix("step-").unwrap_or(text).parse() {
        Ok(0) => Err("steps count from 1; the state before them is `--baseline`".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a step is named by its number; the state after the last is `--target`".to_owned()),
    }
}

/// Prints what was asked for, or says which values are missing and how they are read.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let plan = plan_file::read(&args.plan, world)?;
    let name = match args.step {
        Some(step) => StateName::Step(step),
        None if args.target => StateName::Target,
        None => StateName::Baseline,
    };
    let state = name.of(&plan)?;
    let bound = bound(&args.bind)?;
    let text = if args.commands {
        commands::commands(&plan, &way(&plan, name), &bound).map_err(|unbound| missing(&plan, &unbound))?
    } else {
        let objects = manifests::bound(&plan, &state, &bound).map_err(|unbound| missing(&plan, &unbound))?;
        match args.format {
            Format::Yaml => objects.values().map(yaml::write).collect::<Vec<_>>().join("---\n"),
            Format::Json => {
                let items: Vec<Value> = objects.into_values().collect();
                hidden::pretty_json(&json!({"apiVersion": "v1", "kind": "List", "items": items}))
            }
        }
    };
    world.stdout.write_all(text.as_bytes())?;
    Ok(Answer::Yes)
}

/// The stages to a state: upwards from the baseline, or back to it.
fn way(plan: &Plan, name: StateName) -> Vec<&Stage> {
    match name {
        StateName::Baseline => plan.spec.abort.iter().collect(),
        StateName::Step(step) => states::jump(&plan.spec, 0, step),
        StateName::Target => states::jump(&plan.spec, 0, plan.spec.steps.len()).into_iter().chain(&plan.spec.finish).collect(),
    }
}

fn bound(arguments: &[String]) -> Result<Bound, Failure> {
    let mut bound = Bound::default();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or_else(|| format!("`--bind` takes NAME=VALUE, not `{argument}`"))?;
        bound.set(name, value)?;
    }
    Ok(bound)
}

/// Says which values nobody gave, each once, with the command that reads it.
fn missing(plan: &Plan, unbound: &[&Binding]) -> Failure {
    let names: BTreeMap<&str, &Binding> = unbound.iter().map(|binding| (manifests::name(binding.value), *binding)).collect();
    let mut text = String::from("some values are known only to the cluster; read them there, and give them with `--bind`");
    for (name, binding) in names {
        let command = commands::reading(plan, binding.value);
        let _ = write!(text, "\n  `{name}`, for `{}` of `{}`:\n    {command}", binding.pointer, binding.object);
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::step_number;

    #[test]
    fn a_step_is_named_by_its_number_or_as_tables_name_it() {
        assert_eq!(step_number("2"), Ok(2));
        assert_eq!(step_number("step-2"), Ok(2));
        for none in ["0", "-1", "finish", ""] {
            assert!(step_number(none).is_err(), "{none}");
        }
    }
}
