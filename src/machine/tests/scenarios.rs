//! One release each, told event by event.

use jiff::{SignedDuration, Timestamp};

use super::cursor;
use crate::machine::{Duty, Event, Offer, Workload, duty, next, wake_at};
use crate::model::{
    Bindings, Bypass, Deadline, DeadlineAction, Gate, Hold, HoldCause, Outcome, Part, Phase, Plan, PlanStatus, PlanStep, Purpose, Replicas,
    Request, Verb,
};
use crate::plan::{digest, fixture};

/// A driver that does every duty at once.
struct Agent {
    plan: Plan,
    status: PlanStatus,
    now: Timestamp,
    asked: u32,
}

impl Agent {
    fn new() -> Self {
        Self { plan: fixture(), status: PlanStatus::default(), now: Timestamp::UNIX_EPOCH, asked: 0 }
    }

    fn tell(&mut self, event: &Event) -> &mut Self {
        self.status = next(&self.plan, &self.status, event, self.now);
        self
    }

    fn offer(&self) -> Offer {
        Offer {
            generation: 1,
            digest: digest(&self.plan.spec),
            release: self.plan.spec.release.clone(),
            workload: Workload::Elsewhere,
            returns: false,
            drops: false,
        }
    }

    fn ask(&mut self, verb: Verb, step: u32) -> &mut Self {
        self.asked += 1;
        let request = Request { verb, digest: digest(&self.plan.spec), step, id: self.asked.to_string() };
        self.tell(&Event::Asked(request))
    }

    fn wait(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self.tell(&Event::Tick)
    }

    /// Does duties, and lets time pass where only grace is waited for, until nothing happens any more.
    fn work(&mut self) -> &mut Self {
        for _ in 0..200 {
            let turn = self.status.turn;
            let event = match duty(&self.plan, &self.status) {
                Duty::Nothing | Duty::Assert { .. } => break,
                Duty::Check { .. } => Event::Checked { turn, result: Ok(Bindings::default()) },
                Duty::Capture { .. } => Event::Captured { turn, name: "kept".to_owned() },
                Duty::Play { .. } => Event::Written { turn },
                Duty::Await { .. } if self.place().2 && wake_at(&self.plan, &self.status).is_some() => {
                    self.now = wake_at(&self.plan, &self.status).expect("a time");
                    Event::Tick
                }
                Duty::Await { .. } => Event::Awaited { turn, unmet: Vec::new() },
                Duty::HandBack => Event::HandedBack { turn },
            };
            self.tell(&event);
        }
        self
    }

    /// Part, step, and whether awaits hold.
    fn place(&self) -> (Part, u32, bool) {
        let cursor = self.status.cursor.as_ref().expect("a release that runs");
        (cursor.part, cursor.step, cursor.holding.is_some())
    }

    #[track_caller]
    fn at(&self, part: Part, step: u32) {
        assert_eq!(self.status.cursor.as_ref().map(|cursor| (cursor.part, cursor.step)), Some((part, step)), "{:#?}", self.status);
    }
}

#[test]
fn a_release_goes_from_gate_to_gate_to_its_end_and_then_does_nothing() {
    let mut agent = Agent::new();
    agent.tell(&Event::Offered(agent.offer())).work();
    agent.at(Part::Gate, 1);
    assert_eq!(agent.status.phase, Phase::Gated);
    assert_eq!(
        agent.status.waiting_for.as_deref(),
        Some("approval of step 1: rollout approve shop -n prod, or kubectl-kruise rollout approve rollout/shop -n prod")
    );
    agent.ask(Verb::Approve, 1).work();
    agent.at(Part::Gate, 2);
    agent.wait(599);
    agent.at(Part::Gate, 2);
    agent.wait(1).work();
    assert_eq!((agent.status.phase, agent.status.is_at_rest()), (Phase::Succeeded, true));
    let before = agent.status.clone();
    agent.tell(&Event::Offered(agent.offer()));
    assert_eq!(agent.status, before);
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Nothing);
}

impl Agent {
    /// At the gate of the first step.
    fn gated() -> Self {
        let mut agent = Self::new();
        agent.tell(&Event::Offered(agent.offer())).work();
        agent.at(Part::Gate, 1);
        agent
    }

    fn phase(&self) -> Phase {
        self.status.phase
    }

    fn waits_for(&self) -> &str {
        self.status.waiting_for.as_deref().unwrap_or_default()
    }

    fn condition(&self, kind: &str) -> (&str, &str) {
        let condition = self.status.condition(kind).expect("a condition");
        (&condition.status, &condition.reason)
    }

    /// The plan that is offered instead, as far as the machine looks at it.
    fn changed(&self, digest: &str, release: Option<&str>) -> Offer {
        Offer { digest: digest.to_owned(), release: release.map(str::to_owned), ..self.offer() }
    }

    fn last(&self) -> Option<(&str, Outcome)> {
        self.status.last.as_ref().map(|last| (last.release.as_str(), last.outcome))
    }
}

#[test]
fn an_approval_of_another_step_or_another_plan_is_refused_and_says_why() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 2).work();
    agent.at(Part::Gate, 1);
    assert_eq!(agent.status.refused_request.as_deref(), Some("the approval is for step 2, the release is at the gate of step 1"));
    let request = Request { verb: Verb::Approve, digest: "sha256:old".into(), step: 1, id: "x".into() };
    agent.tell(&Event::Asked(request.clone())).work();
    agent.at(Part::Gate, 1);
    assert!(agent.status.refused_request.as_ref().is_some_and(|reason| reason.contains("`sha256:old`")));
    assert_eq!(agent.status.handled_request.as_deref(), Some("x"));
}

#[test]
fn a_request_is_obeyed_once() {
    let mut agent = Agent::gated();
    let request = Request { verb: Verb::Jump, digest: digest(&agent.plan.spec), step: 1, id: "x".into() };
    agent.tell(&Event::Asked(request.clone()));
    agent.at(Part::Reassert, 1);
    agent.work();
    agent.tell(&Event::Asked(request));
    agent.at(Part::Gate, 1);
}

#[test]
fn the_last_step_waits_for_its_gate_too() {
    let mut agent = Agent::gated();
    agent.plan.spec.steps[1].gate = Gate::Approval {};
    agent.ask(Verb::Abort, 0).work();
    let mut agent = Agent { plan: agent.plan, ..Agent::new() };
    agent.tell(&Event::Offered(agent.offer())).work();
    agent.ask(Verb::Approve, 1).work().wait(100_000).work();
    agent.at(Part::Gate, 2);
    agent.ask(Verb::Approve, 2).work();
    assert_eq!(agent.phase(), Phase::Succeeded);
}

#[test]
fn a_gate_of_seconds_opens_at_once_when_approved() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1).work();
    assert_eq!(
        agent.waits_for(),
        "the end of step 2, 600 s, at 1970-01-01T00:10:06Z; at once: rollout approve shop -n prod, or kubectl-kruise rollout approve rollout/shop -n prod"
    );
    agent.ask(Verb::Approve, 2).work();
    assert_eq!(agent.phase(), Phase::Succeeded);
}

/// A release in which the pods of the first step never get ready.
fn never_ready(then: DeadlineAction) -> Agent {
    let mut agent = Agent::new();
    agent.plan.spec.steps[0].deadline = Some(Deadline { seconds: 600, then });
    agent.tell(&Event::Offered(agent.offer()));
    while !matches!(duty(&agent.plan, &agent.status), Duty::Await { .. }) {
        let turn = agent.status.turn;
        let event = match duty(&agent.plan, &agent.status) {
            Duty::Check { .. } => Event::Checked { turn, result: Ok(Bindings::default()) },
            Duty::Capture { .. } => Event::Captured { turn, name: "kept".into() },
            Duty::Play { .. } => Event::Written { turn },
            due @ (Duty::Nothing | Duty::Await { .. } | Duty::Assert { .. } | Duty::HandBack) => panic!("{due:?}"),
        };
        agent.tell(&event);
    }
    let turn = agent.status.turn;
    agent.tell(&Event::Awaited { turn, unmet: vec!["0 of 1 pods of Deployment/shop-canary are ready".into()] });
    agent
}

#[test]
fn at_a_deadline_the_release_says_so_and_goes_on_when_cured() {
    let mut agent = never_ready(DeadlineAction::Hold);
    assert_eq!(agent.waits_for(), "step 1: 0 of 1 pods of Deployment/shop-canary are ready");
    assert_eq!(wake_at(&agent.plan, &agent.status).map(Timestamp::as_second), Some(600));
    agent.wait(600);
    assert_eq!((agent.phase(), agent.condition("Stalled")), (Phase::Stalled, ("True", "DeadlineExceeded")));
    assert_eq!(
        agent.waits_for(),
        "step 1: 0 of 1 pods of Deployment/shop-canary are ready; the deadline passed at 1970-01-01T00:10:00Z; to give up: rollout abort shop -n prod"
    );
    assert_eq!(wake_at(&agent.plan, &agent.status), None);
    agent.work();
    assert_eq!((agent.phase(), agent.condition("Stalled").0), (Phase::Gated, "False"));
}

#[test]
fn at_a_deadline_the_release_goes_back_where_that_was_asked_for() {
    let mut agent = never_ready(DeadlineAction::Abort);
    agent.wait(600);
    agent.at(Part::Abort, 1);
    agent.work();
    assert_eq!(agent.phase(), Phase::Aborted);
    assert_eq!(agent.status.last.as_ref().map(|last| last.reason.as_str()), Some("step 1 was not reached within 600 s"));
    assert_eq!(agent.waits_for(), "a retry: rollout retry shop -n prod; or another release");
    assert_eq!(agent.condition("Stalled"), ("True", "Aborted"));
}

#[test]
fn a_deadline_does_not_count_a_pause() {
    let mut agent = never_ready(DeadlineAction::Abort);
    agent.wait(500).ask(Verb::Pause, 0).wait(1000);
    assert_eq!((agent.phase(), wake_at(&agent.plan, &agent.status)), (Phase::Paused, None));
    agent.ask(Verb::Resume, 0);
    agent.at(Part::Stages, 1);
    agent.wait(99);
    agent.at(Part::Stages, 1);
    agent.wait(1);
    agent.at(Part::Abort, 1);
}

#[test]
fn a_pause_holds_everything_and_an_approval_meanwhile_is_kept() {
    let mut agent = Agent::gated();
    agent.tell(&Event::Suspended { paused: true, disabled: false });
    assert_eq!(agent.waits_for(), "the end of the pause: kubectl-kruise rollout resume rollout/shop -n prod");
    agent.ask(Verb::Approve, 1).work();
    agent.at(Part::Gate, 1);
    assert!(matches!(duty(&agent.plan, &agent.status), Duty::Assert { .. }));
    agent.ask(Verb::Resume, 0);
    assert!(agent.status.refused_request.is_some(), "the Rollout's own switch is not ours");
    agent.tell(&Event::Suspended { paused: false, disabled: false }).work();
    agent.at(Part::Gate, 2);
}

#[test]
fn an_abort_works_in_a_pause() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Pause, 0).ask(Verb::Abort, 0).work();
    assert_eq!(agent.phase(), Phase::Aborted);
}

#[test]
fn a_disabled_rollout_goes_back_and_begins_nothing() {
    let mut agent = Agent::gated();
    agent.tell(&Event::Suspended { paused: false, disabled: true }).work();
    assert_eq!(agent.phase(), Phase::Aborted);
    agent.tell(&Event::Offered(agent.changed("sha256:next", Some("next")))).work();
    assert!(agent.status.is_at_rest());
    assert_eq!(agent.waits_for(), "the Rollout, which is disabled: take `spec.disabled` out of it");
    agent.tell(&Event::Suspended { paused: false, disabled: false });
    agent.tell(&Event::Offered(agent.changed("sha256:next", Some("next"))));
    agent.at(Part::Check, 0);
}

#[test]
fn a_jump_upwards_plays_the_steps_between_without_their_gates() {
    let mut agent = Agent::gated();
    let second = agent.plan.spec.steps[1].clone();
    agent.plan.spec.steps.push(PlanStep { name: "step-3".into(), stages: vec![second.stages[1].clone()], ..second });
    let mut agent = Agent { plan: agent.plan, ..Agent::new() };
    agent.tell(&Event::Offered(agent.offer())).work();
    agent.ask(Verb::Jump, 3);
    agent.at(Part::Stages, 2);
    agent.work();
    agent.at(Part::Gate, 3);
    agent.ask(Verb::Jump, 1);
    agent.at(Part::EnterFromAbove, 1);
    agent.work();
    agent.at(Part::Gate, 1);
    agent.ask(Verb::Jump, 9);
    assert_eq!(agent.status.refused_request.as_deref(), Some("the plan has the steps 1 to 3, no step 9"));
}

#[test]
fn a_refresh_in_mid_release_is_checked_and_captured_and_stays_in_its_step() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1).work();
    let release = agent.plan.spec.release.clone();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    agent.at(Part::Check, 2);
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Check { purpose: Purpose::Refresh });
    let turn = agent.status.turn;
    agent.tell(&Event::Checked { turn, result: Ok(Bindings::default()) });
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Capture { again: true });
    agent.work();
    agent.at(Part::Gate, 2);
    assert_eq!(agent.status.digest.as_deref(), Some("sha256:again"));
    assert_eq!(agent.status.cursor.as_ref().expect("a cursor").since.as_second(), 6, "the gate's time goes on");
}

#[test]
fn a_refresh_that_is_held_can_still_be_aborted() {
    let mut agent = Agent::gated();
    let release = agent.plan.spec.release.clone();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    let hold = Hold { cause: HoldCause::Claimed, message: "Service/shop is held by the plan `other`".into() };
    let turn = agent.status.turn;
    agent.tell(&Event::Checked { turn, result: Err(hold) });
    assert_eq!((agent.phase(), agent.waits_for()), (Phase::Holding, "Service/shop is held by the plan `other`"));
    let request = Request { verb: Verb::Abort, digest: "sha256:again".into(), step: 0, id: "x".into() };
    agent.tell(&Event::Asked(request));
    agent.at(Part::Abort, 1);
}

#[test]
fn a_refresh_that_leaves_an_object_out_goes_back_and_begins_again() {
    let mut agent = Agent::gated();
    let release = agent.plan.spec.release.clone();
    let offer = Offer { drops: true, ..agent.changed("sha256:again", release.as_deref()) };
    agent.tell(&Event::Offered(offer.clone())).work();
    assert_eq!(agent.last().map(|last| last.1), Some(Outcome::Superseded));
    agent.tell(&Event::Offered(offer));
    agent.at(Part::Check, 0);
}

#[test]
fn a_refresh_at_rest_after_a_success_writes_the_target_and_after_an_abort_nothing() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1).work().wait(600).work();
    let release = agent.plan.spec.release.clone();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    let turn = agent.status.turn;
    agent.tell(&Event::Checked { turn, result: Ok(Bindings::default()) });
    let Duty::Play { stage, originals: false } = duty(&agent.plan, &agent.status) else { unreachable!("{:?}", agent.status) };
    assert_eq!(stage.write, agent.plan.spec.target);
    agent.work();
    assert_eq!((agent.phase(), agent.last().map(|last| last.1)), (Phase::Succeeded, Some(Outcome::Succeeded)));

    let mut agent = Agent::gated();
    agent.ask(Verb::Abort, 0).work();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    assert_eq!((agent.phase(), agent.status.is_at_rest()), (Phase::Aborted, true));
    let request = Request { verb: Verb::Retry, digest: "sha256:again".into(), step: 0, id: "x".into() };
    agent.tell(&Event::Asked(request)).work();
    agent.at(Part::Gate, 1);
}

#[test]
fn another_release_aborts_the_running_one_and_then_begins() {
    for approvals in [0, 1] {
        let mut agent = Agent::gated();
        for _ in 0..approvals {
            agent.ask(Verb::Approve, 1).work();
        }
        let other = agent.changed("sha256:next", Some("next"));
        agent.tell(&Event::Offered(other.clone()));
        agent.at(Part::Abort, 1 + approvals);
        agent.work();
        assert_eq!(agent.last().map(|last| last.1), Some(Outcome::Superseded));
        agent.tell(&Event::Offered(other));
        agent.at(Part::Check, 0);
        assert_eq!(agent.status.release.as_deref(), Some("next"));
    }
}

#[test]
fn another_release_within_finish_goes_back_by_the_way_from_there() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1).work().wait(600);
    agent.at(Part::Finish, 2);
    agent.tell(&Event::Offered(agent.changed("sha256:next", Some("next"))));
    agent.at(Part::AbortFinish, 2);
    agent.work();
    assert_eq!(agent.last().map(|last| last.1), Some(Outcome::Superseded));
}

#[test]
fn a_revert_in_git_is_an_abort_and_then_complete() {
    let mut agent = Agent::gated();
    let revert = Offer { returns: true, ..agent.changed("sha256:back", Some("back")) };
    agent.tell(&Event::Offered(revert.clone()));
    agent.at(Part::Abort, 1);
    agent.work();
    let by_us = Workload::AtTarget(Bypass { manager: "rollout".into(), at: None });
    agent.tell(&Event::Offered(Offer { workload: by_us, ..revert }));
    assert_eq!((agent.phase(), agent.last()), (Phase::Succeeded, Some(("back", Outcome::Succeeded))));
    // The first release once more is a release.
    agent.tell(&Event::Offered(agent.offer()));
    agent.at(Part::Check, 0);
}

#[test]
fn a_revert_that_is_reverted_on_the_way_back_begins_the_release_again() {
    let mut agent = Agent::gated();
    agent.tell(&Event::Offered(Offer { returns: true, ..agent.changed("sha256:back", Some("back")) }));
    agent.tell(&Event::Offered(agent.offer())).work();
    agent.tell(&Event::Offered(agent.offer()));
    agent.at(Part::Check, 0);
}

#[test]
fn a_workload_that_somebody_else_rolled_out_is_told_and_never_called_a_success() {
    let mut agent = Agent::new();
    let at = Some(Timestamp::UNIX_EPOCH);
    let workload = Workload::AtTarget(Bypass { manager: "kubectl".into(), at });
    agent.tell(&Event::Offered(Offer { workload: workload.clone(), ..agent.offer() })).work();
    assert_eq!((agent.phase(), agent.last()), (Phase::Bypassed, None));
    assert_eq!(
        agent.status.condition("Bypassed").map(|it| it.message.as_str()),
        Some("`kubectl` wrote the target at 1970-01-01T00:00:00Z, past the plan")
    );
    // Offered again when its owner has put it back, it is a release again.
    agent.tell(&Event::Offered(agent.offer()));
    agent.at(Part::Check, 0);
    assert_eq!(agent.status.condition("Bypassed"), None);
    // And while nothing is written it may still be bypassed.
    agent.tell(&Event::Offered(Offer { workload, ..agent.offer() }));
    assert_eq!(agent.phase(), Phase::Bypassed);
}

#[test]
fn a_preview_does_nothing_at_rest_and_in_mid_release() {
    let mut agent = Agent::new();
    agent.tell(&Event::Offered(agent.changed("sha256:preview", None))).work();
    assert_eq!((agent.phase(), agent.condition("Ready").0), (Phase::Preview, "True"));
    let mut agent = Agent::gated();
    agent.tell(&Event::Offered(agent.changed("sha256:preview", None)));
    agent.at(Part::Gate, 1);
}

#[test]
fn a_workload_that_does_not_exist_yet_is_created_as_the_target() {
    let mut agent = Agent::new();
    agent.tell(&Event::Offered(Offer { workload: Workload::Missing, ..agent.offer() }));
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Check { purpose: Purpose::Create });
    agent.work();
    assert_eq!((agent.phase(), agent.last().map(|last| last.1)), (Phase::Succeeded, Some(Outcome::Succeeded)));
    let before = agent.status.clone();
    agent.tell(&Event::Offered(agent.offer()));
    assert_eq!(agent.status, before);
}

#[test]
fn an_abort_of_a_refresh_that_is_not_captured_yet_goes_the_way_of_the_plan_that_was() {
    let mut agent = Agent::gated();
    let release = agent.plan.spec.release.clone();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    agent.at(Part::Check, 1);
    let mut offered = agent.plan.clone();
    offered.spec.abort = Vec::new();
    agent.status = next(&offered, &agent.status, &Event::Suspended { paused: false, disabled: true }, agent.now);
    agent.at(Part::Abort, 1);
    assert!(matches!(duty(&agent.plan, &agent.status), Duty::Play { .. }));
    agent.work();
    assert_eq!(agent.phase(), Phase::Aborted);
}

/// The order in which a refresh of the second step, which had two pods, writes its pods and its route.
fn refreshed(agent: &mut Agent, pods: u32) -> Vec<String> {
    let release = agent.plan.spec.release.clone();
    let offered = agent.changed(&format!("sha256:{}", agent.status.turn), release.as_deref());
    agent.tell(&Event::Offered(offered));
    let mut plan = agent.plan.clone();
    plan.spec.steps[1].replicas = Replicas::Count(pods);
    agent.plan = plan;
    let mut order = Vec::new();
    while agent.status.cursor.as_ref().is_some_and(|cursor| cursor.part != Part::Gate) {
        let turn = agent.status.turn;
        let event = match duty(&agent.plan, &agent.status) {
            Duty::Check { .. } => Event::Checked { turn, result: Ok(Bindings::default()) },
            Duty::Capture { .. } => Event::Captured { turn, name: "again".into() },
            Duty::Play { stage, .. } => {
                let objects = stage.write.iter().map(|version| version.object().to_string());
                order.extend(objects.filter(|object| object.starts_with("Virtual") || object.ends_with("-canary")));
                Event::Written { turn }
            }
            Duty::Await { .. } if wake_at(&agent.plan, &agent.status).is_some() => {
                agent.now += SignedDuration::from_secs(60);
                Event::Tick
            }
            Duty::Await { .. } => Event::Awaited { turn, unmet: Vec::new() },
            due @ (Duty::Nothing | Duty::Assert { .. } | Duty::HandBack) => panic!("{due:?}"),
        };
        agent.tell(&event);
    }
    order.retain(|object| object != "Service/shop-canary");
    order
}

#[test]
fn a_refresh_with_fewer_pods_moves_traffic_before_it_takes_any_away() {
    let (pods, route) = ("Deployment/shop-canary", "VirtualService/shop");
    for (count, order) in [(1, [route, pods]), (2, [pods, route]), (3, [pods, route])] {
        let mut agent = Agent::gated();
        agent.ask(Verb::Approve, 1).work();
        agent.at(Part::Gate, 2);
        assert_eq!(refreshed(&mut agent, count), order, "{count} pods");
        // The order is of this refresh alone.
        assert_eq!(agent.status.cursor.as_ref().map(|cursor| cursor.step), Some(2));
        assert_eq!(refreshed(&mut agent, count), [pods, route], "{count} pods once more");
    }
}

#[test]
fn a_refresh_on_the_way_up_keeps_the_pods_that_are_ready() {
    let (pods, route) = ("Deployment/shop-canary", "VirtualService/shop");
    // The second pod is not ready yet: the step that wants one has it, the one that wants two does not.
    for (count, order) in [(1, [pods, route]), (2, [pods, route])] {
        let mut agent = Agent::gated();
        agent.ask(Verb::Approve, 1);
        assert_eq!(agent.status.cursor.as_ref().map(|cursor| cursor.stage), Some(0));
        assert_eq!(refreshed(&mut agent, count), order, "{count} pods");
    }
}

#[test]
fn an_aborted_release_is_not_rolled_out_when_its_workload_is_missing() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Abort, 0).work();
    let missing = Offer { workload: Workload::Missing, ..agent.offer() };
    agent.tell(&Event::Offered(missing.clone()));
    assert_eq!((duty(&agent.plan, &agent.status), agent.phase()), (Duty::Nothing, Phase::Aborted));
    // The same release rendered again is no other one.
    agent.tell(&Event::Offered(Offer {
        workload: Workload::Missing,
        ..agent.changed("sha256:again", Some(&missing.release.clone().unwrap()))
    }));
    assert_eq!((duty(&agent.plan, &agent.status), agent.phase()), (Duty::Nothing, Phase::Aborted));
    agent.tell(&Event::Offered(missing.clone()));
    // Somebody who asks for it gets it.
    agent.ask(Verb::Retry, 0);
    agent.tell(&Event::Offered(missing));
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Check { purpose: Purpose::Create });
    agent.work();
    assert_eq!(agent.last().map(|last| last.1), Some(Outcome::Succeeded));
}

#[test]
fn a_retry_that_is_held_survives_another_rendering_of_its_plan() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Abort, 0).work();
    agent.ask(Verb::Retry, 0);
    let release = agent.plan.spec.release.clone();
    agent.tell(&Event::Offered(agent.changed("sha256:again", release.as_deref())));
    assert_eq!(duty(&agent.plan, &agent.status), Duty::Check { purpose: Purpose::Release });
    assert_eq!(agent.status.digest.as_deref(), Some("sha256:again"));
}

#[test]
fn a_deletion_restores_and_then_nothing_begins_any_more() {
    for approvals in [0, 1] {
        let mut agent = Agent::gated();
        if approvals == 1 {
            agent.ask(Verb::Approve, 1).work().wait(600);
            agent.at(Part::Finish, 2);
        }
        agent.tell(&Event::Deleted).work();
        assert_eq!((agent.last().map(|last| last.1), agent.waits_for()), (Some(Outcome::Aborted), ""));
        agent.tell(&Event::Offered(agent.changed("sha256:next", Some("next"))));
        assert!(agent.status.is_at_rest());
    }
}

#[test]
fn what_only_a_person_can_cure_stalls_the_release_until_it_is_cured() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1);
    let due = duty(&agent.plan, &agent.status);
    let reason = "cannot patch Deployment/shop-canary: forbidden; give the agent the Role of `rollout manifests`";
    let mut stalled = next(&agent.plan, &agent.status, &Event::Failed { reason: reason.into(), permanent: true }, agent.now);
    assert_eq!((stalled.phase, stalled.waiting_for.as_deref()), (Phase::Stalled, Some(reason)));
    assert_eq!(duty(&agent.plan, &stalled), due);
    stalled = next(&agent.plan, &stalled, &Event::Written { turn: stalled.turn }, agent.now);
    assert_eq!(stalled.phase, Phase::Running);
}

#[test]
fn news_of_a_former_turn_changes_nothing() {
    let mut agent = Agent::gated();
    agent.ask(Verb::Approve, 1);
    let before = agent.status.turn;
    agent.ask(Verb::Abort, 0);
    agent.tell(&Event::Written { turn: before });
    assert!(matches!(duty(&agent.plan, &agent.status), Duty::Play { .. }), "the abort has not begun to write");
}

#[test]
fn an_abort_before_the_first_write_writes_nothing() {
    let mut agent = Agent::new();
    agent.tell(&Event::Offered(agent.offer()));
    agent.ask(Verb::Abort, 0);
    assert_eq!(duty(&agent.plan, &agent.status), Duty::HandBack);
    agent.work();
    assert_eq!(agent.phase(), Phase::Aborted);
}

#[test]
fn late_values_are_recorded_and_what_names_the_old_version_stays() {
    let mut agent = Agent::gated();
    let found = Bindings { stable_revision: Some("a".into()), canary_revision: Some("b".into()), replicas: Some(4) };
    agent.tell(&Event::Bound(found));
    agent.tell(&Event::Bound(Bindings { stable_revision: Some("x".into()), replicas: Some(8), ..Bindings::default() }));
    let bindings = &agent.status.bindings;
    assert_eq!(
        (bindings.stable_revision.as_deref(), bindings.canary_revision.as_deref(), bindings.replicas),
        (Some("a"), Some("b"), Some(8))
    );
}

#[test]
fn conditions_keep_the_time_of_their_last_change() {
    let mut agent = Agent::gated();
    let since = agent.status.condition("Reconciling").expect("a condition").last_transition_time;
    assert_eq!(agent.condition("Ready"), ("False", "Gated"));
    assert_eq!(agent.condition("InSync"), ("True", "Gated"));
    agent.wait(50).ask(Verb::Approve, 1).work();
    assert_eq!(agent.status.condition("Reconciling").expect("a condition").last_transition_time, since);
    agent.wait(600).work();
    assert_eq!((agent.condition("Ready"), agent.condition("Reconciling").0), (("True", "Succeeded"), "False"));
}

/// At the gate of the first step.
fn at_a_gate(plan: &Plan) -> PlanStatus {
    let digest = Some(digest(&plan.spec));
    PlanStatus { cursor: Some(cursor(Part::Gate, 1, 0)), captured: Some("kept".into()), turn: 7, digest, ..PlanStatus::default() }
}

#[test]
fn an_approved_gate_is_left_when_what_is_to_stay_true_is_so_again() {
    let (plan, now) = (fixture(), Timestamp::UNIX_EPOCH);
    let failed = Event::Failed { reason: "`argocd` has overwritten it".into(), permanent: true };
    let mut status = next(&plan, &at_a_gate(&plan), &failed, now);
    let request = Request { verb: Verb::Approve, digest: digest(&plan.spec), step: 1, id: "a".into() };
    status = next(&plan, &status, &Event::Asked(request), now);
    let place = |status: &PlanStatus| status.cursor.as_ref().map(|cursor| (cursor.part, cursor.step));
    assert_eq!((place(&status), status.phase), (Some((Part::Gate, 1)), Phase::Stalled));
    assert_eq!(status.waiting_for.as_deref(), Some("`argocd` has overwritten it; step 1 is approved, and is left then"));
    assert_eq!(wake_at(&plan, &status), None, "time does not help");
    status = next(&plan, &status, &Event::Kept { turn: 7 }, now);
    assert_eq!(place(&status), Some((Part::Stages, 2)));
}

#[test]
fn who_takes_over_counts_a_grace_anew_and_nothing_from_the_future() {
    let time = |second: i64| Timestamp::from_second(second).expect("a time");
    let mut place = cursor(Part::Stages, 1, 0);
    (place.written, place.holding, place.since, place.entered) = (true, Some(time(100)), time(5_000), time(50));
    let status = PlanStatus { cursor: Some(place), captured: Some("kept".into()), ..PlanStatus::default() };
    let mut taken = status;
    crate::machine::advance::restart_clock(&mut taken, time(1_000));
    let cursor = taken.cursor.expect("a cursor");
    assert_eq!((cursor.holding, cursor.since, cursor.entered), (Some(time(1_000)), time(1_000), time(50)));
}
