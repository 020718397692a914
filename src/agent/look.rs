//! A plan as it stands in the cluster: its object, what is recorded in it, what is kept of its release, and what it claims.

use std::sync::Arc;

use futures::FutureExt as _;
use serde_json::Value;

use super::answer::cut;
use super::attend::Attendance;
use super::capture;
use super::limits::Lane;
use super::objects::{Objects, Unresolved};
use super::offer;
use super::plan_object::PlanText;
use super::record;
use super::room::Place;
use super::shared::Shared;
use super::trouble::Trouble;
use super::unknown::Unknown;
use super::write::is_terminating;
use crate::machine;
use crate::model::{Plan, PlanStatus};

impl Attendance {
    /// Reads the plan and enters what it claims. Returns whether it exists.
    pub(super) async fn look(&mut self) -> Result<bool, Trouble> {
        let looked = self.look_at_all().await;
        // What only a person can cure keeps no other plan from beginning.
        self.has_looked |= looked.as_ref().err().is_none_or(Trouble::is_permanent);
        looked
    }

    async fn look_at_all(&mut self) -> Result<bool, Trouble> {
        if self.is_stale {
            let Some((text, mut object)) = self.read_object().await? else {
                self.shared.claims.release(&self.key);
                self.shared.interests.clear(&self.key);
                self.shared.interests.release(&self.key.namespace);
                self.shared.metrics.plans.forget(&self.key);
                self.status = PlanStatus::default();
                self.has_kept = false;
                // Where nobody waited for its finalizer, what is kept of the release is enough to restore. What an attempt that was cut
                // short has left is taken away now, while it still says what runs.
                self.shared.vanished.note(&self.key.namespace);
                return Ok(false);
            };
            let spec_is_known = offer::generation(&self.object) == offer::generation(&object) && self.own.is_ok();
            let annotated = |object: &Value| object.pointer("/metadata/annotations/rollout.dev~1digest").cloned();
            if !spec_is_known || annotated(&self.object) != annotated(&object) {
                self.own = text.plan(&object).map(Arc::new);
                // Of what is stored: another version would perhaps write the same plan in other words.
                let stored = annotated(&object).and_then(|digest| digest.as_str().map(str::to_owned));
                self.own_digest = stored.filter(|_| self.own.is_ok()).unwrap_or_default();
            }
            drop(text);
            ((self.status, self.unknown), self.unreadable) = match record::read(&object) {
                Ok(read) => (read, None),
                Err(problem) => ((record::readable_part(&object), Unknown::default()), Some(cut(&problem))),
            };
            self.recorded = self.status.clone();
            if let Some(fields) = object.as_object_mut() {
                fields.remove("status");
            }
            self.object = object;
            self.is_stale = false;
        }
        self.count();
        if self.status.captured.is_some() {
            self.shared.api.set_lane(Lane::Release);
        }
        let loaded = self.load().await;
        if !self.status.claims.is_empty() {
            self.enter().await;
        }
        self.unusable = match loaded {
            Err(trouble) if trouble.is_permanent() => Some(cut(&trouble.to_string())),
            loaded => loaded.map(|()| None)?,
        };
        Ok(true)
    }

    /// Reads the plan's object when there is room for its content, and returns its text and its outline; `None` if it is gone.
    async fn read_object(&mut self) -> Result<Option<(PlanText, Value)>, Trouble> {
        loop {
            if self.place.is_none() && self.length > 0 {
                self.place = Some(self.enter_room().await);
            }
            let Some(text) = self.shared.api.text(&self.address).await?.map(PlanText::new) else { return Ok(None) };
            let object = text.outline().map_err(Trouble::Unreachable)?;
            self.goes_back |= is_terminating(&object);
            self.length = text.length();
            if self.place.as_ref().is_some_and(|place| place.fits(self.length)) {
                return Ok(Some((text, object)));
            }
            self.place = None;
            if let Some(place) = self.enter_room().now_or_never() {
                self.place = Some(place);
                return Ok(Some((text, object)));
            }
            // Not even its text is held while it waits outside.
        }
    }

    async fn enter_room(&self) -> Place {
        self.shared.room.enter(&self.key.namespace, self.length, self.goes_back).await
    }

    /// Enters what is claimed, by the objects' addresses where they are known.
    async fn enter(&mut self) {
        let is_loaded = self.running.is_some() || self.status.captured.is_none();
        if let Some(plan) = self.written().filter(|_| is_loaded)
            && let Ok(objects) = self.objects(&plan).await
        {
            self.shared.claims.enter(&self.key, &objects);
        } else {
            self.shared.claims.enter_keys(&self.key, &self.status.claims);
        }
    }

    /// The plan that goes into the machine, as that says. One of the object's own that cannot be read leaves the one that is kept.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        match &self.own {
            Ok(own) if machine::runs_object(&self.status) => Some(Arc::clone(own)),
            Ok(_) | Err(_) => self.written(),
        }
    }

    /// The plan whose objects are in the cluster: the one that is kept, else the object's own.
    fn written(&self) -> Option<Arc<Plan>> {
        match &self.running {
            Some((_, captured)) => Some(Arc::clone(&captured.plan)),
            None => self.own.as_ref().ok().cloned(),
        }
    }

    /// The objects of a plan.
    pub(super) async fn objects(&mut self, plan: &Arc<Plan>) -> Result<Arc<Objects>, Unresolved> {
        if let Some((of, objects)) = &self.objects
            && Arc::ptr_eq(of, plan)
        {
            return Ok(Arc::clone(objects));
        }
        let Shared { api, served, .. } = &*self.shared;
        if self.is_going_back() {
            // Not kept: a kind that is installed again has its objects back.
            return Objects::that_are_served(plan, api, served).await.map(Arc::new);
        }
        let objects = Arc::new(Objects::of(plan, api, served).await?);
        self.objects = Some((Arc::clone(plan), Arc::clone(&objects)));
        Ok(objects)
    }

    /// Reads what is kept of the running release.
    pub(super) async fn load(&mut self) -> Result<(), Trouble> {
        let Some(name) = self.status.captured.clone() else {
            self.running = None;
            return Ok(());
        };
        if self.running.as_ref().is_some_and(|(known, _)| *known == name) {
            return Ok(());
        }
        self.running = None;
        let captured = capture::load(&self.shared.api, &self.key, &name).await?;
        self.running = captured.map(|mut captured| {
            // Mostly the same plan, which need not be held twice.
            if let Some(own) = self.own.as_ref().ok().filter(|own| **own == captured.plan) {
                captured.plan = Arc::clone(own);
            }
            (name, Arc::new(captured))
        });
        Ok(())
    }

    /// Counts the plan where it stands.
    pub(super) fn count(&self) {
        if self.unreadable.is_none() {
            self.shared.metrics.plans.set(&self.key, &self.status);
        }
    }
}
