//! Who answers a request: the share of each version.

use serde_json::Value;

use super::destination::Reach;

/// Who answers a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Share {
    /// Pods of the workload, at least in part.
    Known(Split),
    /// Somebody else, or nobody.
    Elsewhere,
    /// It cannot be told, and why.
    NotKnown(String),
}

/// How the workload's part of the requests is divided: `old`, `new`, `both` and `nobody` sum up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// To destinations with pods of the old version only.
    pub old: f64,
    /// To destinations with pods of the new version only.
    pub new: f64,
    /// To destinations with pods of both versions.
    pub both: f64,
    /// To destinations without any pod.
    pub nobody: f64,
    /// The part of `both` that the new version gets, by the number of pods; none where a cluster decides that.
    pub new_of_both: Option<f64>,
    /// What one unit of a weight stands for.
    pub unit: f64,
    /// The workload's part of all requests, from 0 to 1: the rest goes to other Services, or is answered by the gateway.
    pub workload: f64,
    /// A destination with pods of both versions.
    pub leak: Option<String>,
    /// A destination that names a port which its Service does not have, in words. Nobody answers there.
    pub closed: Option<String>,
}

impl Split {
    /// The new version's share of the workload's requests, from 0 to 1; none where a cluster decides it.
    pub fn new_version(&self) -> Option<f64> {
        self.new_of_both.map(|part| self.new + part)
    }
}

/// A weighted destination.
pub(super) struct Part {
    /// What is behind it.
    pub(super) reach: Reach,
    /// Its name, for people.
    pub(super) name: String,
    /// Its weight.
    pub(super) weight: u64,
    /// Where it stands in the gateway object.
    pub(super) pointer: String,
    /// The port that its Service does not have.
    pub(super) closed: Option<String>,
}

/// What a gateway object does with a request.
pub(super) enum Taken {
    /// It sends it to destinations, by weight.
    To(Vec<Part>),
    /// It does not take it, or answers by itself.
    Not,
    /// It cannot be told, and why.
    NotKnown(String),
}

impl Taken {
    /// Who answers.
    pub(super) fn share(&self) -> Share {
        match self {
            Self::To(parts) => share(parts),
            Self::Not => Share::Elsewhere,
            Self::NotKnown(reason) => Share::NotKnown(reason.clone()),
        }
    }

    /// Where the first destination stands that is part of the release.
    pub(super) fn origin(&self) -> Option<String> {
        match self {
            Self::To(parts) => parts.iter().find(|part| part.weight > 0 && part.reach != Reach::Elsewhere).map(|part| part.pointer.clone()),
            Self::Not | Self::NotKnown(_) => None,
        }
    }
}

/// A weight as it is written; none where it is none that a gateway takes.
pub(super) fn weight(value: &Value) -> Option<u64> {
    value.as_u64().filter(|weight| u32::try_from(*weight).is_ok())
}

/// Adds up what is behind the destinations of a rule.
fn share(parts: &[Part]) -> Share {
    if let Some(reason) = parts.iter().filter(|part| part.weight > 0).find_map(|part| part.reach.not_known()) {
        return Share::NotKnown(reason.to_owned());
    }
    let ours = |part: &&Part| part.weight > 0 && !matches!(part.reach, Reach::Elsewhere);
    let sum: f64 = parts.iter().filter(ours).map(|part| number(part.weight)).sum();
    let all: f64 = parts.iter().map(|part| number(part.weight)).sum();
    if sum <= 0.0 {
        return Share::Elsewhere;
    }
    let mut split = Split {
        old: 0.0,
        new: 0.0,
        both: 0.0,
        nobody: 0.0,
        new_of_both: Some(0.0),
        unit: 1.0 / sum,
        workload: sum / all,
        leak: None,
        closed: None,
    };
    for part in parts.iter().filter(ours) {
        if split.closed.is_none() {
            split.closed.clone_from(&part.closed);
        }
        let weight = number(part.weight) / sum;
        match part.reach {
            Reach::Old => split.old += weight,
            Reach::New => split.new += weight,
            Reach::Nobody => split.nobody += weight,
            Reach::Both(new) => {
                split.both += weight;
                split.new_of_both = split.new_of_both.zip(new).map(|(known, new)| known + weight * new);
                split.leak.get_or_insert_with(|| part.name.clone());
            }
            Reach::Elsewhere | Reach::NotKnown(_) => {}
        }
    }
    Share::Known(split)
}

/// No weight of a gateway is larger than 32 bits.
fn number(weight: u64) -> f64 {
    f64::from(u32::try_from(weight).unwrap_or(u32::MAX))
}
