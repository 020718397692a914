//! What the agent counts, in the OpenMetrics text format.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The agent's counters.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Verb, Counter>,
    retries: Counter,
    writes: Family<Kind, Counter>,
    repairs: Family<Kind, Counter>,
    phases: Family<Phase, Gauge>,
    releases: Family<Outcome, Counter>,
    errors: Counter,
    leader: Gauge,
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
struct Phase {
    phase: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("rollout");
        let metrics = (
            Family::<Verb, Counter>::default(),
            Counter::default(),
            Family::<Kind, Counter>::default(),
            Family::<Kind, Counter>::default(),
            Family::<Phase, Gauge>::default(),
            Family::<Outcome, Counter>::default(),
            Counter::default(),
            Gauge::default(),
        );
        let (requests, retries, writes, repairs, phases, releases, errors, leader) = metrics.clone();
        registry.register("api_requests", "Requests sent to the API server, watches aside", metrics.0);
        registry.register("api_retries", "Requests sent again after a passing failure", metrics.1);
        registry.register("writes", "Objects created, patched and deleted", metrics.2);
        registry.register("repairs", "Objects that somebody changed in mid-release and that were written again", metrics.3);
        registry.register("plans", "Plans by phase, as far as this agent attends to them", metrics.4);
        registry.register("releases", "Releases that ended, by outcome", metrics.5);
        registry.register("errors", "Failed attempts to do what a plan wants", metrics.6);
        registry.register("leader", "1 while this agent holds the lease", metrics.7);
        Self { registry, requests, retries, writes, repairs, phases, releases, errors, leader }
    }
}

impl Metrics {
    /// Returns all of them as text.
    pub(super) fn text(&self) -> String {
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

    pub(super) fn changed_phase(&self, from: Option<&str>, to: Option<&str>) {
        let gauge = |phase: &str| self.phases.get_or_create(&Phase { phase: phase.to_owned() }).clone();
        from.map(|phase| gauge(phase).dec());
        to.map(|phase| gauge(phase).inc());
    }

    pub(super) fn ended(&self, outcome: &str) {
        self.releases.get_or_create(&Outcome { outcome: outcome.to_owned() }).inc();
    }

    pub(super) fn failed(&self) {
        self.errors.inc();
    }

    pub(super) fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::default();
        metrics.requested("GET");
        metrics.changed_phase(None, Some("Gated"));
        metrics.changed_phase(Some("Gated"), Some("Running"));
        metrics.leads(true);
        let text = metrics.text();
        for line in ["rollout_api_requests_total{method=\"GET\"} 1", "rollout_plans{phase=\"Gated\"} 0", "rollout_leader 1"] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}
