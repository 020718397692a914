//! One release each, told event by event.

use jiff::{SignedDuration, Timestamp};

use crate::machine::{Duty, Event, Offer, Workload, duty, next, wake_at};
use crate::model::{Bindings, Part, Phase, Plan, PlanStatus, Request, Verb};
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
    assert_eq!(agent.status.waiting_for.as_deref(), Some("approval of step 1: kubectl-kruise rollout approve rollout/shop -n prod"));
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
