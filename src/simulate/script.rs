//! What happens during a simulation: a file of events.

use jiff::Timestamp;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::ObjectKey;
use crate::yaml;

/// No simulation needs more, and each is looked at often.
const MOST_EVENTS: usize = 1_000;
/// A year. Longer is a slip of the finger.
const LONGEST: u32 = 366 * 24 * 60 * 60;

/// The first of January 2026, midnight UTC: as good as any other.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// How the cluster behaves, and what people and other programs do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "rollout simulate: events")]
pub struct Script {
    /// When the simulated clock starts. Absent: the first of January 2026.
    #[schemars(with = "String")]
    pub start: Timestamp,
    /// After how many seconds the simulation stops, if it has not come to its end before.
    #[schemars(range(max = 31_622_400))]
    pub until: u32,
    /// How long new pods take until they are ready.
    pub ready_after: ReadyAfter,
    /// After how many seconds in a gate somebody approves it. Absent: nobody does, unless an event says so.
    pub approve_after: Option<u32>,
    /// What happens, in any order.
    pub events: Vec<Happening>,
}

/// How long pods take until they are ready: seconds, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ReadyAfter {
    /// So many seconds after they were asked for.
    Seconds(#[schemars(range(max = 31_622_400))] u32),
    /// They crash, or find no node.
    Never(Never),
}

/// The word `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Never {
    /// Not as long as nothing else is said.
    Never,
}

/// Something that happens once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Happening {
    /// So many seconds after the start, or after the moment of `when`.
    #[serde(default)]
    pub after: u32,
    /// The moment that `after` counts from. Absent: the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Moment>,
    /// What happens.
    #[serde(rename = "do")]
    pub act: Act,
}

/// A moment of a release: the first time that it gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Moment {
    /// The way into the step begins.
    Entering(u32),
    /// The step's gate begins.
    Gate(u32),
    /// The last gate is open.
    Finish,
    /// The way back begins.
    Abort,
    /// A release is over, whatever came of it.
    End,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Act {
    /// Somebody approves the step that the release is in.
    Approve,
    /// Somebody approves a step, having looked at the plan with that digest.
    ApproveStale {
        /// The step, counted from 1.
        step: u32,
        /// The digest of another plan. Absent: that of the plan that is run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// Somebody asks for a pause.
    Pause,
    /// Somebody ends the pause.
    Resume,
    /// Somebody asks for the way back.
    Abort,
    /// Somebody asks to begin again after an abort.
    Retry,
    /// Somebody asks for a step.
    Jump {
        /// The step, counted from 1.
        step: u32,
    },
    /// The Rollout's own switches change.
    Rollout {
        /// `spec.strategy.paused`.
        #[serde(default)]
        paused: bool,
        /// `spec.disabled`.
        #[serde(default)]
        disabled: bool,
    },
    /// The plan is deleted.
    Delete,
    /// From now on pods of a workload take so long until they are ready; those that are not ready yet, too.
    Pods {
        /// The workload. Absent: all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workload: Option<ObjectKey>,
        /// How long.
        ready_after: ReadyAfter,
    },
    /// The ready pods of a workload crash, and are ready again after the time that its pods take.
    Crash {
        /// The workload.
        workload: ObjectKey,
    },
    /// Somebody else edits an object.
    Edit {
        /// The object.
        object: ObjectKey,
        /// Where, as a JSON pointer.
        pointer: String,
        /// What is there then. Absent: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// Who it is.
        #[serde(default = "somebody")]
        manager: String,
    },
    /// Somebody else deletes an object.
    Remove {
        /// The object.
        object: ObjectKey,
        /// Who it is.
        #[serde(default = "somebody")]
        manager: String,
    },
    /// The agent is killed in the middle of the next thing that it does, and comes back later.
    Kill {
        /// How many seconds it is away.
        seconds: u32,
    },
    /// The plan's object changes: to the plan of a file, or to another release with the same steps.
    Plan {
        /// The file, relative to the file of the events. Absent: another release is made up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
}

impl Default for Script {
    fn default() -> Self {
        Self { start: START, until: 24 * 60 * 60, ready_after: ReadyAfter::Seconds(10), approve_after: None, events: Vec::new() }
    }
}

impl ReadyAfter {
    /// The seconds, unless it is never.
    pub fn seconds(self) -> Option<u32> {
        match self {
            Self::Seconds(seconds) => Some(seconds),
            Self::Never(Never::Never) => None,
        }
    }
}

fn somebody() -> String {
    "somebody".to_owned()
}

/// Why a file holds no events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Not YAML.
    #[error(transparent)]
    Yaml(#[from] yaml::ReadError),
    /// A field is unknown, missing, or not what it should be.
    #[error("`{field}`: {message}")]
    Field {
        /// Which: `events[1].do`.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// More than is looked at.
    #[error("a simulation has at most {MOST_EVENTS} events, not {0}")]
    TooMany(usize),
    /// Longer than is looked at.
    #[error("`{0}`: at most {LONGEST} seconds, which is a year")]
    TooLong(&'static str),
}

impl Script {
    /// Reads a file of events.
    pub fn from_text(text: &str) -> Result<Self, ScriptError> {
        let value = yaml::read_value(text)?;
        let script: Self = serde_path_to_error::deserialize(&value)
            .map_err(|error| ScriptError::Field { field: error.path().to_string(), message: error.inner().to_string() })?;
        if script.events.len() > MOST_EVENTS {
            return Err(ScriptError::TooMany(script.events.len()));
        }
        let after = script.events.iter().map(|event| event.after).max().unwrap_or_default();
        let ready = script.ready_after.seconds().unwrap_or_default();
        for (field, seconds) in [
            ("until", script.until),
            ("readyAfter", ready),
            ("approveAfter", script.approve_after.unwrap_or_default()),
            ("events.after", after),
        ] {
            if seconds > LONGEST {
                return Err(ScriptError::TooLong(field));
            }
        }
        Ok(script)
    }

    /// The plan files that it names.
    pub fn plan_files(&self) -> impl Iterator<Item = &str> {
        self.events.iter().filter_map(|event| match &event.act {
            Act::Plan { file } => file.as_deref(),
            Act::Approve
            | Act::ApproveStale { .. }
            | Act::Pause
            | Act::Resume
            | Act::Abort
            | Act::Retry
            | Act::Jump { .. }
            | Act::Rollout { .. }
            | Act::Delete
            | Act::Pods { .. }
            | Act::Crash { .. }
            | Act::Edit { .. }
            | Act::Remove { .. }
            | Act::Kill { .. } => None,
        })
    }
}

/// Returns the JSON schema (draft 2020-12) of a file of events.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Script>().to_value()
}

#[cfg(test)]
mod tests {
    use super::{Act, Moment, ReadyAfter, Script, schema};

    #[test]
    fn a_file_of_events_is_read() {
        let text = "readyAfter: never\nevents:\n- {after: 5, when: {gate: 2}, do: approve}\n- {when: finish, do: {jump: {step: 3}}}\n\
                    - do: {edit: {object: VirtualService/shop, pointer: /spec/http, value: []}}\n";
        let script = Script::from_text(text).expect("events");
        assert_eq!(script.ready_after.seconds(), None);
        assert_eq!(script.events[0].when, Some(Moment::Gate(2)));
        assert_eq!(script.events[1].act, Act::Jump { step: 3 });
        assert!(matches!(&script.events[2].act, Act::Edit { manager, .. } if manager == "somebody"));
        assert_eq!(Script::from_text("readyAfter: 40").expect("events").ready_after, ReadyAfter::Seconds(40));
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = Script::from_text(text).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_no_event_is_said_with_its_place() {
        refused("events: [{do: dance}]", "`events[0].do`: unknown variant `dance`");
        refused("event: []", "unknown field `event`");
        refused("until: 99999999", "`until`: at most 31622400 seconds");
        refused("events: [{do: {jump: {step: -1}}}]", "events[0].do");
        refused("a: [", "1:");
        refused("readyAfter: soon", "readyAfter");
    }

    #[test]
    fn the_schema_names_every_act() {
        let text = schema().to_string();
        for act in ["approve", "approveStale", "kill", "plan", "readyAfter", "crash", "when"] {
            assert!(text.contains(&format!("\"{act}\"")), "{act}");
        }
    }
}
