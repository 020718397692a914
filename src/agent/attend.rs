//! One plan, attended to: what is recorded and what stands in the cluster go into the machine, its duty comes out.
//!
//! The state is recorded before its duty is done. Whoever comes back reads the state, and does the duty again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::agreed::Agreed;
use super::capture::{self, Captured};
use super::claims::PlanKey;
use super::fights::Fights;
use super::hand_back;
use super::interest;
use super::objects::{Objects, Unresolved};
use super::offer;
use super::record;
use super::served::Resource;
use super::shared::Shared;
use super::tidings;
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::machine::{self, Duty, Event};
use crate::model::{HoldCause, Plan, PlanStatus};
use crate::plan::{API_VERSION, KIND, digest, from_value};

/// What to do with a plan after a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// There is nothing to do until the plan or its Rollout changes.
    Rest,
    /// Look again as soon as everything that is claimed is known.
    Examined,
    /// Look again after so long, or when something happens.
    Wait(Duration),
    /// Look again after so long, or when the plan or its Rollout changes; not when objects do, which somebody else writes all
    /// the time.
    Pause(Duration),
}

/// The longest time between two looks at a release that waits: watches tell sooner, where there are any.
const LOOK: Duration = Duration::from_mins(1);
/// The same for a release that is held before its first write: no watch tells of a right, a definition or another controller.
const LOOK_HELD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// One plan, attended to.
pub(super) struct Attendance {
    pub(super) shared: Arc<Shared>,
    pub(super) key: PlanKey,
    pub(super) address: String,
    /// The object without spec and status.
    pub(super) object: Value,
    /// The object's own plan.
    pub(super) own: Result<Arc<Plan>, String>,
    pub(super) own_digest: String,
    pub(super) status: PlanStatus,
    /// The plan that runs, under the name by which it is kept.
    pub(super) running: Option<(String, Arc<Captured>)>,
    pub(super) rollout: Option<Value>,
    objects: Option<(Arc<Plan>, Arc<Objects>)>,
    pub(super) agreed: Agreed,
    /// Events that are on their way.
    pub(super) telling: Option<JoinHandle<()>>,
    pub(super) fights: Fights,
    /// Whether somebody overwrites again and again what is written.
    pub(super) is_fighting: bool,
    failures: u32,
    pub(super) told_problem: Option<String>,
    /// Whether everything that is claimed is known, so that something new may be claimed.
    pub(super) may_check: bool,
    /// Whether what this plan claims is entered.
    pub(super) has_looked: bool,
}

/// What only a person can cure is recorded, wherever on the way it came up.
fn told(done: Result<Option<Event>, Trouble>) -> Result<Option<Event>, Trouble> {
    match done {
        Err(trouble) if trouble.is_permanent() => Ok(Some(Event::Failed { reason: trouble.to_string(), permanent: true })),
        done => done,
    }
}

/// Where plans are.
pub(super) fn plans() -> Resource {
    Resource::known(API_VERSION, KIND, "rolloutplans")
}

impl Attendance {
    /// Attends to the plan of that key.
    pub(super) fn new(shared: Arc<Shared>, key: PlanKey) -> Self {
        let address = plans().one(&key.namespace, &key.name);
        Self {
            shared,
            key,
            address,
            object: Value::Null,
            own: Err(String::new()),
            own_digest: String::new(),
            status: PlanStatus::default(),
            running: None,
            rollout: None,
            objects: None,
            agreed: Agreed::default(),
            telling: None,
            fights: Fights::default(),
            is_fighting: false,
            failures: 0,
            told_problem: None,
            may_check: false,
            has_looked: false,
        }
    }

    /// Reads the plan and enters what it claims. Returns whether it exists.
    pub(super) async fn look(&mut self) -> Result<bool, Trouble> {
        let Some(mut object) = self.shared.api.get(&self.address).await? else {
            self.has_looked = true;
            self.shared.claims.release(&self.key);
            self.shared.interests.clear(&self.key);
            self.shared.interests.release(&self.key.namespace);
            self.shared.metrics.changed_phase(Some(&self.phase()).filter(|_| self.object.is_object()).map(String::as_str), None);
            return Ok(false);
        };
        // Who wrote which field of a plan is longer than the plan.
        object.pointer_mut("/metadata").and_then(Value::as_object_mut).and_then(|metadata| metadata.remove("managedFields"));
        let known = self.object.is_object().then(|| self.phase());
        let status = record::read(&object);
        if let Ok(status) = &status {
            self.status = status.clone();
        }
        let spec_is_known = offer::generation(&self.object) == offer::generation(&object) && self.own.is_ok();
        let annotated = |object: &Value| object.pointer("/metadata/annotations/rollout.dev~1digest").cloned();
        if !spec_is_known || annotated(&self.object) != annotated(&object) {
            self.own = from_value(plan_of(&mut object)).map(Arc::new).map_err(|error| error.to_string());
            self.own_digest = self.own.as_ref().map(|plan| digest(&plan.spec)).unwrap_or_default();
        }
        if let Err(problem) = status {
            self.own = Err(problem);
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("spec");
            fields.remove("status");
            fields.insert("apiVersion".into(), json!(API_VERSION));
            fields.insert("kind".into(), json!(KIND));
        }
        self.object = object;
        self.shared.metrics.changed_phase(known.as_deref(), Some(&self.phase()));
        self.load().await?;
        if !self.status.claims.is_empty()
            && let Some(plan) = self.plan()
            && let Ok(objects) = self.objects(&plan).await
        {
            self.shared.claims.enter(&self.key, &objects);
        }
        self.has_looked = true;
        Ok(true)
    }

    /// Does all that can be done now.
    pub(super) async fn pass(&mut self, interrupted: impl Fn() -> bool) -> Result<Next, Trouble> {
        let next = self.act(interrupted).await;
        self.told().await;
        next
    }

    async fn act(&mut self, interrupted: impl Fn() -> bool) -> Result<Next, Trouble> {
        if !self.look().await? {
            return Ok(Next::Rest);
        }
        if is_terminating(&self.object) && !self.status.is_at_rest() && self.namespace_is_going().await? {
            // All of it goes: there is nothing to restore, and nobody may write any more.
            tracing::info!(plan = %self.key, "the namespace is being deleted");
            hand_back::finalizer(&self.shared.api, &self.address, false).await?;
            self.shared.claims.release(&self.key);
            self.shared.interests.clear(&self.key);
            return Ok(Next::Rest);
        }
        let Some(plan) = self.plan() else { return self.refuse().await };
        self.rollout = self.read_rollout(&plan).await?;
        let before = self.status.clone();
        self.happenings(&plan).await?;
        self.apply(&Event::Tick);
        self.record(&before).await?;
        while let Some(event) = told(self.duty().await)? {
            let before = self.status.clone();
            let is_failure = matches!(event, Event::Failed { .. });
            let is_over = matches!(event, Event::HandedBack { .. });
            self.apply(&event);
            if is_over && let Ok(plan) = self.own.clone() {
                // At once, so that another release begins without a rest between.
                self.offer(&plan).await?;
            }
            let is_changed = self.status != before;
            self.record(&before).await?;
            if is_failure {
                self.failures += 1;
                break;
            }
            self.failures = 0;
            if !is_changed {
                break;
            }
            if interrupted() {
                return Ok(Next::Wait(Duration::ZERO));
            }
        }
        if !self.publish(&plan).await? {
            return Ok(Next::Wait(Duration::ZERO));
        }
        if self.waits_for_others() {
            return Ok(Next::Examined);
        }
        Ok(self.next())
    }

    /// Whether the next duty is a check that has to wait until everything that is claimed is known.
    pub(super) fn waits_for_others(&self) -> bool {
        !self.may_check && self.plan().is_some_and(|plan| matches!(machine::duty(&plan, &self.status), Duty::Check { .. }))
    }

    /// The plan that goes into the machine: the one that runs, else the object's own.
    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
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
        let objects = Arc::new(Objects::of(plan, &self.shared.api, &self.shared.served).await?);
        self.objects = Some((Arc::clone(plan), Arc::clone(&objects)));
        Ok(objects)
    }

    pub(super) fn apply(&mut self, event: &Event) {
        if let Some(plan) = self.plan() {
            self.status = machine::next(&plan, &self.status, event, Timestamp::now());
        }
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

    /// Records the status if it has changed, and tells what is worth telling.
    async fn record(&mut self, before: &PlanStatus) -> Result<(), Trouble> {
        if self.status == *before {
            return Ok(());
        }
        let known = format!("{:?}", before.phase);
        self.write_status().await?;
        self.shared.metrics.changed_phase(Some(&known), Some(&self.phase()));
        if let Some(last) = self.status.last.as_ref().filter(|last| before.last.as_ref() != Some(last)) {
            self.shared.metrics.ended(&format!("{:?}", last.outcome));
        }
        self.announce(tidings::between(before, &self.status)).await;
        if self.status.is_at_rest() {
            self.shared.claims.release(&self.key);
            self.shared.interests.release(&self.key.namespace);
        }
        Ok(())
    }

    pub(super) async fn write_status(&mut self) -> Result<(), Trouble> {
        let version = self.object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let written = match record::write(&self.shared.api, &self.address, &version, &self.status).await {
            Ok(written) => written,
            // Deleted, and nothing held it back any more.
            Err(Trouble::NotFound(_)) => return Ok(()),
            Err(trouble) => return Err(trouble),
        };
        self.object["metadata"]["resourceVersion"] = json!(written.metadata.resource_version);
        if let Some(finalizers) = written.metadata.finalizers {
            self.object["metadata"]["finalizers"] = json!(finalizers);
        }
        Ok(())
    }

    fn phase(&self) -> String {
        format!("{:?}", self.status.phase)
    }

    /// When to look again, and what should wake us before.
    fn next(&mut self) -> Next {
        let Some(plan) = self.plan().filter(|_| !self.status.is_at_rest()) else {
            self.shared.interests.clear(&self.key);
            return Next::Rest;
        };
        let held = self.status.cursor.as_ref().and_then(|cursor| Some((cursor.since, cursor.hold.as_ref()?)));
        if held.is_some_and(|(_, hold)| hold.cause == HoldCause::Forbidden) {
            // What may not be read cannot be watched.
            self.shared.interests.clear(&self.key);
        } else {
            self.shared.interests.set(&self.key, interest::of(&plan, self.objects.as_ref().map(|(_, objects)| &**objects)));
        }
        let mut wait = held.map_or(LOOK, |(since, _)| {
            // Often at first, when somebody is likely to be at it, then ever more rarely.
            let time = Duration::try_from(Timestamp::now().duration_since(since)).unwrap_or_default();
            (time / 4).clamp(LOOK_HELD.0, LOOK_HELD.1)
        });
        if self.failures > 0 {
            let is_permanent = self.status.failure.as_ref().is_some_and(|failure| failure.permanent);
            wait = if is_permanent { LOOK } else { Duration::from_millis(250) * 2_u32.pow(self.failures.min(7)) };
        }
        if let Some(at) = machine::wake_at(&plan, &self.status) {
            let left = at.duration_since(Timestamp::now());
            let left = Duration::try_from(left).unwrap_or(Duration::ZERO);
            // A moment later rather than a moment too early.
            wait = wait.min(left + Duration::from_millis(5));
        }
        if self.is_fighting { Next::Pause(wait) } else { Next::Wait(wait) }
    }
}

/// Takes the plan out of its object, so that it is not held twice.
fn plan_of(object: &mut Value) -> Value {
    let mut plan = serde_json::Map::new();
    for field in ["apiVersion", "kind", "metadata"] {
        plan.extend(object.get(field).map(|value| (field.to_owned(), value.clone())));
    }
    plan.extend(object.as_object_mut().and_then(|fields| fields.remove_entry("spec")));
    Value::Object(plan)
}
