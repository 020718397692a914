//! The machine's duties, done.

use std::sync::Arc;

use tokio::time::Instant;

use super::api::MANAGER;
use super::attend::Attendance;
use super::capture::{self, Captured};
use super::check::{self, Check};
use super::events::Kind;
use super::hand_back;
use super::late::Bound;
use super::objects::{Objects, Unresolved};
use super::observe::Sight;
use super::settled;
use super::shared::Shared;
use super::trouble::Trouble;
use super::write::{Missing, Obstacle, Originals, Writes, Wrote};
use crate::machine::{self, Duty, Event};
use crate::model::{Binding, Bindings, HoldCause, LateValue, ObjectKey, Part, Plan, Purpose, Stage, VersionKey};
use crate::patch::Difference;

impl Attendance {
    /// Does what the recorded state asks for, and returns what came of it; `None`: there is nothing to do.
    pub(super) async fn duty(&mut self) -> Result<Option<Event>, Trouble> {
        let Some(plan) = self.plan() else { return Ok(None) };
        if self.waits_for_others() {
            return Ok(None);
        }
        let turn = self.status.turn;
        match machine::duty(&plan, &self.status) {
            Duty::Nothing => Ok(None),
            Duty::Check { purpose } => self.check(purpose).await.map(Some),
            Duty::Capture { again } => self.capture(again).await.map(Some),
            Duty::Play { stage, originals } => self.play(&plan, &stage, originals).await.map(Some),
            Duty::Await { stage, keep, originals } => {
                if let Some(failed) = self.keep(&plan, &keep, originals).await? {
                    return Ok(Some(failed));
                }
                let objects = match self.objects(&plan).await {
                    Ok(objects) => objects,
                    Err(problem) => return unresolved(problem).map(Some),
                };
                let restores = self.restores();
                let sight = Sight { api: &self.shared.api, plan: &plan, objects: &objects, bindings: &self.status.bindings, restores };
                Ok(Some(Event::Awaited { turn, unmet: sight.unmet(&stage.awaits).await? }))
            }
            Duty::Assert { keep, originals } => match self.keep(&plan, &keep, originals).await? {
                Some(failed) => Ok(Some(failed)),
                None => Ok(Some(Event::Kept { turn })),
            },
            Duty::HandBack => self.hand_back(&plan).await.map(Some),
        }
    }

    async fn check(&mut self, purpose: Purpose) -> Result<Event, Trouble> {
        let turn = self.status.turn;
        let own = match self.own.clone() {
            Ok(own) => own,
            Err(problem) => return Ok(Event::Failed { reason: problem, permanent: true }),
        };
        if self.rollout.is_none() {
            let message = format!("{} does not exist: apply it beside the plan", own.spec.rollout);
            return Ok(Event::Checked { turn, result: Err(check::hold(HoldCause::Differs, message)) });
        }
        let objects = match self.objects(&own).await {
            Ok(objects) => objects,
            Err(problem) => return Ok(Event::Checked { turn, result: Err(check::unresolved(problem)?) }),
        };
        let result = self.look_before(&own, &objects, async |check| check.run(purpose).await).await?;
        Ok(Event::Checked { turn, result })
    }

    /// Lends what a check needs.
    async fn look_before<T>(&self, own: &Plan, objects: &Objects, ask: impl AsyncFnOnce(&Check<'_>) -> T) -> T {
        let writes = self.writes(own, objects, &self.status.bindings, None);
        let Shared { api, claims, granted, signs, .. } = &*self.shared;
        ask(&Check { api, claims, granted, signs, key: &self.key, plan: own, objects, status: &self.status, writes: &writes }).await
    }

    async fn capture(&mut self, again: bool) -> Result<Event, Trouble> {
        let own = match self.own.clone() {
            Ok(own) => own,
            Err(problem) => return Ok(Event::Failed { reason: problem, permanent: true }),
        };
        let objects = match self.objects(&own).await {
            Ok(objects) => objects,
            Err(problem) => return unresolved(problem),
        };
        let turn = self.status.turn;
        // A release may be as long ago as its checks: what it begins with is read once more, and from now on others keep off.
        self.shared.api.forget_all();
        if let Err(holder) = self.shared.claims.claim(&self.key, &objects) {
            return Ok(Event::Checked { turn, result: Err(check::hold(HoldCause::Claimed, holder)) });
        }
        let before = self.running.as_ref().filter(|_| again).map(|(_, captured)| captured.originals.clone());
        let originals = capture::read_originals(&self.shared.api, &objects, before.as_ref()).await?;
        let purpose = self.status.cursor.as_ref().map(|cursor| cursor.purpose);
        if purpose == Some(Purpose::Release)
            && !again
            && let Some(hold) = self.look_before(&own, &objects, async |check| check.again().await).await?
        {
            // The checks may be long ago: what somebody has changed since is not what this release begins with.
            self.shared.claims.release(&self.key);
            return Ok(Event::Checked { turn, result: Err(hold) });
        }
        self.set_finalizer(true).await?;
        let captured = Captured { plan: own, originals };
        let name = capture::keep(&self.shared.api, &captured, turn).await?;
        // From here on this is the plan that runs.
        self.running = Some((name.clone(), Arc::new(captured)));
        Ok(Event::Captured { turn, name })
    }

    /// Makes the finalizer stand on the plan, or not. Our own patch of the metadata is no change that has to be looked at.
    async fn set_finalizer(&mut self, wanted: bool) -> Result<(), Trouble> {
        let patched = hand_back::finalizer_of(&self.shared.api, &self.address, &self.object, wanted).await?;
        if let Some(written) = patched
            && written.pointer("/metadata/generation") == self.object.pointer("/metadata/generation")
        {
            for field in ["resourceVersion", "finalizers"] {
                self.object["metadata"][field] = written["metadata"][field].clone();
            }
        }
        Ok(())
    }

    async fn play(&mut self, plan: &Arc<Plan>, stage: &Stage, originals: bool) -> Result<Event, Trouble> {
        let turn = self.status.turn;
        let objects = match self.objects(plan).await {
            Ok(objects) => objects,
            Err(problem) => return unresolved(problem),
        };
        match self.bind(plan, &objects, &stage.write).await? {
            Bound::Known => {}
            Bound::News(bindings) => return Ok(Event::Bound(bindings)),
            Bound::Unknown(reason) => return Ok(Event::Failed { reason, permanent: false }),
        }
        let kept = self.originals(originals);
        let writes = self.writes(plan, &objects, &self.status.bindings, kept.as_ref());
        let mut trouble = None;
        for version in &stage.write {
            match writes.write(version).await {
                Ok(_) => {}
                Err(obstacle) => {
                    trouble = Some(obstacle);
                    break;
                }
            }
        }
        if trouble.is_none() {
            for key in &stage.remove {
                if let Err(obstacle) = writes.remove(key).await {
                    trouble = Some(obstacle);
                    break;
                }
            }
        }
        match trouble {
            Some(obstacle) => failed(obstacle),
            None if stage.evict.is_some() => {
                let reason = "this agent cannot evict pods yet; use a newer one".to_owned();
                Ok(Event::Failed { reason, permanent: true })
            }
            None => Ok(Event::Written { turn }),
        }
    }

    /// Makes what is to stay true be so; returns an event when that fails, or is a fight.
    async fn keep(&mut self, plan: &Arc<Plan>, keep: &Stage, originals: bool) -> Result<Option<Event>, Trouble> {
        let objects = match self.objects(plan).await {
            Ok(objects) => objects,
            Err(problem) => return unresolved(problem).map(Some),
        };
        let kept = self.originals(originals);
        let bindings = self.status.bindings.clone();
        let mut repaired: Vec<(ObjectKey, Option<String>, String)> = Vec::new();
        // What was ours, and is to be written again.
        let mut rewritten: Vec<(ObjectKey, String)> = Vec::new();
        let mut obstacle = None;
        {
            let writes = self.writes(plan, &objects, &bindings, kept.as_ref());
            for version in &keep.write {
                match writes.write(version).await {
                    Ok(Wrote::Same | Wrote::Gone) => {}
                    Ok(Wrote::Created) => repaired.push((version.object().clone(), None, "it was gone".to_owned())),
                    Ok(Wrote::Changed(differences)) => {
                        let fields: Vec<String> = differences.iter().take(3).map(ToString::to_string).collect();
                        let fields = fields.join("; ");
                        // What follows the number of pods is our own write, and no repair.
                        if is_our_own(&differences) {
                            if !follows_the_pods(plan, version, &differences) {
                                rewritten.push((version.object().clone(), fields));
                            }
                            continue;
                        }
                        let foreign = differences.iter().filter_map(|difference| difference.writer.as_ref());
                        let manager = foreign.map(|writer| writer.manager.clone()).find(|manager| manager != MANAGER);
                        repaired.push((version.object().clone(), manager, fields));
                    }
                    Err(found) => {
                        obstacle = Some(found);
                        break;
                    }
                }
            }
            for key in &keep.remove {
                if let Err(found) = writes.remove(key).await {
                    obstacle.get_or_insert(found);
                }
            }
        }
        let mut fight = None;
        for (object, fields) in rewritten {
            fight = self.fights.note(&object, MANAGER, &fields, Instant::now()).or(fight);
        }
        for (object, manager, fields) in repaired {
            self.shared.metrics.repaired(object.kind());
            self.tell(Kind::Warning, "Repaired", &format!("{object} was changed in mid-release, and is as the plan says again: {fields}"))
                .await;
            if let Some(manager) = manager {
                fight = self.fights.note(&object, &manager, &fields, Instant::now()).or(fight);
            }
        }
        if let Some(obstacle) = obstacle {
            return failed(obstacle).map(Some);
        }
        if fight.is_none() && !self.restores() {
            // Whoever fights is back in a moment; what is told stays until then. The way back waits for nobody.
            fight = self.fights.going_on(Instant::now()).map(str::to_owned);
        }
        self.is_fighting = fight.is_some();
        Ok(fight.map(|reason| Event::Failed { reason, permanent: true }))
    }

    async fn hand_back(&mut self, plan: &Arc<Plan>) -> Result<Event, Trouble> {
        let turn = self.status.turn;
        match self.objects(plan).await {
            Ok(objects) => {
                hand_back::managed_fields(&self.shared.api, &objects).await?;
                self.status.settled = settled::read(&self.shared.api, &objects).await?;
            }
            // Nothing was ever written, then.
            Err(Unresolved::NotServed(_) | Unresolved::NotAllowed(_)) => {}
            Err(Unresolved::Trouble(trouble)) => return Err(trouble),
        }
        hand_back::captures(&self.shared.api, &self.key).await?;
        self.set_finalizer(false).await?;
        Ok(Event::HandedBack { turn })
    }

    fn writes<'a>(&'a self, plan: &'a Plan, objects: &'a Objects, bindings: &'a Bindings, originals: Option<&'a Originals>) -> Writes<'a> {
        let missing = match self.status.cursor.as_ref().map(|cursor| cursor.part) {
            Some(Part::Abort | Part::AbortFinish) => Missing::StaysAway,
            Some(Part::Settle) => Missing::IsMade,
            Some(
                Part::Check
                | Part::Capture
                | Part::Stages
                | Part::EnterFromAbove
                | Part::Reassert
                | Part::Gate
                | Part::Finish
                | Part::HandBack,
            )
            | None => Missing::IsWaitedFor,
        };
        let Shared { api, metrics, .. } = &*self.shared;
        Writes { api, metrics, plan, objects, bindings, originals, missing, agreed: &self.agreed }
    }

    fn originals(&self, wanted: bool) -> Option<Originals> {
        self.running.as_ref().filter(|_| wanted).map(|(_, captured)| captured.originals.clone())
    }

    fn restores(&self) -> bool {
        self.status.cursor.as_ref().is_some_and(|cursor| matches!(cursor.part, Part::Abort | Part::AbortFinish))
    }
}

/// Whether all that is different was written by ourselves.
fn is_our_own(differences: &[Difference]) -> bool {
    differences.iter().all(|difference| difference.writer.as_ref().is_some_and(|writer| writer.manager == MANAGER))
}

/// Whether the differences are only numbers of pods, which change with the workload's.
fn follows_the_pods(plan: &Plan, version: &VersionKey, differences: &[Difference]) -> bool {
    let is_number = |binding: &&Binding| matches!(binding.value, LateValue::Replicas(_)) && binding.object == *version;
    let numbers: Vec<&str> = plan.spec.bindings.iter().filter(is_number).map(|binding| binding.pointer.as_str()).collect();
    differences.iter().all(|difference| numbers.contains(&difference.pointer.as_str()))
}

fn unresolved(problem: Unresolved) -> Result<Event, Trouble> {
    match problem {
        Unresolved::Trouble(trouble) => Err(trouble),
        Unresolved::NotServed(_) | Unresolved::NotAllowed(_) => Ok(Event::Failed { reason: problem.to_string(), permanent: true }),
    }
}

/// What may pass by itself is tried again, without a word at first; the rest is recorded.
fn failed(obstacle: Obstacle) -> Result<Event, Trouble> {
    let (permanent, reason) = (obstacle.is_permanent(), obstacle.to_string());
    if let Obstacle::Trouble { trouble, .. } = obstacle
        && (trouble.is_passing() || trouble == Trouble::NotLeader)
    {
        return Err(trouble.worded(reason));
    }
    Ok(Event::Failed { permanent, reason })
}
