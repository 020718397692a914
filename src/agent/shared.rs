//! What all plans of one agent share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::api::Api;
use super::claims::{Claims, PlanKey};
use super::granted::Granted;
use super::metrics::Metrics;
use super::other_controller::Signs;
use super::reads::Reads;
use super::room::Room;
use super::served::{Resource, Served};
use super::vanished::Vanished;

/// What all plans of one agent share.
#[derive(Clone)]
pub(super) struct Shared {
    /// The API server.
    pub(super) api: Api,
    /// What it serves.
    pub(super) served: Arc<Served>,
    /// Who this agent is, other than all others.
    pub(super) identity: Arc<str>,
    /// What is counted.
    pub(super) metrics: Arc<Metrics>,
    /// Who holds which object.
    pub(super) claims: Arc<Claims>,
    /// What plans in mid-release want to be woken by.
    pub(super) interests: Arc<Interests>,
    /// What it may do in which namespace.
    pub(super) granted: Arc<Granted>,
    /// Whether OpenKruise's own controller runs.
    pub(super) signs: Arc<Signs>,
    /// What was written to Rollouts last.
    pub(super) echoes: Arc<Echoes>,
    /// How much of all plans is in memory.
    pub(super) room: Arc<Room>,
    /// Where plans have gone in mid-release.
    pub(super) vanished: Arc<Vanished>,
}

impl Shared {
    /// Nothing known yet.
    pub(super) fn new(api: Api, metrics: Arc<Metrics>, identity: String) -> Self {
        Self {
            api,
            metrics,
            identity: identity.into(),
            served: Arc::default(),
            claims: Arc::default(),
            interests: Arc::default(),
            echoes: Arc::default(),
            room: Arc::default(),
            granted: Arc::default(),
            signs: Arc::default(),
            vanished: Arc::default(),
        }
    }

    /// The same for one plan, which knows what it has read.
    pub(super) fn for_plan(&self, reads: Arc<Reads>) -> Self {
        Self { api: self.api.for_plan(reads), ..self.clone() }
    }
}

/// The versions of Rollouts that we have written and that no watch has told yet: they are no news, also when nobody attends to the
/// plan any more.
#[derive(Debug, Default)]
pub(super) struct Echoes(Mutex<BTreeMap<PlanKey, String>>);

impl Echoes {
    /// We have written the plan's Rollout, which has this version now.
    pub(super) fn expect(&self, plan: &PlanKey, version: &str) {
        self.all().insert(plan.clone(), version.to_owned());
    }

    /// Whether a watch tells of our own write. It does so once.
    pub(super) fn is_own(&self, plan: &PlanKey, version: Option<&str>) -> bool {
        let mut all = self.all();
        let is_own = version.is_some() && all.get(plan).map(String::as_str) == version;
        if is_own {
            all.remove(plan);
        }
        is_own
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<PlanKey, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a plan in mid-release wants to be woken by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Interest {
    /// In which resources of its namespace.
    pub(super) resources: BTreeSet<Resource>,
    /// By objects of these names, or that belong to one of them.
    pub(super) names: BTreeSet<String>,
}

/// The interests of all plans. Only namespaces with a plan in mid-release are watched.
#[derive(Debug, Default)]
pub(super) struct Interests {
    by_plan: Mutex<BTreeMap<PlanKey, Interest>>,
    released: Mutex<BTreeSet<String>>,
    /// Told whenever something has changed here.
    pub(super) changed: Notify,
}

impl Interests {
    /// Sets what a plan is interested in.
    pub(super) fn set(&self, plan: &PlanKey, interest: Interest) {
        let mut all = self.all();
        if all.get(plan) != Some(&interest) {
            all.insert(plan.clone(), interest);
            self.changed.notify_one();
        }
    }

    /// The plan is at rest, or gone.
    pub(super) fn clear(&self, plan: &PlanKey) {
        if self.all().remove(plan).is_some() {
            self.changed.notify_one();
        }
    }

    /// A release in the namespace is over: those that wait for its objects should look again.
    pub(super) fn release(&self, namespace: &str) {
        self.released.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.to_owned());
        self.changed.notify_one();
    }

    /// The plans in mid-release of namespaces in which a release is over since this was asked last.
    pub(super) fn after_releases(&self) -> Vec<PlanKey> {
        let released = std::mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner));
        self.all().keys().filter(|plan| released.contains(&plan.namespace)).cloned().collect()
    }

    /// Which resources have to be watched in which namespace.
    pub(super) fn wanted(&self) -> BTreeSet<(String, Resource)> {
        let all = self.all();
        all.iter()
            .flat_map(|(plan, interest)| interest.resources.iter().map(|resource| (plan.namespace.clone(), resource.clone())))
            .collect()
    }

    /// The plans that want to be woken by a change of an object that goes by these names.
    pub(super) fn concerned(&self, namespace: &str, names: &BTreeSet<String>) -> Vec<PlanKey> {
        let all = self.all();
        let is_concerned = |(plan, interest): &(&PlanKey, &Interest)| plan.namespace == namespace && !interest.names.is_disjoint(names);
        all.iter().filter(is_concerned).map(|(plan, _)| plan.clone()).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<PlanKey, Interest>> {
        self.by_plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
