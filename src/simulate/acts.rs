//! What people, other programs and bad luck do.

use super::play::{Play, place};
use super::script::Act;
use super::{Who, plans};
use crate::machine::Event;
use crate::model::{Request, Verb};

impl Play<'_> {
    /// The agent hears of something, at once or when it is back.
    fn hear(&mut self, event: Event) {
        if self.back_at.is_some() {
            self.inbox.push(event);
        } else {
            self.agent.tell(&event, self.now);
        }
    }

    pub(super) fn ask(&mut self, verb: Verb, step: u32, digest: Option<String>) {
        self.requests += 1;
        let run = || self.agent.status.digest.clone().unwrap_or_default();
        let request = Request { verb, digest: digest.unwrap_or_else(run), step, id: self.requests.to_string() };
        self.hear(Event::Asked(request));
    }

    pub(super) fn act(&mut self, act: &Act) {
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
