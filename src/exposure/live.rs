//! Who gets which version at one moment of a cluster, by the objects and pods that it has then.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::objects::Objects;
use super::pods::{Pods, Version};
use super::view::View;
use super::{Entry, entry, later};
use crate::model::{Manifest, ObjectKey, Plan, PlanStep, VersionKey};

/// Pods that are ready at a moment, all with the same labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    /// Whether they are of the new version.
    pub is_new: bool,
    /// Their labels, with that of their revision.
    pub labels: Map<String, Value>,
    /// How many.
    pub ready: u32,
}

/// Returns who gets which version by these objects and pods. Objects that `plan` knows and `objects` lacks do not exist;
/// `beside` are those that the plan does not hold. The requests are those of the rules, and those that `step` matches.
pub fn live(plan: &Plan, beside: &[&Manifest], objects: &BTreeMap<ObjectKey, Value>, pods: &[Running], step: &PlanStep) -> Vec<Entry> {
    let now = with(plan, objects);
    let state: Vec<VersionKey> = objects.keys().map(moment).collect();
    let of_version = |is_new| if is_new { Version::New } else { Version::Old };
    let pods = pods.iter().map(|pods| Pods { version: of_version(pods.is_new), labels: Some(&pods.labels), count: Some(pods.ready) });
    // There may be none yet, or no more.
    let none = Pods { version: Version::New, labels: None, count: Some(0) };
    let of_plan = Objects::of(plan, beside);
    let target = View::target(&of_plan);
    let of_now = Objects::of(&now, beside);
    let view = View::of(&of_now, &state, pods.chain([none]).collect());
    entry::entries(&view, &mut later::Later::of(&target), Some(step))
}

/// The plan with one more version of each object: the live one, whose late values are bound.
fn with(plan: &Plan, objects: &BTreeMap<ObjectKey, Value>) -> Plan {
    let mut plan = plan.clone();
    plan.spec.objects.extend(objects.iter().map(|(key, object)| (moment(key), object.clone())));
    plan
}

/// The version that no plan has.
fn moment(object: &ObjectKey) -> VersionKey {
    object.version(u32::MAX)
}
