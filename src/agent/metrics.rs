//! What the agent counts, in the OpenMetrics text format. docs/agent.md lists the names.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::fence::Fence;
use super::plan_gauges::PlanGauges;

/// The agent's counters.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Verb, Counter>,
    retries: Counter,
    writes: Family<Kind, Counter>,
    repairs: Family<Kind, Counter>,
    releases: Family<Outcome, Counter>,
    errors: Counter,
    panics: Counter,
    leader: Gauge,
    /// Where each plan stands.
    pub(super) plans: Arc<PlanGauges>,
    /// Whether this agent holds the lease, or needs none.
    leads: AtomicBool,
    /// Whether a leader may write.
    fence: Arc<Fence>,
    /// When the API server has answered last.
    answered: Mutex<Option<Instant>>,
    /// Whether plans may not be listed.
    is_blind: AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    method: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: String,
}

impl Metrics {
    /// Nothing counted yet, for an agent that writes while the fence is open.
    pub(super) fn new(fence: Arc<Fence>) -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("rollout_agent"),
            requests: Family::default(),
            retries: Counter::default(),
            writes: Family::default(),
            repairs: Family::default(),
            releases: Family::default(),
            errors: Counter::default(),
            panics: Counter::default(),
            leader: Gauge::default(),
            plans: Arc::default(),
            leads: AtomicBool::new(false),
            fence,
            answered: Mutex::new(None),
            is_blind: AtomicBool::new(false),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("api_requests", "Requests sent to the API server, watches aside", self.requests.clone());
        registry.register("api_retries", "Requests sent again after a passing failure", self.retries.clone());
        registry.register("writes", "Objects created, patched and deleted", self.writes.clone());
        registry.register("repairs", "Objects that somebody changed in mid-release and that were written again", self.repairs.clone());
        registry.register("releases", "Releases that ended, by outcome", self.releases.clone());
        registry.register("errors", "Failed attempts to do what a plan wants", self.errors.clone());
        registry.register("panics", "Defects of the agent by which the work on a plan broke off", self.panics.clone());
        registry.register("leader", "1 while this agent may write: it holds the lease, and has renewed it in time", self.leader.clone());
        registry.register("build", "The version of the agent", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        registry.register_collector(Box::new(Arc::clone(&self.plans)));
        self
    }

    /// Returns all of them as text.
    pub(super) fn text(&self) -> String {
        self.leader.set(i64::from(self.leads.load(Ordering::Relaxed) && self.fence.is_open()));
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(super) fn requested(&self, method: &str) {
        self.requests.get_or_create(&Verb { method: method.to_owned() }).inc();
    }

    pub(super) fn retried(&self) {
        self.retries.inc();
    }

    pub(super) fn wrote(&self, kind: &str) {
        self.writes.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    pub(super) fn repaired(&self, kind: &str) {
        self.repairs.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    pub(super) fn ended(&self, outcome: &str) {
        self.releases.get_or_create(&Outcome { outcome: outcome.to_owned() }).inc();
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }

    pub(super) fn failed(&self) {
        self.errors.inc();
    }

    /// Tells whether this agent holds the lease, or needs none.
    pub(super) fn leads(&self, leads: bool) {
        self.leads.store(leads, Ordering::Relaxed);
        if !leads {
            self.plans.clear();
        }
    }

    /// The API server has answered, whatever.
    pub(super) fn answered(&self, at: Instant) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    /// How long the API server has not answered. `None`: it never has.
    pub(super) fn unanswered(&self) -> Option<Duration> {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.map(|answered| Instant::now().duration_since(answered))
    }

    /// Tells whether plans may not be listed: then nothing can be done.
    pub(super) fn set_blind(&self, is_blind: bool) {
        self.is_blind.store(is_blind, Ordering::Relaxed);
    }

    /// Whether plans may not be listed.
    pub(super) fn is_blind(&self) -> bool {
        self.is_blind.load(Ordering::Relaxed)
    }
}

impl Default for Metrics {
    /// Those of an agent that may never write.
    fn default() -> Self {
        Self::new(Arc::new(Fence::closed()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Metrics;
    use crate::agent::fence::Fence;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::default();
        metrics.requested("GET");
        metrics.panicked();
        let text = metrics.text();
        let version = concat!("rollout_agent_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1");
        for line in ["rollout_agent_api_requests_total{method=\"GET\"} 1", "rollout_agent_panics_total 1", version] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }

    #[test]
    fn an_agent_whose_lease_was_not_renewed_does_not_lead() {
        let fence = Arc::new(Fence::closed());
        let metrics = Metrics::new(Arc::clone(&fence));
        let says = |leader: u8| metrics.text().contains(&format!("rollout_agent_leader {leader}\n"));
        let later = Instant::now() + Duration::from_mins(1);
        fence.open_until(later, later);
        metrics.leads(true);
        assert!(says(1));
        fence.open_until(Instant::now(), later);
        assert!(says(0));
    }
}
