//! `rollout simulate PLAN`: the release in virtual time.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;

use super::{Answer, Failure, World, plan_file};
use crate::model::{Plan, hidden};
use crate::report;
use crate::simulate::{End, Script, ScriptError, scenarios, simulate};

/// Longer than any file of events.
const LONGEST: u64 = 1024 * 1024;

/// Runs a plan in virtual time, as the agent would
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rollout simulate plan.yaml
  rollout simulate plan.yaml --scenario never-ready
  rollout simulate plan.yaml --events events.yaml --format json

Without `--events` and `--scenario` everything goes well: pods are ready after 10 s, and every gate
is approved after 5 min.
`rollout schema events` prints the schema of a file of events.

Exit status: 0 the release ends, or waits for a person; 1 it stands still; 2 the simulation ends first.")]
pub(super) struct Args {
    /// The plan's file; `-` reads standard input
    #[arg(value_name = "PLAN")]
    plan: String,

    /// What happens meanwhile: a YAML file
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    events: Option<String>,

    /// What happens meanwhile: a script that ships with the program
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    scenario: Option<Script>,

    /// How the timeline is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Text,
    /// One value
    Json,
}

/// A file that holds no events.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the events of `{path}`")]
struct Unreadable<E: std::error::Error + 'static> {
    path: String,
    source: E,
}

/// A simulation that ended before anything is known about the release.
#[derive(Debug)]
struct Unfinished(Option<String>);

impl std::fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(reason) => write!(formatter, "the modelled cluster does not know enough: {reason}"),
            None => formatter.write_str("the simulated time was over before the release: give the events a later `until`"),
        }
    }
}

impl std::error::Error for Unfinished {}

fn scenario(name: &str) -> Result<Script, String> {
    let names = || scenarios::SCENARIOS.map(|scenario| format!("`{}`, {}", scenario.name, scenario.about)).join("\n  ");
    match scenarios::script(name) {
        Some(script) => script.map_err(|error| error.to_string()),
        None => Err(format!("the scenarios are\n  {}", names())),
    }
}

/// Prints what would happen.
pub(super) fn run(args: &Args, world: &mut World<'_>) -> Result<Answer, Failure> {
    let plan = plan_file::read(&args.plan, world)?;
    let mut files = BTreeMap::new();
    let script = match (&args.events, &args.scenario) {
        (Some(path), _) => {
            let script = read(path, world)?;
            files = plans(path, &script, &plan, world)?;
            script
        }
        (None, Some(script)) => script.clone(),
        (None, None) => {
            if args.format == Format::Text {
                writeln!(world.stderr, "note: no events were given: pods are ready after 10 s, and every gate is approved after 5 min")?;
            }
            scenario(scenarios::SCENARIOS[0].name)?
        }
    };
    let simulation = simulate(&plan, &script, &files);
    match args.format {
        Format::Text => world.stdout.write_all(report::timeline(&plan, &simulation, world.stdout_colors).as_bytes())?,
        Format::Json => world.stdout.write_all(hidden::pretty_json(&report::timeline_json(&plan, &simulation)).as_bytes())?,
    }
    match simulation.end() {
        End::Over | End::Waits => Ok(Answer::Yes),
        End::Stuck => Ok(Answer::No),
        End::Open => Err(Unfinished(simulation.failure).into()),
    }
}

fn read(path: &str, world: &World<'_>) -> Result<Script, Failure> {
    let unreadable = |source: std::io::Error| Unreadable { path: path.to_owned(), source };
    let file = world.directory.join(path);
    if std::fs::metadata(&file).map_err(unreadable)?.len() > LONGEST {
        return Err(format!("a file of events has at most 1 MiB, `{path}` has more").into());
    }
    let text = std::fs::read_to_string(&file).map_err(unreadable)?;
    Script::from_text(&text).map_err(|source: ScriptError| Unreadable { path: path.to_owned(), source }.into())
}

/// The plans that the events name, relative to their file.
fn plans(events: &str, script: &Script, plan: &Plan, world: &mut World<'_>) -> Result<BTreeMap<String, Plan>, Failure> {
    let folder = Path::new(events).parent().unwrap_or(Path::new(""));
    let mut plans = BTreeMap::new();
    for file in script.plan_files() {
        let other = plan_file::read(&folder.join(file).to_string_lossy(), world)?;
        if (&other.namespace, &other.name) != (&plan.namespace, &plan.name) {
            let (theirs, ours) = (format!("{}/{}", other.namespace, other.name), format!("{}/{}", plan.namespace, plan.name));
            return Err(format!("the plan `{file}` of the events is that of `{theirs}`, not of `{ours}`").into());
        }
        plans.insert(file.to_owned(), other);
    }
    Ok(plans)
}
