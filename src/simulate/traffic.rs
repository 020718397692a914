//! Who gets the new version at a moment: computed from the live gateway objects, Services and ready pods, as a reader of them
//! would. What the plan declares is not looked at.

use serde_json::{Map, Value, json};

use super::cluster::{Cluster, Pods};
use super::plans::{is_workload, workload};
use crate::exposure::{self, Entry, Route, Routes, Running, Share, Split, Verdict};
use crate::model::{Await, Gate, Manifest, Match, ObjectKey, Plan, PlanStep, Replicas, StepTraffic};

/// Shares are sums of fractions: this much is noise.
const NOISE: f64 = 1e-9;

/// Who gets the new version.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traffic {
    /// The share of the requests that no step matches, in percent. Where rules or gateways differ, the most. Absent: it cannot be
    /// told.
    pub percent: Option<u8>,
    /// The least, where rules or gateways differ.
    pub least: Option<u8>,
    /// Requests that match go to the new version, all of them.
    pub matches: Vec<Match>,
    /// Whether requests go to where no pod is ready.
    pub lost: bool,
    /// Why it cannot be told.
    pub not_known: Option<String>,
}

/// Returns who gets the new version.
pub(super) fn traffic(plan: &Plan, cluster: &Cluster) -> Traffic {
    let matches = plan.spec.steps.iter().filter_map(|step| step.traffic.as_ref()).flat_map(|traffic| &traffic.matches);
    let mut all: Vec<Match> = Vec::new();
    for wanted in matches {
        if !all.contains(wanted) {
            all.push(wanted.clone());
        }
    }
    let sight = Sight::of(plan, cluster);
    let entries = sight.entries(&all);
    if entries.is_empty() {
        return by_pods(plan, cluster);
    }
    match shares(&entries) {
        Err(reason) => Traffic { not_known: Some(reason), ..Traffic::default() },
        Ok(shares) => {
            let (least, most) =
                (shares.unmatched.iter().copied().fold(1.0, f64::min), shares.unmatched.iter().copied().fold(0.0, f64::max));
            let has_unmatched = !shares.unmatched.is_empty();
            let is_matched = |wanted: &Match| sight.is_all_new(wanted);
            let matches = if shares.has_matched { all.into_iter().filter(is_matched).collect() } else { Vec::new() };
            let (least, most) = (percent(least), percent(most));
            Traffic {
                percent: has_unmatched.then_some(most),
                least: (has_unmatched && least != most).then_some(least),
                matches: if least == 100 { Vec::new() } else { matches },
                lost: shares.lost,
                not_known: (!has_unmatched).then(|| "no rule leads to the workload".to_owned()),
            }
        }
    }
}

/// What is looked at: the plan, and the cluster as it is.
struct Sight<'a> {
    plan: &'a Plan,
    cluster: &'a Cluster,
    pods: Vec<Running>,
    service: Option<Manifest>,
}

impl<'a> Sight<'a> {
    fn of(plan: &'a Plan, cluster: &'a Cluster) -> Self {
        let pods = all_pods(plan, cluster).map(|(key, hash, pods)| running(plan, key, hash, pods)).collect();
        Self { plan, cluster, pods, service: shared_service(plan) }
    }

    /// The gateway objects, and who answers each request of their rules and of these matches.
    fn entries(&self, matches: &[Match]) -> Vec<Entry> {
        let beside: Vec<&Manifest> = self.service.iter().collect();
        let traffic = StepTraffic { weight: None, matches: matches.to_vec() };
        exposure::live(self.plan, &beside, &self.cluster.objects, &self.pods, &step(traffic))
    }

    /// Whether every request that matches gets the new version.
    fn is_all_new(&self, wanted: &Match) -> bool {
        let entries = self.entries(std::slice::from_ref(wanted));
        let routes = entries.iter().filter_map(known).flatten().filter(|route| route.is_matched == Verdict::Yes);
        let mut splits = routes.filter_map(split).peekable();
        splits.peek().is_some() && splits.all(|split| split.new_version().is_some_and(|share| share > 1.0 - NOISE))
    }
}

/// A step that says nothing but whom it matches.
fn step(traffic: StepTraffic) -> PlanStep {
    PlanStep {
        name: String::new(),
        traffic: Some(traffic),
        replicas: Replicas::Percent(100),
        state: Vec::new(),
        stages: Vec::new(),
        enter_from_above: Vec::new(),
        gate: Gate::None {},
        deadline: None,
    }
}

/// The new version's shares of the requests to the workload, from 0 to 1.
#[derive(Default)]
struct Shares {
    unmatched: Vec<f64>,
    /// Whether some request that matches gets the new version.
    has_matched: bool,
    lost: bool,
}

fn shares(entries: &[Entry]) -> Result<Shares, String> {
    let mut shares = Shares::default();
    for entry in entries {
        let routes = match &entry.routes {
            Routes::Known(routes) => routes,
            Routes::NotKnown(reason) => return Err(reason.clone()),
            Routes::NotHeld => return Err(format!("the plan does not hold `{}`", entry.object)),
        };
        for route in routes.iter().filter(|route| route.is_ours == Verdict::Yes) {
            let split = match &route.share {
                Share::Known(split) => split,
                Share::Elsewhere => continue,
                Share::NotKnown(reason) => return Err(reason.clone()),
            };
            shares.lost |= split.nobody > NOISE;
            let new = split.new_version().unwrap_or_default();
            match route.is_matched {
                Verdict::No => shares.unmatched.push(new),
                Verdict::Yes => shares.has_matched |= new > NOISE,
                Verdict::Unknown => {}
            }
        }
    }
    Ok(shares)
}

fn known(entry: &Entry) -> Option<&Vec<Route>> {
    match &entry.routes {
        Routes::Known(routes) => Some(routes),
        Routes::NotKnown(_) | Routes::NotHeld => None,
    }
}

fn split(route: &Route) -> Option<&Split> {
    match &route.share {
        Share::Known(split) => Some(split),
        Share::Elsewhere | Share::NotKnown(_) => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100, rounded")]
fn percent(share: f64) -> u8 {
    // A little is never nothing, and almost all is never all.
    match (share.clamp(0.0, 1.0) * 100.0).round() as u8 {
        0 if share > NOISE => 1,
        100 if share < 1.0 - NOISE => 99,
        percent => percent,
    }
}

/// Where no gateway object is part of the release, the Service's pods share its requests; without a Service all pods do.
fn by_pods(plan: &Plan, cluster: &Cluster) -> Traffic {
    let service = plan.spec.baseline.iter().map(crate::model::VersionKey::object).find(|object| object.is_service());
    let behind: Vec<(&ObjectKey, &Pods)> = match service {
        Some(service) => cluster.objects.get(service).map(|service| cluster.behind(service)).unwrap_or_default(),
        None => all_pods(plan, cluster).map(|(key, _, pods)| (key, pods)).collect(),
    };
    let ready: u32 = behind.iter().map(|(_, pods)| pods.ready).sum();
    let new: u32 = behind.iter().filter(|(key, pods)| is_new(plan, key, pods)).map(|(_, pods)| pods.ready).sum();
    let share = if ready == 0 { 0.0 } else { f64::from(new) / f64::from(ready) };
    Traffic { percent: Some(percent(share)), lost: ready == 0, ..Traffic::default() }
}

/// The Service before the pods of both versions, where the plan waits for its endpoints and does not hold it: as its user wrote it,
/// which is taken to select every pod of the workload.
fn shared_service(plan: &Plan) -> Option<Manifest> {
    let awaits = plan.spec.steps.iter().flat_map(|step| step.stages.iter().chain(&step.enter_from_above)).flat_map(|stage| &stage.awaits);
    let mut names = awaits.filter_map(|wait| match wait {
        Await::Endpoints { service, of: Some(_), .. } => Some(service),
        Await::Endpoints { of: None, .. }
        | Await::PodsReady { .. }
        | Await::Available { .. }
        | Await::Condition { .. }
        | Await::Grace(_)
        | Await::Gone { .. } => None,
    });
    let name = names.find(|name| !plan.spec.objects.keys().any(|key| key.object().is_service() && key.object().name() == *name))?;
    let workload = plan.spec.workload_in(&plan.spec.baseline).and_then(|version| plan.spec.objects.get(version))?;
    let selector = workload.pointer("/spec/selector/matchLabels")?;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": selector}});
    Manifest::try_from(service).ok()
}

fn running(plan: &Plan, key: &ObjectKey, hash: &str, pods: &Pods) -> Running {
    let labels = pods.template.pointer("/metadata/labels").and_then(Value::as_object);
    let mut labels: Map<String, Value> = labels.cloned().unwrap_or_default();
    for label in ["pod-template-hash", "controller-revision-hash"] {
        labels.insert(label.to_owned(), hash.into());
    }
    Running { is_new: is_new(plan, key, pods), labels, ready: pods.ready }
}

fn all_pods<'a>(plan: &'a Plan, cluster: &'a Cluster) -> impl Iterator<Item = (&'a ObjectKey, &'a str, &'a Pods)> {
    let objects = plan.spec.paths.iter().map(|entry| &entry.object);
    objects.flat_map(|object| cluster.pods(object).map(move |(hash, pods)| (object, hash.as_str(), pods)))
}

/// Whether pods are of the new version: of another workload than the stable one, or of the target's template.
fn is_new(plan: &Plan, key: &ObjectKey, pods: &Pods) -> bool {
    if workload(plan).as_ref() != Some(key) {
        return true;
    }
    let target = plan.spec.workload_in(&plan.spec.target).and_then(|version| plan.spec.objects.get(version));
    let template = target.filter(|target| is_workload(target)).and_then(|target| target.pointer("/spec/template"));
    template.is_none_or(|template| *template == pods.template)
}
