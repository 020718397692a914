//! What has happened outside since the plan was looked at last, told to the machine.

use std::sync::Arc;

use super::attend::Attendance;
use super::commands;
use super::events::{self, Kind};
use super::hand_back;
use super::objects::Unresolved;
use super::offer::{self, Offered};
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::kruise_status;
use crate::machine::Event;
use crate::model::{Part, Phase, Plan};

impl Attendance {
    /// Tells the machine what has happened outside. What people ask for is heard though other things cannot be read.
    pub(super) async fn happenings(&mut self, plan: &Arc<Plan>, sees_rollout: bool) -> Result<(), Trouble> {
        let is_going = is_terminating(&self.object);
        let rollout_is_going = sees_rollout && self.rollout.as_ref().is_none_or(is_terminating);
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
            if self.status.digest.is_some() {
                // Kept by an attempt that was cut short before it was recorded; later it would be taken for a release without a plan.
                hand_back::captures(&self.shared.api, &self.key).await?;
            }
            hand_back::finalizer(&self.shared.api, &self.address, false).await?;
        }
        if is_going && self.status.is_at_rest() {
            return Ok(());
        }
        if let Some(rollout) = self.rollout.as_ref().filter(|_| sees_rollout) {
            let switches = kruise_status::commands(plan, &self.status, rollout);
            if (switches.paused, switches.disabled) != (self.status.suspended.paused, self.status.suspended.disabled) {
                self.apply(&Event::Suspended { paused: switches.paused, disabled: switches.disabled });
            }
        }
        let mut offered = Ok(());
        match self.own.clone() {
            Ok(own) => {
                if self.is_news() {
                    offered = self.offer(&own).await;
                }
            }
            Err(problem) if self.told_problem.as_ref() != Some(&problem) => {
                self.tell(Kind::Warning, "PlanRefused", &format!("{problem}; the release that runs goes on as it was kept")).await;
                self.told_problem = Some(problem);
            }
            Err(_) => {}
        }
        self.requests(plan, offered.is_ok(), sees_rollout).await;
        offered?;
        self.replicas(plan).await?;
        self.revision(plan).await
    }

    /// Whether the offer of the object's plan may say anything that the status does not know. A release that has ended, and a
    /// workload that was rolled out past the plan, are left alone until the object changes, whatever becomes of the workload.
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
        let offered = Offered {
            plan: own,
            digest: &self.own_digest,
            generation: offer::generation(&self.object),
            objects: objects.as_deref(),
            running: running.as_deref(),
            status: &self.status,
        };
        let offer = offer::offer(&self.shared.api, offered).await?;
        self.apply(&Event::Offered(offer));
        Ok(())
    }

    async fn requests(&mut self, plan: &Plan, is_offered: bool, sees_rollout: bool) {
        match commands::annotated(&self.object, &self.status) {
            // It may speak of the plan that is still to be taken up.
            Some(Ok(request)) if !is_offered && self.status.digest.as_ref() != Some(&request.digest) => {}
            Some(Ok(request)) => self.apply(&Event::Asked(request)),
            Some(Err(problem)) if self.told_request.as_ref() != Some(&problem) => {
                self.tell(Kind::Warning, "RequestRefused", &problem).await;
                self.told_request = Some(problem);
            }
            Some(Err(_)) | None => {}
        }
        let rollout = self.rollout.as_ref().filter(|_| sees_rollout);
        let Some(command) = rollout.map(|rollout| kruise_status::commands(plan, &self.status, rollout)) else { return };
        if let Some((verb, step)) = command.asked {
            self.apply(&Event::Commanded { verb, step });
        }
        // Publishing puts the index right, so that this is told once.
        if let Some(refused) = command.refused {
            self.tell(Kind::Warning, "RequestRefused", &refused).await;
        }
    }

    /// Whether the namespace takes no new objects because it is being deleted.
    pub(super) async fn namespace_is_going(&self) -> Result<bool, Trouble> {
        match events::rehearse(&self.shared.api, &self.object).await {
            Err(Trouble::NamespaceGone(_)) => Ok(true),
            // A right that is missing, or a policy, says nothing about the namespace.
            Ok(()) | Err(Trouble::Forbidden(_) | Trouble::NotFound(_) | Trouble::Refused(_) | Trouble::Conflict(_)) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}
