//! How long the agent takes from the moment at which the API server holds what a stage waits for to its next write.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::course::NAME;
use crate::recorder::Event;
use crate::recorder::view::View;

/// One stage.
#[derive(Debug, Clone)]
pub(crate) struct Gap {
    /// What it waited for: `pods ready`.
    pub(crate) awaited: String,
    /// From then to the next stage's first write, or to the record that the step is reached.
    pub(crate) millis: f64,
}

/// Returns the gaps of all stages of the steps, and of the end, that wait for something but time.
pub(crate) fn gaps(plan: &Value, events: &[Event]) -> Vec<Gap> {
    let mut found = Vec::new();
    let writes = writes(events);
    let touches = |stage: &Value, place: usize| writes[place] && is_of(stage, &events[place]);
    let ways = plan["spec"]["steps"].as_array().into_iter().flatten().map(|step| &step["stages"]);
    let mut place = 0;
    for (number, stages) in ways.chain([&plan["spec"]["finish"]]).enumerate() {
        let stages = stages.as_array().map_or(&[][..], Vec::as_slice);
        for (index, stage) in stages.iter().enumerate() {
            let next = stages.get(index + 1);
            // What is written is seen before what becomes of it.
            let Some(written) = position(events, place, |place| touches(stage, place)) else { continue };
            place = written;
            let awaits = stage["await"].as_array().map_or(&[][..], Vec::as_slice);
            if awaits.is_empty() || awaits.iter().any(|wait| wait.get("grace").is_some()) {
                continue;
            }
            let workload = plan["spec"]["workload"]["name"].as_str().unwrap_or_default();
            let Some(ready) = ready(events, written, awaits, workload) else { continue };
            let is_next = |place: usize| match next {
                Some(next) => touches(next, place),
                None => events[place].kind == "RolloutPlan" && is_reached(&events[place], number as u64 + 1),
            };
            let Some(went_on) = position(events, ready, is_next) else { continue };
            let millis = events[went_on].millis.saturating_sub(events[ready].millis);
            found.push(Gap { awaited: named(awaits), millis: f64::from(u32::try_from(millis).unwrap_or(u32::MAX)) });
            place = ready;
        }
    }
    found
}

fn position(events: &[Event], from: usize, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
    (from..events.len()).find(|place| is_meant(*place))
}

/// Whether each event changed what users write, and not what controllers say about it.
fn writes(events: &[Event]) -> Vec<bool> {
    let mut before: BTreeMap<(&str, &str), Value> = BTreeMap::new();
    let is_write = |event| {
        let Event { kind, name, object, .. }: &Event = event;
        let written = object.as_ref().map_or(Value::Null, |object| {
            let metadata = &object["metadata"];
            // A controller writes annotations of a Deployment.
            let annotations = if kind == "Ingress" { metadata["annotations"].clone() } else { Value::Null };
            json!([object["spec"], annotations, metadata["deletionTimestamp"]])
        });
        before.insert((kind.as_str(), name.as_str()), written.clone()) != Some(written)
    };
    events.iter().map(is_write).collect()
}

/// The first moment from a place on at which all of it holds.
fn ready(events: &[Event], from: usize, awaits: &[Value], workload: &str) -> Option<usize> {
    let mut view = View::default();
    for (place, event) in events.iter().enumerate() {
        view.take(event);
        if place >= from && awaits.iter().all(|wait| holds(&view, wait, workload)) {
            return Some(place);
        }
    }
    None
}

fn holds(view: &View, wait: &Value, workload: &str) -> bool {
    if let Some(pods) = wait.get("podsReady") {
        let name = name_of(&pods["workload"]);
        let Some(workload) = view.get("Deployment", name) else { return false };
        let sets = view.all("ReplicaSet").map(|(_, set)| set);
        let mut own = sets.filter(|set| set["metadata"]["ownerReferences"][0]["name"] == name);
        let wanted = pods["count"].as_u64().or(workload["spec"]["replicas"].as_u64());
        return is_observed(workload) && own.any(|set| set["status"]["readyReplicas"].as_u64() >= wanted);
    }
    if let Some(workload) = wait.pointer("/available/workload") {
        let Some(live) = view.get("Deployment", name_of(workload)) else { return false };
        let is_all = |field: &str| live["status"][field] == live["spec"]["replicas"];
        return is_observed(live) && ["replicas", "updatedReplicas", "availableReplicas"].into_iter().all(is_all);
    }
    if let Some(endpoints) = wait.get("endpoints") {
        let slices = view.all("EndpointSlice").map(|(_, slice)| slice);
        let own = slices.filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == endpoints["service"]);
        let all = own.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
        let ready = all.filter(|endpoint| endpoint["conditions"]["ready"] == true).count() as u64;
        let total = view.get("Deployment", workload).and_then(|workload| workload["spec"]["replicas"].as_u64()).unwrap_or(1);
        let percent = endpoints["atLeast"].as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
        let least = percent.map(|percent| (percent * total).div_ceil(100)).or(endpoints["atLeast"].as_u64());
        return least.is_some_and(|least| ready >= least.min(total));
    }
    if let Some(object) = wait.pointer("/gone/object") {
        let (kind, name) = split(object);
        return view.get(kind, name).is_none();
    }
    if let Some(condition) = wait.get("condition") {
        let (kind, name) = split(&condition["object"]);
        let Some(live) = view.get(kind, name) else { return false };
        let all = live["status"]["parents"].as_array().into_iter().flatten().filter_map(|parent| parent["conditions"].as_array());
        let mut all = all.flatten().filter(|found| found["type"] == condition["type"]);
        return all.any(|found| found["status"] == condition["status"] && found["observedGeneration"] == live["metadata"]["generation"]);
    }
    true
}

fn is_observed(workload: &Value) -> bool {
    workload["status"]["observedGeneration"].as_u64() >= workload["metadata"]["generation"].as_u64()
}

/// Whether the event is of an object that the stage writes or removes.
fn is_of(stage: &Value, event: &Event) -> bool {
    let is_going = event.object.as_ref().is_none_or(|object| object["metadata"]["deletionTimestamp"].is_string());
    let keys = stage[if is_going { "remove" } else { "write" }].as_array().into_iter().flatten();
    keys.into_iter().any(|key| split(key) == (event.kind.as_str(), event.name.as_str()))
}

/// Whether the plan's record says that the step, or the end after the last one, is reached.
fn is_reached(event: &Event, step: u64) -> bool {
    let Some(cursor) = event.object.as_ref().map(|plan| &plan["status"]["cursor"]) else { return false };
    event.name == NAME && ((cursor["part"] == "gate" && cursor["step"] == step) || cursor["part"] == "handBack")
}

fn named(awaits: &[Value]) -> String {
    let name = |wait: &Value| match wait.as_object().and_then(|fields| fields.keys().next()).map(String::as_str) {
        Some("podsReady") => "pods ready".to_owned(),
        Some("available") => "all available".to_owned(),
        Some(other) => other.to_owned(),
        None => String::new(),
    };
    awaits.iter().map(name).collect::<Vec<_>>().join(" and ")
}

fn name_of(key: &Value) -> &str {
    split(key).1
}

/// `Kind.group/name@version` as kind and name.
fn split(key: &Value) -> (&str, &str) {
    let key = key.as_str().unwrap_or_default().split('@').next().unwrap_or_default();
    let (kind, name) = key.split_once('/').unwrap_or((key, ""));
    (kind.split('.').next().unwrap_or_default(), name)
}
