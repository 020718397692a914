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
    /// What the step asks for; how many pods that is, the cluster says.
    pub(super) wanted: Replicas,
    /// How many pods that is of the replicas in git.
    pub(super) in_git: Option<u32>,
}

impl Canary {
    /// Whether it has no fewer pods than `before` had, however many the workload has: it has one at least.
    fn is_never_smaller(&self, before: &Self) -> bool {
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

/// Whether pods may go that the traffic of `from` still needs. Where only the cluster knows which step has more of them, traffic
/// that grows tells that the pods are to come first: as many as it needs in the end are enough for what there is until then. Where
/// the traffic cannot be compared either, the replicas in git are the best guess.
fn traffic_goes_first(from: &State, to: &State) -> bool {
    let (Some(before), Some(now)) = (&from.canary, &to.canary) else { return false };
    if now.is_never_smaller(before) {
        return false;
    }
    let grows = match (from.share, to.share) {
        (Some(before), Some(now)) => now >= before,
        (Some(_) | None, None) | (None, Some(_)) => now.in_git.zip(before.in_git).is_some_and(|(now, before)| now >= before),
    };
    from.splits && !grows
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

/// The stages that there are. What an earlier one has written already is not written again; what only waits stays.
fn in_order(stages: impl IntoIterator<Item = Option<Stage>>) -> Vec<Stage> {
    let mut done: Vec<Stage> = Vec::new();
    for mut stage in stages.into_iter().flatten() {
        let only_waits = stage.write.is_empty() && stage.remove.is_empty();
        stage.write.retain(|version| {
            let mut written = done.iter().rev().flat_map(|stage| &stage.write);
            written.find(|known| known.object() == version.object()) != Some(version)
        });
        if only_waits || !stage.write.is_empty() || !stage.remove.is_empty() {
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
        let pods = self.reached([self.canary(), self.canary_service()], self.wanted());
        in_order([self.held()].into_iter().chain(pods).chain([self.definitions(), self.routes()]))
    }

    fn outwards(&self) -> Vec<Stage> {
        in_order([self.routes(), self.definitions(), self.canary_service(), self.service(), self.canary(), self.autoscaler()])
    }

    /// Traffic first, then pods. From a state without routing the new version has to be told apart before.
    fn downwards(&self) -> Vec<Stage> {
        let traffic = if self.is_first_split() { [self.definitions(), self.routes()] } else { [self.routes(), self.definitions()] };
        // The pods that the traffic comes to are still those of the state before: where they may be fewer than the step has, as many
        // as that would never come.
        let at_least = if self.has_enough() { self.wanted() } else { Some(Replicas::Count(1)) };
        let before = self.reached([self.canary_service()], at_least.filter(|_| self.is_first_split()));
        let pods = self.canary().map(|stage| self.reached([Some(stage)], self.wanted())).unwrap_or_default();
        in_order([self.held()].into_iter().chain(before).chain(traffic).chain(pods))
    }

    /// The pods of the state to reach.
    fn wanted(&self) -> Option<Replicas> {
        self.to.canary.as_ref().map(|canary| canary.wanted)
    }

    /// Whether some state to begin in does not tell the versions apart, so that the first traffic is still to come.
    fn is_first_split(&self) -> bool {
        self.from.iter().any(|state| !state.splits)
    }

    /// Whether every state to begin in has at least as many pods as the one to reach, however many the workload has.
    fn has_enough(&self) -> bool {
        let Some(canary) = &self.to.canary else { return false };
        self.from.iter().all(|state| state.canary.as_ref().is_some_and(|before| before.is_never_smaller(canary)))
    }

    /// These stages of pods and their Service, and the wait for so many pods behind what the traffic is sent to: a Service learns
    /// of a pod a moment after it is ready. Where all that is written already, the wait is a stage of its own before the first traffic.
    fn reached<const N: usize>(&self, mut stages: [Option<Stage>; N], at_least: Option<Replicas>) -> Vec<Option<Stage>> {
        let wait = at_least.and_then(|at_least| self.endpoints(at_least));
        if let Some(last) = stages.iter_mut().flatten().next_back() {
            last.awaits.extend(wait);
            return stages.into();
        }
        let alone = wait.filter(|_| self.is_first_split());
        vec![alone.map(|wait| Stage { awaits: vec![wait], ..Stage::default() })]
    }

    fn endpoints(&self, at_least: Replicas) -> Option<Await> {
        if let Some(service) = &self.to.canary_service {
            return Some(Await::Endpoints { service: service.object().name().to_owned(), at_least, of: None });
        }
        let canary = self.to.canary.as_ref()?;
        // A subset has somebody only when the Service knows the pods.
        let service = self.to.shared_service.clone()?;
        Some(Await::Endpoints { service, at_least, of: Some(canary.key.object().clone()) })
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
        let ready = Await::PodsReady { workload: key.object().clone(), revision: Revision::Canary, count: None };
        stage(vec![key], Vec::new(), vec![ready])
    }

    fn canary_service(&self) -> Option<Stage> {
        if let Some(key) = self.changed(|state| state.canary_service.clone()) {
            return written([key]);
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
