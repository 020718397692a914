//! The plans of a cluster as metrics: where each stands, for as long as it exists.
//!
//! An agent that does not lead knows of none.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::claims::PlanKey;
use crate::model::{Phase, PlanStatus};

/// All phases, so that one without a plan is 0 and not absent.
const PHASES: [Phase; 11] = [
    Phase::Holding,
    Phase::Running,
    Phase::Gated,
    Phase::Paused,
    Phase::Finishing,
    Phase::Aborting,
    Phase::Succeeded,
    Phase::Aborted,
    Phase::Bypassed,
    Phase::Stalled,
    Phase::Preview,
];

/// The reason of a plan that cannot be used.
pub(super) const REFUSED: &str = "PlanRefused";

/// Where each plan stands.
#[derive(Debug, Default)]
pub(super) struct PlanGauges(Mutex<BTreeMap<PlanKey, Standing>>);

/// Where a plan stands.
#[derive(Debug, Clone, PartialEq)]
struct Standing {
    phase: Phase,
    /// The reason of its condition `Ready`.
    reason: String,
    step: u32,
    /// Since when. Absent where nothing is recorded of that.
    since: Option<Timestamp>,
}

impl Standing {
    fn of(status: &PlanStatus) -> Self {
        let failure = status.failure.as_ref().filter(|failure| failure.permanent).map(|failure| failure.since);
        let cursor = status.cursor.as_ref();
        let ready = status.condition("Ready");
        let at_rest = status.last.as_ref().map(|last| last.at).or_else(|| ready.map(|ready| ready.last_transition_time));
        Self {
            phase: status.phase,
            reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
            step: cursor.map_or(0, |cursor| cursor.step),
            since: failure.or_else(|| cursor.map(|cursor| cursor.since)).or(at_rest),
        }
    }
}

impl PlanGauges {
    /// The plan stands where its status says.
    pub(super) fn set(&self, plan: &PlanKey, status: &PlanStatus) {
        self.all().insert(plan.clone(), Standing::of(status));
    }

    /// The plan is gone.
    pub(super) fn forget(&self, plan: &PlanKey) {
        self.all().remove(plan);
    }

    /// Another agent leads.
    pub(super) fn clear(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<PlanKey, Standing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for PlanGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let all = self.all();
        let mut plans = encoder.encode_descriptor("plans", "Plans by phase", None, MetricType::Gauge)?;
        for phase in PHASES {
            let count = all.values().filter(|standing| standing.phase == phase).count();
            plans.encode_family(&[("phase", format!("{phase:?}"))])?.encode_gauge(&(count as u64))?;
        }
        let refused = all.values().filter(|standing| standing.reason == REFUSED).count();
        let help = "Plans that cannot be used: edited, of a newer version, or contradictory";
        encoder.encode_descriptor("plans_refused", help, None, MetricType::Gauge)?.encode_gauge(&(refused as u64))?;
        let mut infos = encoder.encode_descriptor("plan_info", "Where a plan stands", None, MetricType::Gauge)?;
        for (key, standing) in all.iter() {
            let labels = [
                ("namespace", key.namespace.clone()),
                ("name", key.name.clone()),
                ("phase", format!("{:?}", standing.phase)),
                ("step", standing.step.to_string()),
                ("reason", standing.reason.clone()),
            ];
            infos.encode_family(&labels)?.encode_gauge(&1_u64)?;
        }
        let help = "Since when a plan stands there, in seconds since 1970";
        let mut times = encoder.encode_descriptor("plan_phase_start_time_seconds", help, None, MetricType::Gauge)?;
        for (key, standing) in all.iter() {
            let Some(since) = standing.since else { continue };
            let labels = [("namespace", key.namespace.clone()), ("name", key.name.clone())];
            times.encode_family(&labels)?.encode_gauge(&since.as_second())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::claims::PlanKey;
    use crate::agent::metrics::Metrics;
    use crate::model::{Condition, Failure, Phase, PlanStatus};

    #[test]
    fn a_plan_is_told_where_it_stands_until_it_is_gone() {
        let metrics = Metrics::default();
        let key = PlanKey { namespace: "prod".to_owned(), name: "shop".to_owned() };
        metrics.plans.set(&key, &PlanStatus { phase: Phase::Gated, ..PlanStatus::default() });
        let time: jiff::Timestamp = "1970-01-01T00:01:00Z".parse().unwrap();
        let refused = Condition {
            kind: "Ready".into(),
            status: "False".into(),
            reason: "PlanRefused".into(),
            message: String::new(),
            last_transition_time: time,
            observed_generation: None,
        };
        let failure = Some(Failure { reason: "no".into(), permanent: true, since: time });
        let status = PlanStatus { phase: Phase::Stalled, conditions: vec![refused], failure, ..PlanStatus::default() };
        metrics.plans.set(&key, &status);
        let text = metrics.text();
        for line in [
            "rollout_agent_plans{phase=\"Stalled\"} 1",
            "rollout_agent_plans{phase=\"Gated\"} 0",
            "rollout_agent_plans_refused 1",
            "rollout_agent_plan_info{namespace=\"prod\",name=\"shop\",phase=\"Stalled\",step=\"0\",reason=\"PlanRefused\"} 1",
            "rollout_agent_plan_phase_start_time_seconds{namespace=\"prod\",name=\"shop\"} 60",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        metrics.plans.forget(&key);
        assert!(!metrics.text().contains("shop"), "{}", metrics.text());
    }
}
