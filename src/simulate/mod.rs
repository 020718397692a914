//! A release in virtual time: the agent's own machine over a modelled cluster, told what happens by a script.
//!
//! Nothing here reads a clock or a file. What is simulated is the order of things and the time that people and pods take;
//! requests to an API server take none.

mod acts;
mod agent;
mod cluster;
mod observe;
mod plans;
mod play;
pub mod scenarios;
mod script;
mod traffic;

use std::collections::BTreeMap;

use serde::Serialize;

pub use script::{Act, Happening, Moment, Never, ReadyAfter, Script, ScriptError, schema};
pub use traffic::Traffic;

use crate::model::{Phase, Plan};
use play::Play;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// What happened, in order.
    pub rows: Vec<Row>,
    /// Where the release stands in the end.
    pub phase: Phase,
    /// What is still waited for.
    pub waiting_for: Option<String>,
    /// What could not be done. Requests never fail here: it is a value that the modelled cluster does not know.
    pub failure: Option<String>,
    /// After how many seconds.
    pub seconds: i64,
    /// Why it stopped there.
    pub stopped: Stopped,
}

/// Why a simulation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stopped {
    /// Nothing more would happen by itself.
    Quiet,
    /// The script's `until` was reached.
    Until,
    /// More happened than is simulated.
    Limit,
}

/// What a simulation says of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// The release is over, whichever way, or there was none to begin.
    Over,
    /// It waits for a person, as the plan or a person wants it.
    Waits,
    /// It stands still, and nobody was meant to wait.
    Stuck,
    /// Nobody knows: the simulation ended before the release did, or does not know a value that a cluster would.
    Open,
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Seconds since the start.
    pub seconds: i64,
    /// `step 2`, `finish`, `abort`; empty at rest.
    pub place: String,
    /// Whose doing it was.
    pub who: Who,
    /// What happened, in words.
    pub what: String,
    /// The release in one word, then.
    pub phase: Phase,
    /// Who got the new version, then.
    pub traffic: Traffic,
    /// What was waited for then, if this was the last thing of its moment.
    pub waiting_for: Option<String>,
}

/// Whose doing something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Who {
    /// The agent.
    Agent,
    /// The cluster's own controllers.
    Cluster,
    /// People, other programs, and bad luck.
    World,
}

/// Runs a plan through a script. `files` are the plans that the script names.
pub fn simulate(plan: &Plan, script: &Script, files: &BTreeMap<String, Plan>) -> Simulation {
    let mut stage = Play::new(plan, script, files);
    let stopped = stage.run();
    let Play { rows, agent, now, .. } = stage;
    let seconds = now.as_second() - script.start.as_second();
    let failure = agent.status.failure.map(|failure| failure.reason);
    Simulation { rows, phase: agent.status.phase, waiting_for: agent.status.waiting_for, failure, seconds, stopped }
}

impl Simulation {
    /// What it says of the plan.
    pub fn end(&self) -> End {
        match (self.stopped, self.phase) {
            (Stopped::Until | Stopped::Limit, _) => End::Open,
            (Stopped::Quiet, Phase::Succeeded | Phase::Aborted | Phase::Bypassed | Phase::Preview) => End::Over,
            (Stopped::Quiet, _) if self.failure.is_some() => End::Open,
            (Stopped::Quiet, Phase::Gated | Phase::Paused) => End::Waits,
            (Stopped::Quiet, Phase::Holding | Phase::Running | Phase::Finishing | Phase::Aborting | Phase::Stalled) => End::Stuck,
        }
    }
}

#[cfg(test)]
mod tests;
