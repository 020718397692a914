//! Script cases: what a gateway's script makes of each step, beside what its author expects.
//!
//! A case is a YAML file in OpenKruise's format: `rollout` or `trafficRouting`, `original`, and one `expected` object a step.
//! It belongs to the script of the folder that its `testdata` stands in, or else to the script for the original's kind.

mod bless;
mod case;
mod compare;
mod find;

use serde_json::Value;

use crate::files::Files;
use crate::lua::Script;
use crate::model::Gateway;

pub use bless::bless;

use case::{Case, Expectation, Run};
use find::Found;

/// What came of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// The case's file.
    pub path: String,
    /// The script that it ran, if there is one.
    pub script: Option<String>,
    /// What came of each step, in order; or why no step could be run.
    pub outcomes: Result<Vec<Outcome>, String>,
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The script gave what was expected.
    Passed,
    /// It gave something else.
    Differs {
        /// What the case says, as far as it is compared.
        expected: Value,
        /// What the script gave.
        actual: Value,
    },
    /// It gave something, and the case says nothing about the step.
    Unexpected {
        /// What the script gave.
        actual: Value,
    },
    /// It gave nothing.
    Failed {
        /// What went wrong, with the script's name and line where they are known.
        message: String,
    },
    /// The case expects something of a step that it does not have.
    NoSuchStep,
}

impl CaseReport {
    /// Whether every step passed.
    pub fn is_passed(&self) -> bool {
        self.outcomes.as_ref().is_ok_and(|outcomes| outcomes.iter().all(|outcome| *outcome == Outcome::Passed))
    }
}

/// Runs every case among `files`, in the order of their paths. `shipped` serves the cases that stand beside no script.
pub fn run(files: &Files, shipped: &[(String, Gateway)]) -> Vec<CaseReport> {
    find::cases(files, shipped)
        .into_iter()
        .map(|found| CaseReport { outcomes: outcomes(&found), path: found.path, script: found.script.map(|script| script.name) })
        .collect()
}

fn outcomes(found: &Found<'_>) -> Result<Vec<Outcome>, String> {
    let (case, results) = results(found)?;
    let mut expected = case.expected.iter();
    let mut outcomes: Vec<Outcome> = results.into_iter().map(|actual| judge(&case, expected.next(), actual)).collect();
    outcomes.extend(expected.map(|_| Outcome::NoSuchStep));
    Ok(outcomes)
}

fn judge(case: &Case, expected: Option<&Expectation>, actual: Result<Value, String>) -> Outcome {
    match (expected, actual) {
        (None, Ok(actual)) => Outcome::Unexpected { actual },
        (Some(Expectation::Object(object)), Ok(actual)) => {
            let expected = case.compared(object);
            if compare::is_same(&expected, &actual) { Outcome::Passed } else { Outcome::Differs { expected, actual } }
        }
        (Some(Expectation::Error(text)), Ok(actual)) => Outcome::Differs { expected: Value::String(format!("error: {text}")), actual },
        (Some(Expectation::Error(text)), Err(message)) if message.contains(text) => Outcome::Passed,
        (_, Err(message)) => Outcome::Failed { message },
    }
}

/// The case, and what its script makes of each of its steps.
fn results(found: &Found<'_>) -> Result<(Case, Vec<Result<Value, String>>), String> {
    let case = Case::read(found.text)?;
    let Some(source) = &found.script else {
        return Err(format!("there is no script for {}", case.kind()));
    };
    let script = Script::compile(&source.path, source.text).map_err(|error| error.to_string())?;
    let results = case.runs().iter().map(|run| result(&case, &script, run)).collect();
    Ok((case, results))
}

fn result(case: &Case, script: &Script, run: &Run) -> Result<Value, String> {
    let input = case.input(run);
    let output = script.call(&[("obj", &input)]).map_err(|error| error.to_string())?;
    if !output.value.is_object() && !output.value.as_array().is_some_and(Vec::is_empty) {
        return Err(format!("the script returned {} instead of a table", compare::kind_of(&output.value)));
    }
    Ok(case.returned(&output.value))
}
