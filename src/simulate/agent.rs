//! An agent in a cluster of values: the machine's duties, done at once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::cluster::{Cluster, edited, hash};
use super::plans::{at_paths, bound, canary, paths, workload};
use crate::machine::{Duty, Event, Offer, Workload, duty, next, runs_object};
use crate::model::{Bindings, Bypass, LateValue, ObjectKey, Plan, PlanStatus, Stage, VersionKey};
use crate::patch;
use crate::plan::digest;

/// How the agent signs what it writes.
pub(super) const MANAGER: &str = "rollout";

type Live = BTreeMap<ObjectKey, Value>;

/// What outlives the agent: the plan's object, what is recorded, and what is kept.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    /// The plan's object; absent: it is deleted.
    pub(super) object: Plan,
    pub(super) deleted: bool,
    pub(super) switches: (bool, bool),
    pub(super) status: PlanStatus,
    kept: BTreeMap<String, (Plan, Live)>,
    /// What was there when the last release ended.
    pub(super) completed: Live,
    /// Whether the release has just ended, and the plan's object is to be looked at again.
    ended: bool,
    /// When somebody else wrote an object last.
    pub(super) written_at: BTreeMap<ObjectKey, Timestamp>,
}

/// What the agent did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Did {
    /// Nothing: it waits.
    Waits,
    /// Something that nobody needs to hear of.
    Looked,
    /// This, in words.
    Acted(String),
}

impl Agent {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            object: plan,
            deleted: false,
            switches: (false, false),
            status: PlanStatus::default(),
            kept: BTreeMap::new(),
            completed: Live::new(),
            ended: false,
            written_at: BTreeMap::new(),
        }
    }

    /// The plan that is run.
    pub(super) fn plan(&self) -> &Plan {
        let captured = self.status.captured.as_ref().filter(|_| !runs_object(&self.status));
        captured.and_then(|name| self.kept.get(name)).map_or(&self.object, |(plan, _)| plan)
    }

    /// The plan whose objects are in the cluster.
    pub(super) fn written(&self) -> &Plan {
        let captured = self.status.captured.as_ref().and_then(|name| self.kept.get(name));
        captured.map_or(&self.object, |(plan, _)| plan)
    }

    fn originals(&self) -> Option<&Live> {
        self.status.captured.as_ref().and_then(|name| self.kept.get(name)).map(|(_, live)| live)
    }

    pub(super) fn tell(&mut self, event: &Event, now: Timestamp) {
        self.status = next(self.plan(), &self.status, event, now);
    }

    /// Looks at everything outside once more, as after a start.
    pub(super) fn look(&mut self, cluster: &Cluster, now: Timestamp) {
        self.ended = false;
        let (paused, disabled) = self.switches;
        self.tell(&Event::Suspended { paused, disabled }, now);
        if self.deleted {
            self.tell(&Event::Deleted, now);
        } else {
            let offer = self.offer(cluster);
            self.tell(&Event::Offered(offer), now);
        }
    }

    fn offer(&self, cluster: &Cluster) -> Offer {
        let plan = &self.object;
        let target = |key: &ObjectKey| {
            let version = plan.spec.target.iter().find(|version| version.object() == key)?;
            plan.spec.objects.get(version).map(|object| at_paths(plan, key, object))
        };
        let key = workload(plan);
        let live = key.as_ref().and_then(|key| cluster.objects.get(key).map(|live| at_paths(plan, key, live)));
        let wanted = key.as_ref().and_then(target);
        let workload = match (&key, live) {
            (Some(key), Some(live)) if Some(&live) == wanted.as_ref() => {
                let manager = cluster.writers.get(key).cloned().unwrap_or_else(|| "unknown".to_owned());
                Workload::AtTarget(Bypass { manager, at: self.written_at.get(key).copied() })
            }
            (_, Some(_)) => Workload::Elsewhere,
            (_, None) => Workload::Missing,
        };
        let original = key.as_ref().and_then(|key| self.originals()?.get(key).map(|object| at_paths(plan, key, object)));
        let running = self.plan();
        let is_covered = |object: &ObjectKey| {
            let all = paths(plan, object);
            paths(running, object).iter().all(|path| all.contains(path))
        };
        Offer {
            generation: 1,
            digest: digest(&plan.spec),
            release: plan.spec.release.clone(),
            workload,
            returns: original.is_some() && original == wanted,
            drops: !running.spec.paths.iter().all(|entry| is_covered(&entry.object)),
        }
    }

    /// Does what is due. With `dies`, it is killed in the middle: half of the writes are done, and nothing is recorded.
    pub(super) fn work(&mut self, cluster: &mut Cluster, now: Timestamp, dies: bool) -> Did {
        self.follow(cluster, now);
        let plan = self.plan().clone();
        let turn = self.status.turn;
        match duty(&plan, &self.status) {
            Duty::Nothing if self.ended => {
                self.look(cluster, now);
                Did::Looked
            }
            Duty::Nothing => Did::Waits,
            Duty::Check { purpose } => {
                let result = self.check(cluster, purpose);
                let words = match &result {
                    Ok(_) => "makes the checks before the first write".to_owned(),
                    Err(hold) => format!("holds: {}", hold.message),
                };
                let before = self.status.cursor.clone();
                self.record(&Event::Checked { turn, result }, now, dies);
                if self.status.cursor == before && !dies { Did::Waits } else { Did::Acted(words) }
            }
            Duty::Capture { .. } => {
                let name = digest(&self.object.spec);
                // What the release has changed since stays as it was kept first; what only the new rendering knows comes with it.
                let mut live = self.originals().cloned().unwrap_or_default();
                for (key, object) in &cluster.objects {
                    live.entry(key.clone()).or_insert_with(|| object.clone());
                }
                self.kept.insert(name.clone(), (self.object.clone(), live));
                self.record(&Event::Captured { turn, name }, now, dies);
                Did::Acted("keeps the plan and the live values".to_owned())
            }
            Duty::Play { stage, originals } => self.play(cluster, &plan, &stage, originals, now, dies),
            Duty::Await { stage, keep, originals } => {
                if let Some(words) = self.repair(cluster, &plan, &keep, originals, now) {
                    return Did::Acted(words);
                }
                let unmet = self.unmet(cluster, &stage);
                let before = self.status.clone();
                self.record(&Event::Awaited { turn, unmet }, now, dies);
                if self.status == before { Did::Waits } else { Did::Looked }
            }
            Duty::Assert { keep, originals } => {
                if let Some(words) = self.repair(cluster, &plan, &keep, originals, now) {
                    return Did::Acted(words);
                }
                let before = self.status.clone();
                self.record(&Event::Kept { turn }, now, dies);
                if self.status == before { Did::Waits } else { Did::Looked }
            }
            Duty::HandBack => {
                if dies {
                    return Did::Acted("hands back".to_owned());
                }
                self.completed = cluster.objects.clone();
                self.tell(&Event::HandedBack { turn }, now);
                self.kept.clear();
                self.ended = true;
                Did::Acted("hands back".to_owned())
            }
        }
    }

    /// Where pods are a share of all, hears how many those are now.
    fn follow(&mut self, cluster: &Cluster, now: Timestamp) {
        let is_bound = |plan: &Plan| plan.spec.bindings.iter().any(|binding| matches!(binding.value, LateValue::Replicas(_)));
        if self.status.captured.is_none() || !is_bound(self.plan()) {
            return;
        }
        let live = workload(self.plan()).and_then(|key| cluster.objects.get(&key));
        let replicas = live.and_then(|live| live.pointer("/spec/replicas")).and_then(Value::as_u64);
        let replicas = replicas.and_then(|replicas| u32::try_from(replicas).ok());
        if replicas.is_some() && replicas != self.status.bindings.replicas {
            self.tell(&Event::Bound(Bindings { replicas, ..Bindings::default() }), now);
        }
    }

    fn record(&mut self, event: &Event, now: Timestamp, dies: bool) {
        if !dies {
            self.tell(event, now);
        }
    }

    fn play(&mut self, cluster: &mut Cluster, plan: &Plan, stage: &Stage, originals: bool, now: Timestamp, dies: bool) -> Did {
        let turn = self.status.turn;
        let before = self.status.clone();
        if let Err(unbound) = self.bind(cluster, plan, stage, now) {
            self.tell(&Event::Failed { reason: unbound, permanent: false }, now);
            return if self.status == before { Did::Waits } else { Did::Looked };
        }
        let count = if dies { (stage.write.len() + stage.remove.len()).div_ceil(2) } else { usize::MAX };
        let mut words = Vec::new();
        for version in stage.write.iter().take(count) {
            let wanted = self.wanted(cluster, plan, version, originals);
            let verb = if cluster.objects.contains_key(version.object()) { "writes" } else { "creates" };
            if cluster.objects.get(version.object()) != Some(&wanted) {
                say(&mut words, verb, &version.object().to_string());
            }
            cluster.write(version.object(), wanted, MANAGER, now);
            self.written_at.remove(version.object());
        }
        for object in stage.remove.iter().take(count.saturating_sub(stage.write.len())) {
            if cluster.remove(object) {
                say(&mut words, "removes", &object.to_string());
            }
        }
        if let Some(evict) = &stage.evict {
            say(&mut words, "evicts old pods of", &evict.workload.to_string());
        }
        self.record(&Event::Written { turn }, now, dies);
        Did::Acted(if words.is_empty() { "finds everything as it should be".to_owned() } else { words.join("; ") })
    }

    /// Reads late values that the stage needs. Recorded before they are written.
    fn bind(&mut self, cluster: &Cluster, plan: &Plan, stage: &Stage, now: Timestamp) -> Result<(), String> {
        let needs = |status: &PlanStatus| stage.write.iter().find_map(|version| bound(plan, version, &status.bindings).err());
        if needs(&self.status).is_none() {
            return Ok(());
        }
        let new = canary(plan).or_else(|| workload(plan)).and_then(|key| cluster.objects.get(&key));
        let canary_revision = new.and_then(|object| object.pointer("/spec/template")).map(hash);
        self.tell(&Event::Bound(Bindings { canary_revision, ..self.status.bindings.clone() }), now);
        needs(&self.status).map_or(Ok(()), |unbound| Err(unbound.to_string()))
    }

    /// The live object after an exact write.
    fn wanted(&self, cluster: &Cluster, plan: &Plan, version: &VersionKey, originals: bool) -> Value {
        let key = version.object();
        let of_plan = bound(plan, version, &self.status.bindings).unwrap_or_default();
        let is_original = originals && plan.spec.baseline.contains(version);
        let captured = self.originals().filter(|_| is_original).and_then(|live| live.get(key));
        let wanted = captured.unwrap_or(&of_plan);
        match cluster.objects.get(key) {
            Some(live) => patch::apply(live, &at_paths(plan, key, wanted)),
            None => wanted.clone(),
        }
    }

    /// Puts back what somebody else changed.
    fn repair(&mut self, cluster: &mut Cluster, plan: &Plan, keep: &Stage, originals: bool, now: Timestamp) -> Option<String> {
        let mut words = Vec::new();
        for version in &keep.write {
            let wanted = self.wanted(cluster, plan, version, originals);
            if cluster.objects.get(version.object()) != Some(&wanted) {
                match cluster.writers.get(version.object()).filter(|who| *who != MANAGER) {
                    Some(who) => say(&mut words, "puts back", &format!("{}, which `{who}` had changed", version.object())),
                    // Our own: a late value has changed.
                    None if cluster.objects.contains_key(version.object()) => say(&mut words, "writes", &version.object().to_string()),
                    None => say(&mut words, "puts back", &format!("{}, which was gone", version.object())),
                }
                cluster.write(version.object(), wanted, MANAGER, now);
                self.written_at.remove(version.object());
            }
        }
        for object in &keep.remove {
            if cluster.remove(object) {
                say(&mut words, "removes", &object.to_string());
            }
        }
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Somebody else writes.
    pub(super) fn foreign(
        &mut self,
        cluster: &mut Cluster,
        key: &ObjectKey,
        edit: Option<(&str, Option<Value>)>,
        who: &str,
        now: Timestamp,
    ) -> bool {
        self.written_at.insert(key.clone(), now);
        match edit {
            None => cluster.remove(key),
            Some((pointer, value)) => {
                let Some(object) = cluster.objects.get(key) else { return false };
                let object = edited(object, pointer, value);
                let is_new = cluster.objects.get(key) != Some(&object);
                cluster.write(key, object, who, now);
                is_new
            }
        }
    }
}

/// Adds an object to a list of words with one verb.
fn say(words: &mut Vec<String>, verb: &str, object: &str) {
    match words.last_mut().filter(|last| last.starts_with(verb)) {
        Some(last) => {
            last.push_str(", ");
            last.push_str(object);
        }
        None => words.push(format!("{verb} {object}")),
    }
}
