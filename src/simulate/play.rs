//! The course of a simulation: what is due next, what the agent does about it, and the line that tells of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::agent::{Agent, Did};
use super::cluster::Cluster;
use super::script::{Act, Moment, Script};
use super::{Row, Stopped, Traffic, Who, plans, traffic};
use crate::machine::{Event, later, wake_at};
use crate::model::{Gate, Outcome, Part, Phase, Plan, PlanStatus, Verb};

/// More than any release does; only a mistake of ours comes near.
const MOST_ROWS: usize = 20_000;

/// Something that is due.
pub(super) struct Due {
    at: Timestamp,
    act: Act,
}

pub(super) struct Play<'a> {
    pub(super) script: &'a Script,
    pub(super) files: &'a BTreeMap<String, Plan>,
    pub(super) cluster: Cluster,
    pub(super) agent: Agent,
    pub(super) now: Timestamp,
    pub(super) rows: Vec<Row>,
    pub(super) due: Vec<Due>,
    /// The moment that the release is in.
    pub(super) moment: Option<Moment>,
    /// Events that have been scheduled: each happens once.
    pub(super) scheduled: BTreeSet<usize>,
    /// What people asked for while the agent was away.
    pub(super) inbox: Vec<Event>,
    /// For how long the agent will be away, once it has been killed in the middle of something.
    pub(super) dying: Option<u32>,
    pub(super) back_at: Option<Timestamp>,
    pub(super) requests: u32,
    /// Who got the new version when the cluster had changed so many times, under what was kept then.
    seen: Option<((u64, Option<String>), Traffic)>,
}

impl<'a> Play<'a> {
    pub(super) fn new(plan: &Plan, script: &'a Script, files: &'a BTreeMap<String, Plan>) -> Self {
        let live = plans::objects_of(plan, &plan.spec.baseline);
        let events = script.events.iter().filter(|event| event.when.is_none());
        let due = events.map(|event| Due { at: later(script.start, event.after), act: event.act.clone() }).collect();
        Self {
            script,
            files,
            cluster: Cluster::new(live, script.ready_after, script.start),
            agent: Agent::new(plan.clone()),
            now: script.start,
            rows: Vec::new(),
            due,
            moment: None,
            scheduled: BTreeSet::new(),
            inbox: Vec::new(),
            dying: None,
            back_at: None,
            requests: 0,
            seen: None,
        }
    }

    pub(super) fn run(&mut self) -> Stopped {
        let end = later(self.script.start, self.script.until);
        self.agent.look(&self.cluster, self.now);
        self.row(Who::World, "the plan arrives".to_owned());
        if self.agent.status.phase == Phase::Preview {
            self.row(Who::Agent, "does nothing: the plan releases nothing".to_owned());
        }
        for _ in 0..MOST_ROWS {
            self.instant();
            if self.rows.len() > MOST_ROWS {
                return Stopped::Limit;
            }
            match self.next() {
                None => return Stopped::Quiet,
                Some(at) if at > end => {
                    self.now = end;
                    return Stopped::Until;
                }
                Some(at) => self.now = at,
            }
        }
        Stopped::Limit
    }

    /// Everything that happens at one moment of the clock.
    fn instant(&mut self) {
        let first = self.rows.len();
        for words in self.cluster.pass(self.now) {
            self.row(Who::Cluster, words);
        }
        if self.back_at.is_some_and(|at| at <= self.now) {
            self.back_at = None;
            self.row(Who::Agent, "is back, and does again what is recorded".to_owned());
            self.agent.look(&self.cluster, self.now);
            for event in std::mem::take(&mut self.inbox) {
                self.agent.tell(&event, self.now);
            }
        }
        if self.back_at.is_none() {
            self.agent.tell(&Event::Tick, self.now);
        }
        for _ in 0..MOST_ROWS {
            self.moments();
            if let Some(index) = self.due.iter().position(|due| due.at <= self.now) {
                let due = self.due.remove(index);
                self.act(&due.act);
            } else if self.approves_now() {
                let step = self.step();
                self.row(Who::World, format!("somebody approves step {step}"));
                self.ask(Verb::Approve, step, None);
            } else if self.back_at.is_some() || !self.works() {
                break;
            }
            for words in self.cluster.pass(self.now) {
                self.row(Who::Cluster, words);
            }
        }
        // In the middle of a moment nobody sees what is waited for.
        if let Some(last) = self.rows.iter_mut().skip(first).next_back() {
            last.waiting_for = if self.back_at.is_some() { Some("the agent".to_owned()) } else { self.agent.status.waiting_for.clone() };
            last.phase = self.agent.status.phase;
        }
    }

    /// The agent does one thing. Says whether it did.
    fn works(&mut self) -> bool {
        let before = self.agent.status.clone();
        let dies = self.dying.is_some();
        let place = place(&before);
        let did = self.agent.work(&mut self.cluster, self.now, dies);
        let words = match did {
            Did::Waits | Did::Looked if dies => "is killed".to_owned(),
            Did::Waits => return false,
            Did::Looked => return true,
            Did::Acted(words) if dies => format!("is killed in the middle: {words}"),
            Did::Acted(words) => words,
        };
        if let Some(seconds) = self.dying.take() {
            self.back_at = Some(later(self.now, seconds));
        }
        self.row_at(place, Who::Agent, words);
        true
    }

    /// Looks whether the release has come to another moment.
    fn moments(&mut self) {
        let before = std::mem::replace(&mut self.moment, moment(&self.agent.status));
        let Some(moment) = self.moment.filter(|moment| before != Some(*moment)) else { return };
        let words = match moment {
            Moment::Gate(step) => Some(format!("step {step} is reached")),
            Moment::End => Some(ended(&self.agent.status)),
            Moment::Entering(_) | Moment::Finish | Moment::Abort => None,
        };
        if let Some(words) = words {
            self.row(Who::Agent, words);
        }
        for (index, event) in self.script.events.iter().enumerate() {
            if event.when == Some(moment) && self.scheduled.insert(index) {
                self.due.push(Due { at: later(self.now, event.after), act: event.act.clone() });
            }
        }
    }

    /// When somebody will approve the gate that the release is in.
    fn approval(&self) -> Option<Timestamp> {
        let after = self.script.approve_after?;
        let cursor = self.agent.status.cursor.as_ref().filter(|cursor| cursor.part == Part::Gate && !cursor.approved)?;
        let step = usize::try_from(cursor.step).ok()?.checked_sub(1).and_then(|index| self.agent.plan().spec.steps.get(index))?;
        let waits = step.gate == Gate::Approval {} && !self.agent.status.suspended.is_paused() && self.back_at.is_none();
        waits.then(|| later(cursor.since, after))
    }

    fn approves_now(&self) -> bool {
        self.approval().is_some_and(|at| at <= self.now)
    }

    /// When something happens next.
    fn next(&self) -> Option<Timestamp> {
        let wakes = wake_at(self.agent.plan(), &self.agent.status).filter(|_| self.back_at.is_none());
        let due = self.due.iter().map(|due| due.at);
        let all = due.chain(self.cluster.next()).chain(self.back_at).chain(wakes).chain(self.approval());
        all.map(|at| at.max(self.now)).min()
    }

    pub(super) fn step(&self) -> u32 {
        self.agent.status.cursor.as_ref().map_or(0, |cursor| cursor.step)
    }

    pub(super) fn row(&mut self, who: Who, what: String) {
        self.row_at(place(&self.agent.status), who, what);
    }

    pub(super) fn row_at(&mut self, place: String, who: Who, what: String) {
        let traffic = self.traffic();
        let seconds = self.now.as_second() - self.script.start.as_second();
        self.rows.push(Row { seconds, place, who, what, phase: self.agent.status.phase, traffic, waiting_for: None });
    }

    /// Who gets the new version now.
    fn traffic(&mut self) -> Traffic {
        let at = (self.cluster.changes, self.agent.status.captured.clone());
        if let Some((_, traffic)) = self.seen.as_ref().filter(|(seen, _)| *seen == at) {
            return traffic.clone();
        }
        let traffic = traffic::traffic(self.agent.written(), &self.cluster);
        self.seen = Some((at, traffic.clone()));
        traffic
    }
}

fn moment(status: &PlanStatus) -> Option<Moment> {
    let Some(cursor) = &status.cursor else {
        return status.last.as_ref().filter(|last| status.release.as_ref() == Some(&last.release)).map(|_| Moment::End);
    };
    match cursor.part {
        Part::Stages | Part::EnterFromAbove | Part::Reassert => Some(Moment::Entering(cursor.step)),
        Part::Gate => Some(Moment::Gate(cursor.step)),
        Part::Finish => Some(Moment::Finish),
        Part::Abort | Part::AbortFinish => Some(Moment::Abort),
        Part::Check | Part::Capture | Part::Settle | Part::HandBack => None,
    }
}

fn ended(status: &PlanStatus) -> String {
    match status.last.as_ref().map(|last| (last.outcome, last.reason.as_str())) {
        Some((Outcome::Succeeded, _)) | None => "the release is complete".to_owned(),
        Some((Outcome::Aborted, reason)) => format!("the release is aborted: {reason}"),
        Some((Outcome::Superseded, reason)) => format!("the release is given up: {reason}"),
    }
}

pub(super) fn place(status: &PlanStatus) -> String {
    let Some(cursor) = &status.cursor else { return String::new() };
    match cursor.part {
        Part::Check | Part::Capture => "begin".to_owned(),
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate => format!("step {}", cursor.step),
        Part::Finish | Part::Settle => "finish".to_owned(),
        Part::Abort | Part::AbortFinish => "abort".to_owned(),
        Part::HandBack => "end".to_owned(),
    }
}
