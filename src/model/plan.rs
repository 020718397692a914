//! The plan: every state of a release, and the way from each to the next. The contract between renderer and agent.
//!
//! The types here are the file's format, field for field. Reading, writing and digests live in `plan`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Match, Replicas};

/// A plan with its name; `metadata` beyond that is made when it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The Rollout's name.
    pub name: String,
    /// The Rollout's namespace.
    pub namespace: String,
    /// Everything else.
    pub spec: PlanSpec,
}

/// What the digest covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanSpec {
    /// The Rollout that the plan was rendered from.
    pub rollout: Reference,
    /// The workload that is released.
    pub workload: Reference,
    /// How the new version comes in.
    pub style: Style,
    /// The digest of both pod templates and the rollout id. Absent: a preview, nothing is to be released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The digest of the objects that were read.
    pub inputs: String,
    /// The script that served each gateway object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptUse>,
    /// All that any state changes. Nothing outside is ever written.
    pub paths: Vec<ObjectPaths>,
    /// The state before the release. Objects of the plan not named here are absent.
    pub baseline: Vec<VersionKey>,
    /// The state after the release. Objects of the plan not named here are absent.
    pub target: Vec<VersionKey>,
    /// The steps, at least one.
    pub steps: Vec<PlanStep>,
    /// From the last step to the target.
    pub finish: Vec<Stage>,
    /// From any step to the baseline.
    pub abort: Vec<Stage>,
    /// From within `finish` to the baseline.
    pub abort_finish: Vec<Stage>,
    /// Values that only a cluster knows, filled in before an object is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Binding>,
    /// Every version of every object, whole.
    pub objects: BTreeMap<VersionKey, Value>,
}

/// Names an object of the plan's namespace, with the API version to use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reference {
    /// The API version: `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// How the new version comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Style {
    /// A second workload beside the stable one.
    Canary,
    /// The workload itself, one part of its pods after the other.
    Partition,
    /// A full set of new pods beside the old ones.
    BlueGreen,
}

/// Which script rewrote an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptUse {
    /// The object as the user wrote it.
    pub object: ObjectKey,
    /// The script's name.
    pub script: String,
    /// The digest of the script's text.
    #[serde(rename = "digest")]
    pub sha256: String,
}

/// What the plan changes of one object. An object that only the plan makes is listed with the empty pointer: all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectPaths {
    /// The object.
    pub object: ObjectKey,
    /// JSON pointers.
    pub paths: Vec<String>,
}

/// An object of the plan: `Kind/name`, or `Kind.group/name` where two groups of the plan have the kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ObjectKey {
    kind: String,
    name: String,
}

/// One version of an object: `Kind/name@1`, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct VersionKey {
    object: ObjectKey,
    version: u32,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanStep {
    /// `step-1`, counted from 1.
    pub name: String,
    /// What people read: who gets the new version. Absent: routing stays as the user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<StepTraffic>,
    /// Pods of the new version, as the user wrote them.
    pub replicas: Replicas,
    /// Every object that exists in the step. Objects of the plan not named here are absent.
    pub state: Vec<VersionKey>,
    /// The way in from the step before, or from the baseline.
    pub stages: Vec<Stage>,
    /// The way in from a later step.
    pub enter_from_above: Vec<Stage>,
    /// What ends the step.
    pub gate: Gate,
    /// How long entering may take. Absent: as long as it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Deadline>,
}

/// Who gets the new version in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepTraffic {
    /// A share of all requests, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub weight: Option<u8>,
    /// Requests that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
}

/// Objects written, removed and evicted together, in this order, and what to wait for then.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Stage {
    /// Versions to write; what equals the live object already is skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<VersionKey>,
    /// Objects to delete; what is gone already is skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<ObjectKey>,
    /// Pods to evict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evict: Option<Eviction>,
    /// What must hold before the next stage.
    #[serde(rename = "await", skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<Await>,
}

/// Evicts old pods of a DaemonSet until enough are new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Eviction {
    /// The workload.
    pub workload: ObjectKey,
    /// Pods that must be new in the end.
    pub to_updated: Replicas,
    /// How many at the same time.
    pub at_once: u32,
}

/// Something to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Await {
    /// Pods of the revision are ready.
    PodsReady {
        /// The workload whose pods count.
        workload: ObjectKey,
        /// Which pods of it.
        revision: Revision,
        /// How many, at least. Absent: as many as the workload's spec asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
    /// The workload's controller has rolled out its newest spec: all pods are new and available, and no Service of the plan
    /// sends requests to old ones any more.
    Available {
        /// The workload.
        workload: ObjectKey,
    },
    /// The Service has ready endpoints.
    Endpoints {
        /// The Service's name.
        service: String,
        /// How many pods, at least: a number, or a share of the replicas that the workload has in the cluster.
        at_least: Replicas,
        /// The workload whose pods count. Absent: all of the Service's count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<ObjectKey>,
    },
    /// A status condition, at the object's generation. Where an object has several sets of conditions, all must say so.
    Condition {
        /// The object.
        object: ObjectKey,
        /// The condition's type.
        #[serde(rename = "type")]
        kind: String,
        /// The wanted status.
        status: String,
    },
    /// So many seconds pass.
    Grace(u32),
    /// The object does not exist.
    Gone {
        /// The object.
        object: ObjectKey,
    },
}

/// Which pods of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Revision {
    /// Those of the old version.
    Stable,
    /// Those of the new version.
    Canary,
}

/// What ends a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// A person's approval.
    Approval {},
    /// So many seconds after the step's last stage.
    Seconds(u32),
    /// Nothing: the next step begins at once.
    None {},
}

/// How long entering a step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deadline {
    /// Seconds from the step's first stage.
    pub seconds: u32,
    /// What happens then.
    pub then: DeadlineAction,
}

/// What happens at a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeadlineAction {
    /// The release stays where it is and says so.
    Hold,
    /// The release goes back to the baseline.
    Abort,
}

/// A value that only a cluster knows. Until it is bound, the object has nothing at the pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Binding {
    /// The version that the value goes into.
    pub object: VersionKey,
    /// Where in it.
    pub pointer: String,
    /// What goes there.
    pub value: LateValue,
}

/// The closed list of values that only a cluster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LateValue {
    /// The `pod-template-hash` or `controller-revision-hash` of the old version's pods.
    StableRevision,
    /// The `pod-template-hash` or `controller-revision-hash` of the new version's pods.
    CanaryRevision,
    /// This share of the replicas that the workload has in the cluster, read again whenever they change: `20%` is rounded up, a
    /// number is the most.
    Replicas(Replicas),
}

impl PlanSpec {
    /// Whether an autoscaler owns the workload's replicas: the number in git is not that of the cluster.
    pub fn is_autoscaled(&self) -> bool {
        self.objects.values().any(|object| object["kind"].as_str().is_some_and(super::is_autoscaler))
    }

    /// The key of the workload that is released. `None`: the plan has no such object, and is refused when it is read.
    pub fn workload_key(&self) -> Option<&ObjectKey> {
        self.objects.keys().map(VersionKey::object).find(|object| object.is(&self.workload))
    }

    /// The workload's replicas as git has them; the cluster may have others. `None`: git leaves the number to the cluster.
    pub fn replicas_in_git(&self) -> Option<u32> {
        if self.is_autoscaled() {
            return None;
        }
        let workload = self.objects.get(self.workload_in(&self.target)?)?;
        u32::try_from(workload.pointer("/spec/replicas")?.as_u64()?).ok()
    }

    /// The version of the workload that a state names.
    pub fn workload_in<'a>(&self, state: &'a [VersionKey]) -> Option<&'a VersionKey> {
        state.iter().find(|version| version.object().is(&self.workload))
    }
}

impl ObjectKey {
    /// The key of `name` of a kind; the kind is `Kind.group` where the plan has it in two groups.
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), name: name.into() }
    }

    /// `Kind` or `Kind.group`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The kind, without a group.
    pub fn plain_kind(&self) -> &str {
        self.kind.split_once('.').map_or(self.kind.as_str(), |(kind, _)| kind)
    }

    /// Whether it is the key of this object, whether or not the plan has the kind in two groups.
    pub fn is(&self, object: &Reference) -> bool {
        let group = object.api_version.split_once('/').map_or("", |(group, _)| group);
        self.name == object.name && (self.kind == object.kind || self.kind.split_once('.') == Some((&object.kind, group)))
    }

    /// Whether it is the key of a Service of Kubernetes' own, whose key never has a group.
    pub fn is_service(&self) -> bool {
        self.kind == "Service"
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This object's version `version`, counted from 1.
    pub fn version(&self, version: u32) -> VersionKey {
        VersionKey { object: self.clone(), version }
    }
}

impl VersionKey {
    /// The object.
    pub fn object(&self) -> &ObjectKey {
        &self.object
    }

    /// Which version of it, counted from 1.
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl TryFrom<String> for ObjectKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains(['/', '@']) => Ok(Self::new(kind, name)),
            _ => Err(format!("an object of a plan is `Kind/name`, not `{text}`")),
        }
    }
}

impl TryFrom<String> for VersionKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refused = || format!("a version of a plan's object is `Kind/name@number`, not `{text}`");
        let (object, version) = text.rsplit_once('@').ok_or_else(refused)?;
        let version = version.parse().ok().filter(|version| *version > 0).ok_or_else(refused)?;
        Ok(Self { object: ObjectKey::try_from(object.to_owned()).map_err(|_| refused())?, version })
    }
}

impl From<ObjectKey> for String {
    fn from(key: ObjectKey) -> Self {
        key.to_string()
    }
}

impl From<VersionKey> for String {
    fn from(key: VersionKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)
    }
}

impl fmt::Display for VersionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.object, self.version)
    }
}

/// `Kind/name`.
impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)
    }
}
