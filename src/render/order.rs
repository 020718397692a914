//! In which order objects are written and removed, so that no request is ever sent to where nothing answers.
//!
//! On the way in pods come first and routes last; on the way out the other way round. Definitions stand under the routes
//! that point to them: written before, taken away after.

use crate::model::{Await, ObjectKey, Replicas, Revision, Stage, VersionKey, Weight};

/// What exists at one point of a release. Objects of one plan always stand in the same slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// The autoscaler, if the release holds one.
    pub(super) autoscaler: Option<VersionKey>,
    /// The stable workload.
    pub(super) workload: VersionKey,
    /// The stable Service, if the release pins it.
    pub(super) service: Option<VersionKey>,
    /// The canary workload.
    pub(super) canary: Option<Canary>,
    /// The canary Service.
    pub(super) canary_service: Option<VersionKey>,
    /// The Service that both versions stand behind, where subsets tell them apart.
    pub(super) shared_service: Option<String>,
    /// Definitions, in the order of the references.
    pub(super) definitions: Vec<Slot>,
    /// Routes, in the order of the references.
    pub(super) routes: Vec<Slot>,
    /// Whether the state tells the versions apart.
    pub(super) splits: bool,
    /// The share of all requests that the new version gets; none where only some requests are shared out, or nothing splits.
    pub(super) share: Option<Weight>,
}

/// The canary workload of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Canary {
    /// Its version.
    pub(super) key: VersionKey,
    /// What the step asks for.
    pub(super) wanted: Replicas,
    /// How many pods that is, where git knows.
    pub(super) pods: Option<u32>,
}

impl Canary {
    /// Whether it has no fewer pods than `before` had, however many the workload has: it has one at least.
    fn is_never_smaller(&self, before: &Self) -> bool {
        if let (Some(before), Some(now)) = (before.pods, self.pods) {
            return now >= before;
        }
        match (before.wanted, self.wanted) {
            (Replicas::Count(1), _) | (_, Replicas::Percent(100)) => true,
            (Replicas::Count(before), Replicas::Count(now)) => now >= before,
            (Replicas::Percent(before), Replicas::Percent(now)) => now >= before,
            (Replicas::Count(_), Replicas::Percent(_)) | (Replicas::Percent(_), Replicas::Count(_)) => false,
        }
    }
}

/// A traffic object that may be absent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    /// The object.
    pub(super) object: ObjectKey,
    /// Its version; absent: the object does not exist.
    pub(super) version: Option<VersionKey>,
    /// The condition to wait for after a write.
    pub(super) accepted: Option<(String, String)>,
}

impl State {
    /// Every object that exists, sorted by name.
    pub(super) fn versions(&self) -> Vec<VersionKey> {
        let slots = self.definitions.iter().chain(&self.routes).filter_map(|slot| slot.version.clone());
        let mut versions: Vec<VersionKey> = std::iter::once(self.workload.clone())
            .chain(self.autoscaler.clone())
            .chain(self.service.clone())
            .chain(self.canary.clone().map(|canary| canary.key))
            .chain(self.canary_service.clone())
            .chain(slots)
            .collect();
        versions.sort();
        versions
    }
}

/// The way into `to` from the step before it, or the baseline.
pub(super) fn enter(from: &State, to: &State, grace: u32) -> Vec<Stage> {
    let way = Way { from: std::slice::from_ref(from), to, grace };
    match (to.splits, traffic_goes_first(from, to)) {
        (true, false) => way.inwards(),
        (true, true) => way.downwards(),
        (false, _) => way.outwards(),
    }
}

/// Whether pods may go that the traffic of `from` still needs. Where git does not know the numbers, traffic that grows tells that
/// the pods are to come first: as many as it needs in the end are enough for what there is until then.
fn traffic_goes_first(from: &State, to: &State) -> bool {
    let (Some(before), Some(now)) = (&from.canary, &to.canary) else { return false };
    if now.is_never_smaller(before) {
        return false;
    }
    let is_known = before.pods.is_some() && now.pods.is_some();
    let grows = matches!((from.share, to.share), (Some(before), Some(now)) if now >= before);
    is_known || (from.splits && !grows)
}

/// The way into `to` from any of the later steps.
pub(super) fn enter_from_above(later: &[State], to: &State, grace: u32) -> Vec<Stage> {
    let way = Way { from: later, to, grace };
    if to.splits { way.downwards() } else { way.outwards() }
}

/// The way from the last step to the target: the stable workload takes over before anything that carries traffic goes. Until it
/// has, the stable Service has the version `both`, and selects the pods of both.
pub(super) fn finish(last: &State, target: &State, both: Option<&VersionKey>, grace: u32) -> Vec<Stage> {
    let way = Way { from: std::slice::from_ref(last), to: target, grace };
    let narrowed = target.service.as_ref().filter(|service| both != Some(service));
    in_order([
        way.both(both),
        way.workload(),
        written(narrowed.cloned()),
        way.routes(),
        way.definitions(),
        way.canary_service(),
        way.canary_gone(),
        way.autoscaler(),
    ])
}

/// The way from any step to the baseline: routes first, the pin last.
pub(super) fn abort(steps: &[State], baseline: &State, grace: u32) -> Vec<Stage> {
    in_order(Way { from: steps, to: baseline, grace }.back())
}

/// The way from within `finish`, between these states, to the baseline: the old version must be back before the routes are, and
/// the stable Service knows it while it comes.
pub(super) fn abort_finish(between: &[State; 2], baseline: &State, both: Option<&VersionKey>, grace: u32) -> Vec<Stage> {
    let way = Way { from: between, to: baseline, grace };
    let both = both.filter(|_| between[1].service != baseline.service);
    in_order([way.both(both), way.workload()].into_iter().chain(way.back()))
}

/// From one of several states to one; what is the same in all of them needs no stage.
struct Way<'a> {
    from: &'a [State],
    to: &'a State,
    grace: u32,
}

/// The stages that there are. What an earlier one has written already is not written again.
fn in_order(stages: impl IntoIterator<Item = Option<Stage>>) -> Vec<Stage> {
    let mut done: Vec<Stage> = Vec::new();
    for mut stage in stages.into_iter().flatten() {
        stage.write.retain(|version| {
            let mut written = done.iter().rev().flat_map(|stage| &stage.write);
            written.find(|known| known.object() == version.object()) != Some(version)
        });
        if !stage.write.is_empty() || !stage.remove.is_empty() {
            done.push(stage);
        }
    }
    done
}

/// The stage that writes these and waits for nothing.
fn written(versions: impl IntoIterator<Item = VersionKey>) -> Option<Stage> {
    stage(versions.into_iter().collect(), Vec::new(), Vec::new())
}

/// A stage; none where nothing is written or removed.
fn stage(write: Vec<VersionKey>, remove: Vec<ObjectKey>, awaits: Vec<Await>) -> Option<Stage> {
    let is_empty = write.is_empty() && remove.is_empty();
    (!is_empty).then_some(Stage { write, remove, evict: None, awaits })
}

impl Way<'_> {
    fn inwards(&self) -> Vec<Stage> {
        in_order([self.held(), self.canary(), self.canary_service(), self.definitions(), self.routes()])
    }

    fn outwards(&self) -> Vec<Stage> {
        in_order([self.routes(), self.definitions(), self.canary_service(), self.service(), self.canary(), self.autoscaler()])
    }

    /// Traffic first, then pods. From a state without routing the new version has to be told apart before.
    fn downwards(&self) -> Vec<Stage> {
        let traffic = if self.from.iter().any(|state| !state.splits) {
            [self.definitions(), self.routes()]
        } else {
            [self.routes(), self.definitions()]
        };
        in_order([self.held(), self.canary_service()].into_iter().chain(traffic).chain([self.canary()]))
    }

    /// Nothing of the release is left: traffic first, then pods, the pin last.
    fn back(&self) -> [Option<Stage>; 5] {
        [self.routes(), self.definitions(), self.companions_gone(), self.service(), self.autoscaler()]
    }

    /// Before anything moves: the autoscaler takes no pods away, the stable Service selects the old ones alone.
    fn held(&self) -> Option<Stage> {
        written([self.changed(|state| state.autoscaler.clone()), self.changed(|state| state.service.clone())].into_iter().flatten())
    }

    fn autoscaler(&self) -> Option<Stage> {
        written(self.changed(|state| state.autoscaler.clone()))
    }

    fn service(&self) -> Option<Stage> {
        written(self.changed(|state| state.service.clone()))
    }

    /// The stable Service selects the pods of both versions.
    fn both(&self, both: Option<&VersionKey>) -> Option<Stage> {
        let is_new = |both: &&VersionKey| self.from.iter().any(|state| state.service.as_ref() != Some(both));
        written(both.filter(is_new).cloned())
    }

    fn workload(&self) -> Option<Stage> {
        let workload = self.changed(|state| Some(state.workload.clone()))?;
        let available = Await::Available { workload: workload.object().clone() };
        stage(vec![workload], Vec::new(), vec![available])
    }

    fn canary(&self) -> Option<Stage> {
        let key = self.changed(|state| state.canary.clone().map(|canary| canary.key))?;
        let count = self.to.canary.as_ref().and_then(|canary| canary.pods);
        let ready = Await::PodsReady { workload: key.object().clone(), revision: Revision::Canary, count };
        // A subset has somebody only when the Service knows the pods, which it learns a moment after they are ready.
        let reached = self.to.shared_service.as_ref().map(|service| Await::Endpoints {
            service: service.clone(),
            at_least: 1,
            of: Some(key.object().clone()),
        });
        stage(vec![key], Vec::new(), std::iter::once(ready).chain(reached).collect())
    }

    fn canary_service(&self) -> Option<Stage> {
        if let Some(key) = self.changed(|state| state.canary_service.clone()) {
            let endpoints = Await::Endpoints { service: key.object().name().to_owned(), at_least: 1, of: None };
            return stage(vec![key], Vec::new(), vec![endpoints]);
        }
        let object = self.gone(|state| state.canary_service.as_ref())?;
        stage(Vec::new(), vec![object], Vec::new())
    }

    fn canary_gone(&self) -> Option<Stage> {
        let object = self.gone(|state| state.canary.as_ref().map(|canary| &canary.key))?;
        let gone = Await::Gone { object: object.clone() };
        stage(Vec::new(), vec![object], vec![gone])
    }

    fn companions_gone(&self) -> Option<Stage> {
        let service = self.gone(|state| state.canary_service.as_ref());
        let workload = self.gone(|state| state.canary.as_ref().map(|canary| &canary.key));
        let awaits = workload.iter().map(|object| Await::Gone { object: object.clone() }).collect();
        stage(Vec::new(), workload.into_iter().chain(service).collect(), awaits)
    }

    fn definitions(&self) -> Option<Stage> {
        let (write, remove, awaits) = self.slots(|state| &state.definitions);
        stage(write, remove, awaits)
    }

    fn routes(&self) -> Option<Stage> {
        let (write, remove, mut awaits) = self.slots(|state| &state.routes);
        if self.grace > 0 {
            awaits.push(Await::Grace(self.grace));
        }
        stage(write, remove, awaits)
    }

    fn slots(&self, slots: impl Fn(&State) -> &[Slot]) -> (Vec<VersionKey>, Vec<ObjectKey>, Vec<Await>) {
        let (mut write, mut remove, mut awaits) = (Vec::new(), Vec::new(), Vec::new());
        for (index, slot) in slots(self.to).iter().enumerate() {
            if self.from.iter().all(|state| slots(state)[index].version == slot.version) {
                continue;
            }
            match &slot.version {
                Some(version) => {
                    write.push(version.clone());
                    awaits.extend(slot.accepted.clone().map(|(kind, status)| Await::Condition {
                        object: slot.object.clone(),
                        kind,
                        status,
                    }));
                }
                None => remove.push(slot.object.clone()),
            }
        }
        (write, remove, awaits)
    }

    /// The target's version of an object, if one of the starting points has another or none.
    fn changed(&self, object: impl Fn(&State) -> Option<VersionKey>) -> Option<VersionKey> {
        let wanted = object(self.to)?;
        self.from.iter().any(|state| object(state).as_ref() != Some(&wanted)).then_some(wanted)
    }

    /// The object, if the target lacks it and one of the starting points has it.
    fn gone<'s>(&'s self, object: impl Fn(&'s State) -> Option<&'s VersionKey>) -> Option<ObjectKey> {
        if object(self.to).is_some() {
            return None;
        }
        self.from.iter().find_map(object).map(|key| key.object().clone())
    }
}
