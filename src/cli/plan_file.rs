//! A plan named on the command line, and a state of it.

use std::io::Read as _;
use std::str::FromStr;

use crate::disk;
use crate::model::Plan;
use crate::plan::states::{self, State};
use crate::plan::{self, PlanError};

use super::{Failure, World};

/// A byte more than any plan has: enough to tell that a file is none.
const ENOUGH: u64 = 4 * 1024 * 1024 + 1;

/// A file that is no plan.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the plan `{path}`")]
struct Unreadable<E: std::error::Error + 'static> {
    path: String,
    source: E,
}

/// Returns the plan of a file; `-` is standard input.
pub(super) fn read(path: &str, world: &mut World<'_>) -> Result<Plan, Failure> {
    let unreadable = |source: std::io::Error| Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    if path == "-" {
        (&mut *world.stdin).take(ENOUGH).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = world.directory.join(path);
        let size = std::fs::metadata(&file).map_err(unreadable)?.len();
        if size >= ENOUGH {
            let source = PlanError::TooLarge(usize::try_from(size).unwrap_or(usize::MAX));
            return Err(Unreadable { path: path.to_owned(), source }.into());
        }
        bytes = disk::read_start(&file, ENOUGH).map_err(unreadable)?;
    }
    plan::from_text(&bytes).map_err(|source| Unreadable { path: path.to_owned(), source }.into())
}

/// A state as people name it: `baseline`, `target`, or a step by its number or name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateName {
    /// Before the release, and after an abort.
    Baseline,
    /// A step, counted from 1.
    Step(usize),
    /// After the release.
    Target,
}

impl FromStr for StateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "baseline" | "abort" => Ok(Self::Baseline),
            "target" | "finish" => Ok(Self::Target),
            step => match step.strip_prefix("step-").unwrap_or(step).parse() {
                Ok(number) if number > 0 => Ok(Self::Step(number)),
                _ => Err("a state is `baseline`, `target` or the number of a step".to_owned()),
            },
        }
    }
}

impl StateName {
    /// Returns the state of a plan.
    pub(super) fn of(self, plan: &Plan) -> Result<State, Failure> {
        match self {
            Self::Baseline => Ok(states::state_of(&plan.spec.baseline)),
            Self::Target => Ok(states::state_of(&plan.spec.target)),
            Self::Step(step) => states::at(&plan.spec, step).ok_or_else(|| {
                let last = plan.spec.steps.len();
                format!("the plan has the steps 1 to {last}, no step {step}").into()
            }),
        }
    }
}
