//! What the agent records about a plan: where a release stands, what it waits for, and how the last one ended.
//!
//! The types are `RolloutPlan.status`, field for field. Unknown fields are read over, so that an older agent can read
//! what a newer one wrote; the agent writes them back. What changes them is `machine`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectKey;

/// All that is recorded. An agent that comes back needs nothing else but the plan and what was captured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanStatus {
    /// The generation of the plan's object that was looked at last. The cluster says -1 before there is one.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "looked_at")]
    pub observed_generation: Option<i64>,
    /// The digest of the plan that is run; at rest, of the one that was looked at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The release of that plan. Absent for a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The same as the cursor and the conditions, in one word.
    pub phase: Phase,
    /// Where the release stands. Absent at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// Counts the cursor's moves. What was done for one turn says nothing about the next.
    #[serde(skip_serializing_if = "is_default")]
    pub turn: u64,
    /// Values that only the cluster knows.
    #[serde(skip_serializing_if = "is_default")]
    pub bindings: Bindings,
    /// Every object that the release will ever touch. No other plan may touch them until they are handed back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ObjectKey>,
    /// The ControllerRevision with the running plan and the values from before the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<String>,
    /// What is being waited for, in words, with the command that continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// The id of the last request that was obeyed or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handled_request: Option<String>,
    /// Why that request was refused. Absent when it was obeyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_request: Option<String>,
    /// Who stopped the release, if anybody did.
    #[serde(skip_serializing_if = "is_default")]
    pub suspended: Suspended,
    /// Whether the plan, its Rollout or its namespace is being deleted.
    #[serde(skip_serializing_if = "is_default")]
    pub deleted: bool,
    /// What could not be done. Absent when the last try went well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Who rolled the workload out past the plan. Absent when nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<Bypass>,
    /// How the last release ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
    /// Digests of what stood at each path of each object when the last release ended, whichever way.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settled: BTreeMap<ObjectKey, BTreeMap<String, String>>,
    /// `Ready`, `Reconciling`, `Stalled` and `InSync`; `Bypassed` where it applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The agent that wrote the status last. Absent before one has written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Writer>,
}

/// An agent that writes a status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Writer {
    /// The version of the program.
    pub version: String,
    /// The identity by which it holds the Lease. The times in the status are by its clock.
    pub identity: String,
}

/// A release in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Nothing was written yet, and something stands against the first write.
    #[default]
    Holding,
    /// On the way into a step.
    Running,
    /// In a step, waiting for its gate.
    Gated,
    /// Somebody paused the release.
    Paused,
    /// On the way from the last step to the target.
    Finishing,
    /// On the way back.
    Aborting,
    /// The target is what runs.
    Succeeded,
    /// What ran before runs again.
    Aborted,
    /// The target runs, and the agent did not write it.
    Bypassed,
    /// Something has to be cured by a person; the agent goes on by itself then.
    Stalled,
    /// The plan releases nothing.
    Preview,
}

/// Where a release stands. Recorded before anything is done there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// Which list of stages, or which single act.
    pub part: Part,
    /// What the checks and the writes are for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub purpose: Purpose,
    /// The step, counted from 1; 0 is the baseline.
    #[serde(default)]
    pub step: u32,
    /// The stage, counted from 0.
    #[serde(default)]
    pub stage: u32,
    /// When this stage, or gate, began.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When the way into the step began: deadlines count from here.
    #[schemars(with = "String")]
    pub entered: Timestamp,
    /// Whether everything that the stage writes is written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub written: bool,
    /// Since when everything that the stage waits for holds: grace counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub holding: Option<Timestamp>,
    /// What does not hold yet, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Why nothing is written yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The step that somebody asked to jump to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<u32>,
    /// When the step's gate began. Kept when the plan is refreshed in the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub gated: Option<Timestamp>,
    /// Whether the gate was approved while the release was paused.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approved: bool,
    /// Whether the step's deadline has passed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late: bool,
    /// The new pods when the plan was refreshed in the step. Absent where it was not, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshed: Option<Refreshed>,
    /// How the release ends, and why. Absent before that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

/// The new pods of a step whose plan is refreshed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refreshed {
    /// How many were ready at least.
    pub ready: u32,
    /// Whether the step has fewer now: traffic moves before any is taken away. Known when the plan is captured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shrinks: bool,
}

/// The parts of a release, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Whether the first write is allowed.
    Check,
    /// Keeping the plan, and the values from before the release.
    Capture,
    /// Into a step from the one before.
    Stages,
    /// Into a step from a later one.
    EnterFromAbove,
    /// The same step once more, with all of its objects: the plan was refreshed.
    Reassert,
    /// In a step.
    Gate,
    /// From the last step to the target.
    Finish,
    /// The target at once: the workload is new, or the plan was refreshed at rest.
    Settle,
    /// From a step to the baseline.
    Abort,
    /// From within `finish` to the baseline.
    AbortFinish,
    /// Taking the agent's own traces away.
    HandBack,
}

/// What the checks before a write are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// A release begins.
    #[default]
    Release,
    /// The running release goes on with a plan that was rendered again.
    Refresh,
    /// The workload does not exist: the target is created at once.
    Create,
    /// At rest after a success the plan was rendered again: the target is written.
    Settle,
}

/// Values that only the cluster knows, each resolved once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bindings {
    /// The revision hash of the old version's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stable_revision: Option<String>,
    /// The revision hash of the new version's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary_revision: Option<String>,
    /// The replicas of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
}

/// What stands against the first write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// Which check.
    pub cause: HoldCause,
    /// Which field of which object, who holds it, or which right is missing; and what to do.
    pub message: String,
}

/// Which check stands against the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HoldCause {
    /// What runs is not what the plan begins with.
    Differs,
    /// Not every pod of the workload is of the baseline, and available.
    NotRolledOut,
    /// Another plan holds an object.
    Claimed,
    /// A right is missing.
    Forbidden,
    /// A kind of the plan is not served.
    NotServed,
    /// Another controller works on the same Rollout.
    OtherController,
}

/// Who stopped the release.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Suspended {
    /// The Rollout says `spec.strategy.paused`.
    #[serde(skip_serializing_if = "is_default")]
    pub paused: bool,
    /// The Rollout says `spec.disabled`.
    #[serde(skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// A request asked for a pause.
    #[serde(skip_serializing_if = "is_default")]
    pub asked: bool,
    /// When the pause began. A step's deadline does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
}

/// What could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What was tried, what came back, and what to do.
    pub reason: String,
    /// Whether a person has to do something. Otherwise trying again is enough.
    pub permanent: bool,
    /// When it was seen first.
    #[schemars(with = "String")]
    pub since: Timestamp,
}

/// Who rolled the workload out past the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bypass {
    /// The field manager, as the object's `managedFields` name it.
    pub manager: String,
    /// When it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// How a running release ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// What it will be called.
    pub outcome: Outcome,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The release by which git went back to what ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_to: Option<String>,
}

/// How a release ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Outcome {
    /// The target runs.
    Succeeded,
    /// What ran before runs again.
    Aborted,
    /// The same, because another release came.
    Superseded,
}

/// The last release that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Last {
    /// Which one.
    pub release: String,
    /// How.
    pub outcome: Outcome,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Why, in words. Absent after a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The release by which git went back to what ran before: it is complete with the abort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns_to: Option<String>,
}

/// A condition as Kubernetes has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Ready`, `Reconciling`, `Stalled`, `InSync` or `Bypassed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word for programs.
    pub reason: String,
    /// The same for people.
    #[serde(default)]
    pub message: String,
    /// When the status last changed.
    #[schemars(with = "String")]
    pub last_transition_time: Timestamp,
    /// The generation of the plan that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What a person asks for, in an annotation of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What to do.
    pub verb: Verb,
    /// The digest of the plan that the person looked at.
    pub digest: String,
    /// `approve`: the step whose gate is opened. `jump`: the step to go to. Counted from 1; otherwise 0.
    #[serde(default)]
    pub step: u32,
    /// Tells requests apart. A request is handled once.
    pub id: String,
}

/// What a person can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Open the gate of a step.
    Approve,
    /// Stay where the release is.
    Pause,
    /// Go on.
    Resume,
    /// Go back to what ran before.
    Abort,
    /// Begin again after an abort.
    Retry,
    /// Go to a step.
    Jump,
}

/// The annotation of a plan that holds a request, as JSON.
pub const REQUEST_ANNOTATION: &str = "rollout.dev/request";

impl PlanStatus {
    /// Whether no release is running: nothing in the cluster is the agent's.
    pub fn is_at_rest(&self) -> bool {
        self.cursor.is_none()
    }

    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

impl Suspended {
    /// Whether the release stays where it is.
    pub fn is_paused(&self) -> bool {
        self.paused || self.asked
    }
}

/// The definition's -1 is nobody's generation.
fn looked_at<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<i64>::deserialize(deserializer)?.filter(|generation| *generation >= 0))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Bindings, Cursor, Outcome, Part, Phase, PlanStatus};

    #[test]
    fn a_status_comes_back_from_json_whatever_a_newer_agent_added() {
        let value = json!({
            "observedGeneration": 7, "digest": "sha256:a", "release": "sha256:b", "phase": "Gated", "turn": 9,
            "cursor": {"part": "gate", "step": 2, "stage": 0, "since": "2026-01-01T00:00:00Z", "entered": "2026-01-01T00:00:00Z"},
            "bindings": {"stableRevision": "abc", "canaryRevision": "u"},
            "claims": ["Deployment/shop"], "captured": "shop-1",
            "last": {"release": "sha256:c", "outcome": "Superseded", "at": "2026-01-01T00:00:00Z"}
        });
        let mut newer = value.clone();
        newer["forecast"] = json!({"rain": true});
        newer["cursor"]["mood"] = json!("good");
        let status: PlanStatus = serde_json::from_value(newer).expect("unknown fields are read over");
        assert_eq!(status.phase, Phase::Gated);
        assert_eq!(
            status.bindings,
            Bindings { stable_revision: Some("abc".into()), canary_revision: Some("u".into()), ..Bindings::default() }
        );
        assert_eq!(status.last.as_ref().map(|last| last.outcome), Some(Outcome::Superseded));
        assert!(matches!(&status.cursor, Some(Cursor { part: Part::Gate, step: 2, written: false, .. })));
        assert_eq!(serde_json::to_value(&status).expect("a value"), value);
    }

    #[test]
    fn what_the_cluster_says_before_there_is_a_status_is_no_status() {
        let status: PlanStatus = serde_json::from_value(json!({"observedGeneration": -1})).expect("a status");
        assert_eq!(status, PlanStatus::default());
    }

    #[test]
    fn no_status_is_a_plan_that_nobody_looked_at() {
        let status: PlanStatus = serde_json::from_value(json!({})).expect("a status");
        assert_eq!(status, PlanStatus::default());
        assert!(status.is_at_rest());
    }
}
