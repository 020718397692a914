//! One plan, attended to: what is recorded and what stands in the cluster go into the machine, its duty comes out.
//!
//! The state is recorded before a duty is done that depends on it (`machine::records_first`), and when there is nothing more to do.
//! Whoever comes back reads the state, and does the duty again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::agreed::Agreed;
use super::bell::Heard;
use super::capture::Captured;
use super::claims::PlanKey;
use super::fights::Fights;
use super::hand_back;
use super::interest;
use super::limits::Lane;
use super::objects::Objects;
use super::reads::Reads;
use super::record;
use super::room::Place;
use super::served::Resource;
use super::shared::Shared;
use super::trouble::Trouble;
use super::unknown::Unknown;
use super::write::is_terminating;
use crate::machine::{self, Duty, Event};
use crate::model::{HoldCause, Part, Plan, PlanStatus};
use crate::plan::{API_VERSION, KIND};

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

/// The longest time between two looks at a release that waits: watches tell sooner, where there are any. Then all of it is read again.
const LOOK: Duration = Duration::from_mins(1);
/// The same for a release that waits for a person or for a time.
const LOOK_GATED: Duration = Duration::from_mins(10);
/// The same for a release that is held before its first write: no watch tells of a right, a definition or another controller.
const LOOK_HELD: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));

/// One plan, attended to.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the plan, and they do not depend on each other")]
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
    /// What another version of the agent has written into the status.
    pub(super) unknown: Unknown,
    /// The status as the cluster has it.
    pub(super) recorded: PlanStatus,
    /// When nothing but words was recorded last.
    pub(super) reworded: Option<Instant>,
    /// The plan that runs, under the name by which it is kept.
    pub(super) running: Option<(String, Arc<Captured>)>,
    pub(super) rollout: Option<Value>,
    pub(super) objects: Option<(Arc<Plan>, Arc<Objects>)>,
    pub(super) agreed: Agreed,
    /// Events that are on their way.
    pub(super) telling: Option<JoinHandle<()>>,
    pub(super) fights: Fights,
    /// Whether somebody overwrites again and again what is written.
    pub(super) is_fighting: bool,
    failures: u32,
    /// How often in a row a pass could not be ended.
    pub(super) troubled: u32,
    /// What was told about the plan's content, and about the request in its annotation.
    pub(super) told_problem: Option<String>,
    pub(super) told_request: Option<String>,
    /// Why the status cannot be read.
    pub(super) unreadable: Option<String>,
    /// Why what is kept of the release cannot be used.
    pub(super) unusable: Option<String>,
    /// Whether everything that is claimed is known, so that something new may be claimed.
    pub(super) may_check: bool,
    /// Whether this agent has written the status since it began to attend to the plan.
    pub(super) has_written: bool,
    /// The other agent that was told of.
    pub(super) told_other: Option<String>,
    /// Whether what this plan claims is entered.
    pub(super) has_looked: bool,
    /// The room that its content takes. Absent while there is none.
    pub(super) place: Option<Place>,
    /// How long the text of its object was.
    pub(super) length: usize,
    /// Whether the object has to be read again.
    pub(super) is_stale: bool,
    /// When everything was read last.
    looked: Option<Instant>,
    /// Whether its release goes back, also while its content is not here.
    pub(super) goes_back: bool,
    /// Whether anything was kept of a release when it was looked at last: also while nothing of the plan is in memory.
    pub(super) has_kept: bool,
    /// Whether it is held before its first write, also while its content is not here.
    pub(super) is_held: bool,
}

/// What only a person can cure is an event like others: it is recorded.
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
    /// Attends to the plan of that key, which has read that much of the cluster.
    pub(super) fn new(shared: &Shared, key: PlanKey, reads: Arc<Reads>) -> Self {
        let address = plans().one(&key.namespace, &key.name);
        Self {
            shared: Arc::new(shared.for_plan(reads)),
            key,
            address,
            object: Value::Null,
            own: Err(String::new()),
            own_digest: String::new(),
            status: PlanStatus::default(),
            unknown: Unknown::default(),
            recorded: PlanStatus::default(),
            reworded: None,
            running: None,
            rollout: None,
            objects: None,
            agreed: Agreed::default(),
            telling: None,
            fights: Fights::default(),
            is_fighting: false,
            failures: 0,
            troubled: 0,
            told_problem: None,
            told_request: None,
            unreadable: None,
            unusable: None,
            may_check: false,
            has_written: false,
            told_other: None,
            has_looked: false,
            place: None,
            length: 0,
            is_stale: true,
            looked: None,
            goes_back: false,
            has_kept: false,
            is_held: false,
        }
    }

    /// A pass is about to begin, in that lane.
    pub(super) fn wake(&mut self, lane: Lane, heard: Heard) {
        self.shared.api.set_lane(lane);
        let is_long_ago = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        self.is_stale |= heard.plan || is_long_ago;
        if is_long_ago {
            self.looked = Some(Instant::now());
            self.shared.api.forget_all();
        }
        self.shared.api.begin_pass();
    }

    /// Whether its content is in memory.
    pub(super) fn is_loaded(&self) -> bool {
        self.place.is_some()
    }

    /// Lets go of everything that the cluster has. What was told, how often it failed and who fights with it is kept.
    pub(super) fn unload(&mut self) {
        self.shared.api.forget_all();
        self.object = Value::Null;
        self.own = Err(String::new());
        self.own_digest = String::new();
        self.status = PlanStatus::default();
        self.recorded = PlanStatus::default();
        self.unknown = Unknown::default();
        self.running = None;
        self.rollout = None;
        self.objects = None;
        self.agreed = Agreed::default();
        self.place = None;
        self.is_stale = true;
    }

    /// Does all that can be done now.
    pub(super) async fn pass(&mut self, interrupted: impl Fn() -> bool) -> Result<Next, Trouble> {
        let next = match self.act(interrupted).await {
            Ok(next) => self.show(next).await,
            Err(trouble) => self.suffer(trouble).await,
        };
        self.told().await;
        self.is_stale |= next.is_err();
        self.goes_back = self.is_going_back();
        // A pass that failed may have read nothing.
        self.has_kept = self.status.captured.is_some() || (self.has_kept && next.is_err());
        self.is_held = self.status.captured.is_none() && self.status.cursor.as_ref().is_some_and(|cursor| cursor.hold.is_some());
        next
    }

    /// Returns when to look again; `None`: as the state says.
    async fn act(&mut self, interrupted: impl Fn() -> bool) -> Result<Option<Next>, Trouble> {
        if !self.look().await? {
            return Ok(Some(Next::Rest));
        }
        let has_begun = !self.status.is_at_rest() || self.unreadable.is_some();
        if is_terminating(&self.object) && has_begun && self.namespace_is_going().await? {
            // All of it goes: there is nothing to restore, and nobody may write any more.
            tracing::info!(plan = %self.key, "the namespace is being deleted");
            hand_back::finalizer(&self.shared.api, &self.address, false).await?;
            self.shared.claims.release(&self.key);
            self.shared.interests.clear(&self.key);
            return Ok(Some(Next::Rest));
        }
        self.tell_of_another().await;
        if let Some(problem) = self.unreadable.clone() {
            return self.leave(&problem).await.map(Some);
        }
        if let Some(problem) = self.unusable.clone() {
            return self.stand_still(&problem).await.map(Some);
        }
        let Some(plan) = self.plan() else { return self.refuse().await.map(Some) };
        self.hear(&plan).await?;
        while let Some(event) = self.next_event().await? {
            let before = self.status.clone();
            let is_failure = matches!(event, Event::Failed { .. });
            let is_over = matches!(event, Event::HandedBack { .. });
            self.apply(&event);
            let mut offered = Ok(());
            if is_over && let Ok(plan) = self.own.clone() {
                // At once, so that another release begins without a rest between.
                offered = self.offer(&plan).await;
            }
            if is_failure || is_over {
                self.record().await?;
            }
            offered?;
            if is_failure {
                self.failures += 1;
                break;
            }
            self.failures = 0;
            if self.status == before {
                break;
            }
            if interrupted() {
                self.record().await?;
                return Ok(Some(Next::Wait(Duration::ZERO)));
            }
        }
        self.record_at_the_end().await?;
        Ok(None)
    }

    /// Does the duty of the state that was reached, which is recorded first where the duty depends on it.
    async fn next_event(&mut self) -> Result<Option<Event>, Trouble> {
        if let Some(plan) = self.plan()
            && machine::records_first(&plan, &self.recorded, &self.status)
        {
            self.record().await?;
        }
        told(self.duty().await)
    }

    /// Hears what has happened outside. What could not be read stops a release, but not its way back.
    async fn hear(&mut self, plan: &Arc<Plan>) -> Result<(), Trouble> {
        let read = self.read_rollout(plan).await;
        let sees_rollout = read.is_ok();
        let unseen = read.map(|rollout| self.rollout = rollout).err();
        if !self.is_by_our_clock() {
            self.apply(&Event::TakenOver);
        }
        let missed = self.happenings(plan, sees_rollout).await.err().or(unseen);
        if missed.is_none() && matches!(machine::duty(plan, &self.status), Duty::Nothing) {
            // Nothing else will say that it is over.
            self.status.failure = None;
        }
        self.apply(&Event::Tick);
        if missed.is_some() {
            self.record().await?;
        }
        match missed {
            Some(trouble) if trouble != Trouble::NotLeader && self.is_going_back() => {
                tracing::warn!(plan = %self.key, %trouble, "passed over on the way back");
                Ok(())
            }
            Some(trouble) => Err(trouble),
            None => Ok(()),
        }
    }

    /// Shows in the Rollout where the release stands. Nothing of it depends on that.
    async fn show(&mut self, next: Option<Next>) -> Result<Next, Trouble> {
        self.troubled = 0;
        self.forget_request().await?;
        if let Some(next) = next {
            return Ok(next);
        }
        // Words that are recorded in a moment are shown then.
        if self.status == self.recorded
            && let Some(plan) = self.plan()
            && !self.publish(&plan).await?
        {
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

    pub(super) fn apply(&mut self, event: &Event) {
        if let Some(plan) = self.plan() {
            self.status = machine::next(&plan, &self.status, event, Timestamp::now());
        }
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
        let waits_long = self.status.cursor.as_ref().is_some_and(|cursor| cursor.part == Part::Gate) || self.status.suspended.is_paused();
        let look = if waits_long { LOOK_GATED } else { LOOK };
        let mut wait = held.map_or(look, |(since, _)| {
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
        if let Some(reworded) = self.reworded.filter(|_| self.status != self.recorded) {
            wait = wait.min((reworded + record::REWORDED).duration_since(Instant::now()));
        }
        if self.is_fighting { Next::Pause(wait) } else { Next::Wait(wait) }
    }
}
