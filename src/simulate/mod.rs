//! A release in virtual time: the agent's own machine over a modelled cluster, told what happens by a script.
//!
//! Nothing here reads a clock or a file. What is simulated is the order of things and the time that people and pods take;
//! requests to an API server take none.

mod agent;
mod cluster;
mod plans;
pub mod scenarios;
mod script;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

pub use script::{Act, Happening, Moment, Never, ReadyAfter, Script, ScriptError, schema};
pub use traffic::Traffic;

use crate::machine::{Event, later, wake_at};
use crate::model::{Gate, Outcome, Part, Phase, Plan, PlanStatus, Request, Verb};
use agent::{Agent, Did};
use cluster::Cluster;

/// More than any release does; only a mistake of ours comes near.
const MOST_ROWS: usize = 20_000;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// What happened, in order.
    pub rows: Vec<Row>,
    /// Where the release stands in the end.
    pub phase: Phase,
    /// What is still waited for.
    pub waiting_for: Option<String>,
    /// After how many seconds.
    pub seconds: i64,
    /// Why it stopped there.
    pub stopped: Stopped,
}

/// Why a simulation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stopped {
    /// Nothing more would happen by itself.
    Quiet,
    /// The script's `until` was reached.
    Until,
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Seconds since the start.
    pub seconds: i64,
    /// `step 2`, `finish`, `abort`; empty at rest.
    pub place: String,
    /// Whose doing it was.
    pub who: Who,
    /// What happened, in words.
    pub what: String,
    /// The release in one word, then.
    pub phase: Phase,
    /// Who got the new version, then.
    pub traffic: Traffic,
    /// What was waited for then, if this was the last thing of its moment.
    pub waiting_for: Option<String>,
}

/// Whose doing something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Who {
    /// The agent.
    Agent,
    /// The cluster's own controllers.
    Cluster,
    /// People, other programs, and bad luck.
    World,
}

/// Runs a plan through a script. `files` are the plans that the script names.
pub fn simulate(plan: &Plan, script: &Script, files: &BTreeMap<String, Plan>) -> Simulation {
    let mut stage = Play::new(plan, script, files);
    let stopped = stage.run();
    let Play { rows, agent, now, .. } = stage;
    let seconds = now.as_second() - script.start.as_second();
    Simulation { rows, phase: agent.status.phase, waiting_for: agent.status.waiting_for, seconds, stopped }
}

/// Something that is due.
struct Due {
    at: Timestamp,
    act: Act,
}

struct Play<'a> {
    script: &'a Script,
    files: &'a BTreeMap<String, Plan>,
    cluster: Cluster,
    agent: Agent,
    now: Timestamp,
    rows: Vec<Row>,
    due: Vec<Due>,
    /// The moment that the release is in.
    moment: Option<Moment>,
    /// Events that have been scheduled: each happens once.
    scheduled: BTreeSet<usize>,
    /// What people asked for while the agent was away.
    inbox: Vec<Event>,
    /// For how long the agent will be away, once it has been killed in the middle of something.
    dying: Option<u32>,
    back_at: Option<Timestamp>,
    requests: u32,
}

impl<'a> Play<'a> {
    fn new(plan: &Plan, script: &'a Script, files: &'a BTreeMap<String, Plan>) -> Self {
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
        }
    }

    fn run(&mut self) -> Stopped {
        let end = later(self.script.start, self.script.until);
        self.agent.look(&self.cluster, self.now);
        self.row(Who::World, "the plan arrives".to_owned());
        if self.agent.status.phase == Phase::Preview {
            self.row(Who::Agent, "does nothing: the plan releases nothing".to_owned());
        }
        for _ in 0..MOST_ROWS {
            self.instant();
            if self.rows.len() > MOST_ROWS {
                break;
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
        Stopped::Until
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

    fn step(&self) -> u32 {
        self.agent.status.cursor.as_ref().map_or(0, |cursor| cursor.step)
    }

    /// The agent hears of something, at once or when it is back.
    fn hear(&mut self, event: Event) {
        if self.back_at.is_some() {
            self.inbox.push(event);
        } else {
            self.agent.tell(&event, self.now);
        }
    }

    fn ask(&mut self, verb: Verb, step: u32, digest: Option<String>) {
        self.requests += 1;
        let run = || self.agent.status.digest.clone().unwrap_or_default();
        let request = Request { verb, digest: digest.unwrap_or_else(run), step, id: self.requests.to_string() };
        self.hear(Event::Asked(request));
    }

    fn act(&mut self, act: &Act) {
        let place = place(&self.agent.status);
        let words = self.happens(act);
        self.row_at(place, Who::World, words);
        let refused = self.agent.status.refused_request.clone();
        let is_answered = self.agent.status.handled_request == Some(self.requests.to_string()) && self.back_at.is_none();
        if let Some(reason) = refused.filter(|_| is_answered && is_request(act)) {
            self.row(Who::Agent, format!("refuses: {reason}"));
        }
        if self.back_at.is_none() && self.agent.status.is_at_rest() {
            self.agent.look(&self.cluster, self.now);
        }
    }

    fn happens(&mut self, act: &Act) -> String {
        let now = self.now;
        match act {
            Act::Approve => {
                let step = self.step();
                self.ask(Verb::Approve, step, None);
                format!("somebody approves step {step}")
            }
            Act::ApproveStale { step, digest } => {
                self.ask(Verb::Approve, *step, digest.clone());
                format!("somebody approves step {step}{}", if digest.is_some() { " of another plan" } else { "" })
            }
            Act::Pause => self.request(Verb::Pause, 0, "somebody asks for a pause"),
            Act::Resume => self.request(Verb::Resume, 0, "somebody ends the pause"),
            Act::Abort => self.request(Verb::Abort, 0, "somebody asks for an abort"),
            Act::Retry => self.request(Verb::Retry, 0, "somebody asks for a retry"),
            Act::Jump { step } => self.request(Verb::Jump, *step, &format!("somebody asks for step {step}")),
            Act::Rollout { paused, disabled } => {
                self.agent.switches = (*paused, *disabled);
                self.hear(Event::Suspended { paused: *paused, disabled: *disabled });
                format!("the Rollout says paused: {paused}, disabled: {disabled}")
            }
            Act::Delete => {
                self.agent.deleted = true;
                self.hear(Event::Deleted);
                "the plan is deleted".to_owned()
            }
            Act::Pods { workload, ready_after } => {
                self.cluster.set_delay(workload.as_ref(), *ready_after, now);
                let of = workload.as_ref().map_or_else(|| "new pods".to_owned(), |key| format!("new pods of {key}"));
                match ready_after.seconds() {
                    Some(seconds) => format!("{of} are ready after {seconds} s from now on"),
                    None => format!("{of} never get ready from now on"),
                }
            }
            Act::Crash { workload } if self.cluster.crash(workload, now) => format!("the pods of {workload} crash"),
            Act::Crash { workload } => format!("{workload} has no pods that could crash"),
            Act::Edit { object, pointer, value, manager } => {
                let edit = Some((pointer.as_str(), value.clone()));
                let verb =
                    if self.agent.foreign(&mut self.cluster, object, edit, manager, now) { "edits" } else { "finds nothing to edit in" };
                format!("`{manager}` {verb} {object} at `{pointer}`")
            }
            Act::Remove { object, manager } => {
                let verb = if self.agent.foreign(&mut self.cluster, object, None, manager, now) { "deletes" } else { "does not find" };
                format!("`{manager}` {verb} {object}")
            }
            Act::Kill { seconds } => {
                self.dying = Some(*seconds);
                format!("the agent is about to be killed, for {seconds} s")
            }
            Act::Plan { file } => {
                let named = file.as_ref().and_then(|file| self.files.get(file));
                let made_up = || plans::made_up(&self.agent.object);
                self.agent.object = named.cloned().unwrap_or_else(made_up);
                if self.back_at.is_none() {
                    self.agent.look(&self.cluster, now);
                }
                match file {
                    Some(file) => format!("the plan changes to that of `{file}`"),
                    None => "the plan changes to another release, made up of the same steps".to_owned(),
                }
            }
        }
    }

    fn request(&mut self, verb: Verb, step: u32, words: &str) -> String {
        self.ask(verb, step, None);
        words.to_owned()
    }

    fn row(&mut self, who: Who, what: String) {
        self.row_at(place(&self.agent.status), who, what);
    }

    fn row_at(&mut self, place: String, who: Who, what: String) {
        let status = &self.agent.status;
        let traffic = traffic::traffic(self.agent.written(), &self.cluster, &status.bindings);
        let seconds = self.now.as_second() - self.script.start.as_second();
        self.rows.push(Row { seconds, place, who, what, phase: status.phase, traffic, waiting_for: None });
    }
}

/// Whether an act is answered by obeying or refusing.
fn is_request(act: &Act) -> bool {
    match act {
        Act::Approve | Act::ApproveStale { .. } | Act::Pause | Act::Resume | Act::Abort | Act::Retry | Act::Jump { .. } => true,
        Act::Rollout { .. }
        | Act::Delete
        | Act::Pods { .. }
        | Act::Crash { .. }
        | Act::Edit { .. }
        | Act::Remove { .. }
        | Act::Kill { .. }
        | Act::Plan { .. } => false,
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

fn place(status: &PlanStatus) -> String {
    let Some(cursor) = &status.cursor else { return String::new() };
    match cursor.part {
        Part::Check | Part::Capture => "begin".to_owned(),
        Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate => format!("step {}", cursor.step),
        Part::Finish | Part::Settle => "finish".to_owned(),
        Part::Abort | Part::AbortFinish => "abort".to_owned(),
        Part::HandBack => "end".to_owned(),
    }
}

#[cfg(test)]
mod tests;
