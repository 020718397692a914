//! The steps of a plan: what each is called, how it is entered, and what ends it.

use super::order::{self, State};
use crate::model::{Gate, Pause, PlanStep, Rollout, Step, StepTraffic, Traffic, Weight};

/// The steps with their states, one for each of the Rollout's.
pub(super) fn steps(rollout: &Rollout, baseline: &State, states: &[State], grace: u32) -> Vec<PlanStep> {
    let befores = std::iter::once(baseline).chain(states);
    let steps = rollout.steps.iter().zip(states).zip(befores).enumerate();
    steps
        .map(|(index, ((step, state), before))| PlanStep {
            name: format!("step-{}", index + 1),
            traffic: traffic(&step.traffic),
            replicas: step.replicas,
            state: state.versions(),
            stages: order::enter(before, state, grace),
            enter_from_above: order::enter_from_above(&states[index + 1..], state, grace),
            gate: match step.pause {
                Pause::Approval => Gate::Approval {},
                Pause::Seconds(0) => Gate::None {},
                Pause::Seconds(seconds) => Gate::Seconds(seconds),
            },
            deadline: rollout.deadline,
        })
        .collect()
}

/// The Rollout with steps that move nothing and wait for nothing.
pub(super) fn without_waits(rollout: &Rollout) -> Rollout {
    let without = |step: &Step| Step { traffic: Traffic::default(), header_modifier: None, pause: Pause::Seconds(0), ..step.clone() };
    Rollout { steps: rollout.steps.iter().map(without).collect(), deadline: None, ..rollout.clone() }
}

fn traffic(traffic: &Traffic) -> Option<StepTraffic> {
    traffic.is_split().then(|| StepTraffic { weight: traffic.weight.map(Weight::percent), matches: traffic.matches.clone() })
}
