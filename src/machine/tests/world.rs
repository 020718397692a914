//! A cluster of a few values, and an agent that can be killed anywhere.

use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::machine::{Duty, Event, Offer, Workload, duty, next, runs_object, wake_at};
use crate::model::{
    Bindings, Bypass, Hold, HoldCause, LateValue, ObjectKey, Part, Plan, PlanStatus, Purpose, Request, Stage, Verb, VersionKey,
};
use crate::plan::digest;

pub(super) type Live = BTreeMap<ObjectKey, Value>;

/// How much of a duty is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// All, and what it led to is recorded.
    Recorded,
    /// All, and the agent was killed before it could record that.
    Unrecorded,
    /// The first half of the writes.
    Half,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    /// The plan's object.
    pub(super) object: Rc<Plan>,
    /// What a ControllerRevision keeps: the plan, and the values from before.
    pub(super) kept: BTreeMap<String, (Rc<Plan>, Live)>,
    pub(super) live: Live,
    pub(super) status: PlanStatus,
    pub(super) now: Timestamp,
    /// Every place that was recorded, in order.
    pub(super) passed: Vec<(Part, u32)>,
    requests: u32,
}

impl World {
    pub(super) fn new(plan: Plan) -> Self {
        let live = plan.spec.baseline.iter().map(|it| (it.object().clone(), plan.spec.objects[it].clone())).collect();
        let status = PlanStatus::default();
        let mut world = Self {
            object: Rc::new(plan),
            kept: BTreeMap::new(),
            live,
            status,
            now: Timestamp::UNIX_EPOCH,
            passed: Vec::new(),
            requests: 0,
        };
        world.offer();
        world
    }

    /// The plan that is run.
    pub(super) fn plan(&self) -> Rc<Plan> {
        let kept = self.status.captured.as_ref().filter(|_| !runs_object(&self.status)).and_then(|name| self.kept.get(name));
        kept.map_or_else(|| self.object.clone(), |(plan, _)| plan.clone())
    }

    pub(super) fn originals(&self) -> Option<&Live> {
        self.status.captured.as_ref().and_then(|name| self.kept.get(name)).map(|(_, originals)| originals)
    }

    pub(super) fn tell(&mut self, event: &Event) {
        self.status = next(&self.plan(), &self.status, event, self.now);
        // What is recorded survives as text.
        let text = serde_json::to_string(&self.status).expect("text");
        self.status = serde_json::from_str(&text).expect("the same status");
        if let Some(cursor) = &self.status.cursor
            && self.passed.last() != Some(&(cursor.part, cursor.step))
        {
            self.passed.push((cursor.part, cursor.step));
        }
    }

    pub(super) fn offer(&mut self) {
        let spec = &self.object.spec;
        let target: Live = spec.target.iter().map(|it| (it.object().clone(), spec.objects[it].clone())).collect();
        let live = self.live.get(&workload(&self.object));
        let at_target = live == target.get(&workload(&self.object));
        let offer = Offer {
            generation: 1,
            digest: digest(spec),
            release: spec.release.clone(),
            workload: match live {
                None => Workload::Missing,
                Some(_) if at_target => Workload::AtTarget(Bypass { manager: "me".into(), at: None }),
                Some(_) => Workload::Elsewhere,
            },
            returns: self
                .originals()
                .is_some_and(|originals| originals.get(&workload(&self.object)) == target.get(&workload(&self.object))),
            drops: false,
        };
        self.tell(&Event::Offered(offer));
    }

    pub(super) fn ask(&mut self, verb: Verb, step: u32) {
        self.requests += 1;
        let digest = self.status.digest.clone().unwrap_or_default();
        self.tell(&Event::Asked(Request { verb, digest, step, id: self.requests.to_string() }));
    }

    pub(super) fn wait(&mut self, seconds: u8) {
        self.now += SignedDuration::from_secs(i64::from(seconds));
        self.tell(&Event::Tick);
    }

    fn write(&mut self, plan: &Plan, stage: &Stage, originals: bool, done: Done) {
        let all = stage.write.len() + stage.remove.len();
        let count = if done == Done::Half { all / 2 } else { all };
        let captured = self.originals().cloned().unwrap_or_default();
        for version in stage.write.iter().take(count) {
            self.live.insert(version.object().clone(), value(plan, version, &captured, originals));
        }
        for object in stage.remove.iter().take(count.saturating_sub(stage.write.len())) {
            self.live.remove(object);
        }
    }

    /// Does the duty as it is recorded. Says whether there was one.
    pub(super) fn work(&mut self, done: Done) -> bool {
        let plan = self.plan();
        let turn = self.status.turn;
        let event = match duty(&plan, &self.status) {
            Duty::Nothing => return false,
            Duty::Check { purpose: Purpose::Release } if !self.live.contains_key(&workload(&plan)) => {
                let hold = Hold { cause: HoldCause::Differs, message: "it does not exist".to_owned() };
                Event::Checked { turn, result: Err(hold) }
            }
            Duty::Check { .. } => Event::Checked { turn, result: Ok(self.found(LateValue::StableRevision)) },
            Duty::Capture { .. } => {
                let name = digest(&self.object.spec);
                let originals = self.originals().unwrap_or(&self.live).clone();
                self.kept.insert(name.clone(), (self.object.clone(), originals));
                Event::Captured { turn, name }
            }
            Duty::Play { stage, originals } => match self.unbound(&plan, &stage) {
                Some(LateValue::CanaryRevision) => Event::Bound(self.found(LateValue::CanaryRevision)),
                Some(late) => unknown(late),
                None => {
                    self.write(&plan, &stage, originals, done);
                    Event::Written { turn }
                }
            },
            Duty::Await { keep, originals, .. } => {
                if let Some(late) = self.unbound(&plan, &keep) {
                    unknown(late)
                } else {
                    self.write(&plan, &keep, originals, done);
                    Event::Awaited { turn, unmet: Vec::new() }
                }
            }
            Duty::Assert { keep, originals } => {
                if let Some(late) = self.unbound(&plan, &keep) {
                    unknown(late)
                } else {
                    self.write(&plan, &keep, originals, done);
                    Event::Kept { turn }
                }
            }
            Duty::HandBack if done == Done::Half => return true,
            Duty::HandBack => Event::HandedBack { turn },
        };
        if done == Done::Recorded {
            self.tell(&event);
            if matches!(event, Event::HandedBack { .. }) {
                self.kept.clear();
                self.offer();
            } else if matches!(event, Event::Checked { result: Err(_), .. }) {
                self.offer();
            }
        }
        true
    }

    /// What the cluster says when it is asked for a late value.
    fn found(&self, late: LateValue) -> Bindings {
        let wants = self.object.spec.bindings.iter().any(|binding| binding.value == late);
        let revision = wants.then(|| "revision".to_owned());
        match late {
            LateValue::StableRevision => Bindings { stable_revision: revision, ..Bindings::default() },
            LateValue::CanaryRevision => Bindings { canary_revision: revision, ..Bindings::default() },
            LateValue::Replicas(_) => Bindings::default(),
        }
    }

    /// A late value that the stage needs and that is not known.
    fn unbound(&self, plan: &Plan, stage: &Stage) -> Option<LateValue> {
        let bindings = &self.status.bindings;
        let is_unknown = |late: &LateValue| match late {
            LateValue::StableRevision => bindings.stable_revision.is_none(),
            LateValue::CanaryRevision => bindings.canary_revision.is_none(),
            LateValue::Replicas(_) => false,
        };
        let needed = plan.spec.bindings.iter().filter(|binding| stage.write.contains(&binding.object)).map(|binding| binding.value);
        needed.into_iter().find(is_unknown)
    }

    /// Does what there is to do, and lets time pass up to the next moment that matters, until only people can help.
    pub(super) fn settle(&mut self) {
        for _ in 0..2_000 {
            let before = (self.status.turn, self.now);
            self.work(Done::Recorded);
            if let Some(at) = wake_at(&self.plan(), &self.status)
                && before.0 == self.status.turn
            {
                self.now = self.now.max(at);
                self.tell(&Event::Tick);
            }
            let is_waiting =
                self.status.cursor.as_ref().is_none_or(|cursor| cursor.part == Part::Gate || self.status.suspended.is_paused());
            if is_waiting && before == (self.status.turn, self.now) {
                return;
            }
        }
        panic!("it never comes to rest: {:#?}", self.status);
    }

    /// Settles, and approves whatever asks for it, until the release is over.
    pub(super) fn run_to_the_end(&mut self) {
        for _ in 0..50 {
            self.settle();
            match self.status.cursor.as_ref() {
                None => return,
                Some(cursor) => self.ask(Verb::Approve, cursor.step),
            }
        }
        panic!("it never ends: {:#?}", self.status);
    }

    /// What the cluster should hold in a state of the plan that is run.
    pub(super) fn expected(&self, versions: &[VersionKey], originals: bool) -> Live {
        let plan = self.plan();
        let captured = self.originals().cloned().unwrap_or_default();
        versions.iter().map(|version| (version.object().clone(), value(&plan, version, &captured, originals))).collect()
    }
}

/// The workload that a plan releases.
pub(super) fn workload(plan: &Plan) -> ObjectKey {
    plan.spec.workload_key().expect("a plan has its workload").clone()
}

fn unknown(late: LateValue) -> Event {
    Event::Failed { reason: format!("{late:?} is not known"), permanent: false }
}

fn value(plan: &Plan, version: &VersionKey, captured: &Live, originals: bool) -> Value {
    let of_plan = &plan.spec.objects[version];
    let is_original = originals && plan.spec.baseline.contains(version);
    captured.get(version.object()).filter(|_| is_original).unwrap_or(of_plan).clone()
}
