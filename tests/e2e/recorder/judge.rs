//! What must never be, told from a timeline.
//!
//! - While steps run, the new version never gets more than the step declares, and at a step's end exactly that. What it has
//!   got of that share it keeps.
//! - From the last step on it never gets less than before, and everything after success.
//! - While a release is taken back it never gets more than before, and nothing after that. Only pods that are on their way
//!   when the end is broken off may still arrive.
//! - No traffic ever goes to a Service or subset without ready endpoints, also not by a gateway that follows late, and no
//!   entry loses a request that it took.

use serde_json::Value;

use super::request::Request;
use super::timeline::{Moment, Phase, seconds};

/// Shares are sums of fractions: this much is noise.
const NOISE: f64 = 1e-6;

/// What the plan promises.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    /// The plan's name for it.
    pub(crate) id: Option<String>,
    /// The image of the new version.
    pub(crate) image: String,
    /// Each step's `traffic`, as the plan has it: `weight` or `matches`, or null.
    pub(crate) steps: Vec<Value>,
    /// How late a gateway may follow its objects, in milliseconds.
    pub(crate) lag: u64,
    /// Whether other releases go through the same entries: only requests that a version of this one answers are judged.
    pub(crate) has_neighbours: bool,
}

impl Release {
    /// Reads a plan object.
    pub(crate) fn of(plan: &Value) -> Self {
        let spec = &plan["spec"];
        let workload =
            format!("{}/{}@", spec["workload"]["kind"].as_str().unwrap_or_default(), spec["workload"]["name"].as_str().unwrap_or_default());
        let target = spec["target"].as_array().into_iter().flatten().filter_map(Value::as_str).find(|key| key.starts_with(&workload));
        let image = &spec["objects"][target.unwrap_or_default()]["spec"]["template"]["spec"]["containers"][0]["image"];
        let steps = spec["steps"].as_array().into_iter().flatten().map(|step| step["traffic"].clone());
        let id = spec["release"].as_str().map(str::to_owned);
        // Half of what the plan waits: the recorder learns of a change a little later than the one who made it.
        let lag = graces(spec).into_iter().min().unwrap_or(0) * 500;
        Self { id, image: image.as_str().unwrap_or_default().to_owned(), steps: steps.collect(), lag, has_neighbours: false }
    }

    /// Whether a version of the released workload ever answers the request.
    fn is_concerned(&self, moments: &[Moment], key: &(String, Request)) -> bool {
        let repository = |image: &str| image.rsplit_once(':').map_or(image, |(repository, _)| repository).to_owned();
        let own = repository(&self.image);
        let shares = moments.iter().filter_map(|moment| moment.traffic.get(key)?.as_ref());
        !self.has_neighbours || shares.flat_map(|share| share.versions.keys()).any(|image| repository(image) == own)
    }

    /// One request for each match of any step; an error for a match that no request is known for.
    pub(crate) fn requests(&self) -> Result<Vec<Request>, String> {
        let matches = self.steps.iter().flat_map(|step| step["matches"].as_array().into_iter().flatten());
        let requests = matches.map(|entry| Request::matching(entry).ok_or_else(|| format!("the recorder knows no request for {entry}")));
        let mut requests = requests.collect::<Result<Vec<Request>, String>>()?;
        requests.sort();
        requests.dedup();
        Ok(requests)
    }

    /// The share of the new version that a step declares for a request; none where it leaves routing alone.
    fn declared(&self, step: usize, request: &Request) -> Option<f64> {
        let traffic = self.steps.get(step.checked_sub(1)?)?;
        if traffic.is_null() {
            return None;
        }
        let matches = traffic["matches"].as_array().into_iter().flatten();
        let is_meant = matches.filter_map(Request::matching).any(|meant| meant == *request);
        let others = traffic["weight"].as_f64().unwrap_or(0.0) / 100.0;
        Some(if is_meant { 1.0 } else { others })
    }
}

/// Returns what was wrong, each fault once for as long as it lasts.
pub(crate) fn judge(release: &Release, moments: &[Moment]) -> Vec<String> {
    let mut keys: Vec<&(String, Request)> = moments.iter().flat_map(|moment| moment.traffic.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| release.is_concerned(moments, key));
    keys.into_iter().flat_map(|key| faults(release, moments, key)).collect()
}

/// The faults of one request at one entry.
fn faults(release: &Release, moments: &[Moment], key: &(String, Request)) -> Vec<String> {
    let mut faults: Vec<String> = Vec::new();
    let mut last = String::new();
    let mut say = |moment: &Moment, what: &str, fault: Option<String>| {
        let fault = fault.unwrap_or_default();
        if !fault.is_empty() && last != what {
            faults.push(format!(
                "{:.3} s, {}, {} {}: {fault} (after {})",
                seconds(moment.millis),
                moment.phase,
                key.0,
                key.1,
                moment.cause
            ));
        }
        if fault.is_empty() {
            if last == what {
                last.clear();
            }
        } else {
            what.clone_into(&mut last);
        }
    };
    let mut was_taken = false;
    let mut was_alive = false;
    let mut phase = Phase::Rest;
    let mut former = 0.0;
    // The most, or the least, that the new version may get.
    let (mut ceiling, mut floor) = (0.0_f64, 0.0_f64);
    let mut is_settling = false;
    // A gateway that follows late loses what was lost before it could know.
    let mut lost_until = 0;
    for (index, moment) in moments.iter().enumerate() {
        let Some(Some(share)) = moment.traffic.get(key) else {
            say(moment, "lost", was_taken.then(|| "the entry does not take the request any more".to_owned()));
            continue;
        };
        was_taken = true;
        let new = share.of(&release.image);
        if moment.phase != phase {
            // Pods that were on their way when the end was broken off may still arrive, until the first is taken away.
            is_settling = phase == Phase::Finishing && moment.phase == Phase::Aborting;
            phase = moment.phase;
            ceiling = former;
            floor = match phase {
                Phase::Finishing => former,
                Phase::Step(step) => release.declared(step, &key.1).map_or(0.0, |declared| declared.min(former)),
                Phase::Rest | Phase::Succeeded | Phase::Aborting | Phase::Aborted => 0.0,
            };
        }
        is_settling &= new >= former - NOISE;
        was_alive |= share.lost() < NOISE;
        say(moment, "dead", (was_alive && share.lost() > NOISE).then(|| format!("{share}")));
        if share.lost() > NOISE {
            lost_until = moment.millis + release.lag;
        }
        let late = moment.traffic_late.get(key).and_then(Option::as_ref).filter(|late| late.lost() > NOISE);
        let late = late.filter(|_| was_alive && moment.millis > lost_until);
        say(moment, "late", late.map(|late| format!("{late}, by a gateway that follows {} ms late", release.lag)));
        let (highest, lowest) = match phase {
            Phase::Rest | Phase::Aborted => (Some(0.0), 0.0),
            Phase::Succeeded => (None, 1.0),
            Phase::Finishing => (None, floor),
            Phase::Aborting if is_settling => (None, 0.0),
            Phase::Aborting => (Some(ceiling), 0.0),
            Phase::Step(step) => match release.declared(step, &key.1) {
                // On the way down to a smaller share, what is there already may stay until the route is written.
                Some(declared) => (Some(ceiling.max(declared)), floor.min(declared)),
                None => (None, 0.0),
            },
        };
        let exceeded = highest.filter(|highest| new > highest + NOISE);
        say(
            moment,
            "much",
            exceeded.map(|most| format!("the new version gets {:.1} %, which is more than {:.1} %", new * 100.0, most * 100.0)),
        );
        // What goes to nobody is a fault of its own.
        let is_less = new + share.lost() < lowest - NOISE;
        say(moment, "less", is_less.then(|| format!("the new version falls to {:.1} %, below {:.1} %", new * 100.0, lowest * 100.0)));
        ceiling = if is_settling { new } else { ceiling.min(new) };
        // Within a step only what it declares counts: on the way there shares may change as pods come and go.
        floor = match phase {
            Phase::Step(step) => release.declared(step, &key.1).filter(|declared| new >= declared - NOISE).unwrap_or(floor),
            Phase::Rest | Phase::Finishing | Phase::Succeeded | Phase::Aborting | Phase::Aborted => floor.max(new),
        };
        former = new;
        // The end of a step that was not given up.
        if let (Phase::Step(step), Some(next)) = (phase, moments.get(index + 1))
            && (next.phase == Phase::Step(step + 1) || next.phase == Phase::Finishing)
            && let Some(declared) = release.declared(step, &key.1)
        {
            let fault = format!("the step ends with {:.1} % for the new version, not {:.1} %", new * 100.0, declared * 100.0);
            say(moment, "end", ((new - declared).abs() > NOISE).then_some(fault));
        }
    }
    faults
}

/// Every grace that the plan waits, in seconds.
fn graces(value: &Value) -> Vec<u64> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("grace").and_then(Value::as_u64);
            own.into_iter().chain(fields.iter().filter(|(key, _)| *key != "objects").flat_map(|(_, value)| graces(value))).collect()
        }
        Value::Array(items) => items.iter().flat_map(graces).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
