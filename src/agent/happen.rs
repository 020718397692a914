//! What has happened outside since the plan was looked at last, told to the machine.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::attend::{Attendance, Next};
use super::commands;
use super::events::{self, Kind};
use super::hand_back;
use super::objects::Unresolved;
use super::offer;
use super::record;
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::kruise_status;
use crate::machine::Event;
use crate::model::{Bindings, LateValue, Part, Phase, Plan};

impl Attendance {
    /// Tells the machine what has happened outside.
    pub(super) async fn happenings(&mut self, plan: &Arc<Plan>) -> Result<(), Trouble> {
        let is_going = is_terminating(&self.object);
        let rollout_is_going = self.rollout.as_ref().is_none_or(is_terminating);
        let has_written = self.status.captured.is_some()
            || self.status.cursor.as_ref().is_some_and(|cursor| !matches!(cursor.part, Part::Check | Part::Capture));
        if !self.status.is_at_rest() && (is_going || (rollout_is_going && has_written)) {
            if !self.status.deleted {
                self.apply(&Event::Deleted);
            }
        } else if self.status.is_at_rest() && !is_going {
            self.status.deleted = false;
        }
        if self.status.is_at_rest() && hand_back::has_finalizer(&self.object) {
            hand_back::finalizer(&self.shared.api, &self.address, false).await?;
        }
        if is_going && self.status.is_at_rest() {
            return Ok(());
        }
        if let Some(rollout) = &self.rollout {
            let switches = kruise_status::commands(plan, &self.status, rollout);
            if (switches.paused, switches.disabled) != (self.status.suspended.paused, self.status.suspended.disabled) {
                self.apply(&Event::Suspended { paused: switches.paused, disabled: switches.disabled });
            }
        }
        match self.own.clone() {
            Ok(own) => {
                if self.is_news() {
                    self.offer(&own).await?;
                }
            }
            Err(problem) if self.told_problem.as_ref() != Some(&problem) => {
                self.tell(Kind::Warning, "PlanRefused", &format!("{problem}; the release that runs goes on as it was kept")).await;
                self.told_problem = Some(problem);
            }
            Err(_) => {}
        }
        self.replicas(plan).await?;
        self.revision(plan).await?;
        self.requests(plan).await;
        Ok(())
    }

    /// Whether the offer of the object's plan may say anything that the status does not know.
    fn is_news(&self) -> bool {
        let is_known = self.status.digest.as_ref() == Some(&self.own_digest)
            && self.status.observed_generation == Some(offer::generation(&self.object));
        let is_untouched = self.status.captured.is_none()
            && self.status.cursor.as_ref().is_some_and(|cursor| matches!(cursor.part, Part::Check | Part::Capture));
        let is_settled = matches!(self.status.phase, Phase::Succeeded | Phase::Aborted | Phase::Preview | Phase::Bypassed);
        !is_known || is_untouched || (self.status.is_at_rest() && !is_settled)
    }

    pub(super) async fn offer(&mut self, own: &Arc<Plan>) -> Result<(), Trouble> {
        let objects = match self.objects(own).await {
            Ok(objects) => Some(objects),
            Err(Unresolved::Trouble(trouble)) => return Err(trouble),
            // The checks say what is wrong with it.
            Err(Unresolved::NotServed(_) | Unresolved::NotAllowed(_)) => None,
        };
        self.load().await?;
        let running = self.running.as_ref().map(|(_, captured)| Arc::clone(captured));
        let generation = offer::generation(&self.object);
        let offer = offer::offer(&self.shared.api, own, generation, objects.as_deref(), running.as_deref()).await?;
        self.apply(&Event::Offered(offer));
        Ok(())
    }

    /// Where pods are a share of all, tells how many that are now.
    async fn replicas(&mut self, plan: &Arc<Plan>) -> Result<(), Trouble> {
        let is_bound = plan.spec.bindings.iter().any(|binding| matches!(binding.value, LateValue::Replicas(_)));
        if !is_bound || self.status.captured.is_none() {
            return Ok(());
        }
        let Ok(objects) = self.objects(plan).await else { return Ok(()) };
        let Some(target) = super::check::workload(plan).and_then(|version| objects.get(version.object())) else { return Ok(()) };
        let Some(live) = target.live(&self.shared.api).await? else { return Ok(()) };
        let replicas = live.pointer("/spec/replicas").and_then(Value::as_u64).and_then(|replicas| u32::try_from(replicas).ok());
        if replicas.is_some() && replicas != self.status.bindings.replicas {
            self.apply(&Event::Bound(Bindings { replicas, ..Bindings::default() }));
        }
        Ok(())
    }

    async fn requests(&mut self, plan: &Plan) {
        match commands::annotated(&self.object, &self.status) {
            Some(Ok(request)) => self.apply(&Event::Asked(request)),
            Some(Err(problem)) if self.told_problem.as_ref() != Some(&problem) => {
                self.tell(Kind::Warning, "RequestRefused", &problem).await;
                self.told_problem = Some(problem);
            }
            Some(Err(_)) | None => {}
        }
        let Some(command) = self.rollout.as_ref().map(|rollout| kruise_status::commands(plan, &self.status, rollout)) else { return };
        if let Some((verb, step)) = command.asked {
            self.apply(&Event::Commanded { verb, step });
        }
        // Publishing puts the index right, so that this is told once.
        if let Some(refused) = command.refused {
            self.tell(Kind::Warning, "RequestRefused", &refused).await;
        }
    }

    /// A plan that cannot be used, and nothing that runs: says so, and touches nothing.
    pub(super) async fn refuse(&mut self) -> Result<Next, Trouble> {
        let Err(problem) = self.own.clone() else { return Ok(Next::Rest) };
        let before = self.status.clone();
        self.status = record::unreadable(&before, offer::generation(&self.object), &problem, Timestamp::now());
        if self.status != before {
            self.tell(Kind::Warning, "PlanRefused", &problem).await;
            self.write_status().await?;
        }
        Ok(Next::Rest)
    }

    /// Whether the namespace takes no new objects because it is being deleted.
    pub(super) async fn namespace_is_going(&self) -> Result<bool, Trouble> {
        match events::rehearse(&self.shared.api, &self.object).await {
            Err(Trouble::Forbidden(message) | Trouble::NotFound(message)) => {
                Ok(message.contains("being terminated") || message.contains("namespaces"))
            }
            Ok(()) | Err(Trouble::Refused(_) | Trouble::Conflict(_)) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}
