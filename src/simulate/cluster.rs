//! A cluster of values: objects, and the pods that its workloads ask for.
//!
//! Writes take effect at once. A workload's controller moves its pods when the new ones are ready, which takes as long as the
//! script says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::script::ReadyAfter;
use crate::digest;
use crate::machine::later;
use crate::model::ObjectKey;

/// Where in a workload the pods' template is.
const TEMPLATE: &str = "/spec/template";
/// More seconds than anybody waits for a pod to be available: the workload is held in the middle on purpose.
const HELD: u64 = 1_000_000_000;
/// The kind that scales a workload.
const AUTOSCALER: &str = "HorizontalPodAutoscaler";
/// How many nodes there are, each with one pod of a DaemonSet.
const NODES: u32 = 3;
/// More pods than any workload has.
const MOST_PODS: u32 = 1_000_000;

/// Pods of one template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pods {
    /// The template.
    pub(super) template: Value,
    /// How many are ready.
    pub(super) ready: u32,
}

/// What a workload's controller does.
#[derive(Debug, Clone, Default)]
struct Workload {
    /// Ready pods by the hash of their template.
    pods: BTreeMap<String, Pods>,
    /// When what is asked for is reached; absent where it is, or where it never will be.
    ready_at: Option<Timestamp>,
    /// Whether what is asked for is not there yet.
    moves: bool,
    asked: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) objects: BTreeMap<ObjectKey, Value>,
    /// Who wrote an object last.
    pub(super) writers: BTreeMap<ObjectKey, String>,
    /// How often anything has changed.
    pub(super) changes: u64,
    workloads: BTreeMap<ObjectKey, Workload>,
    ready_after: ReadyAfter,
    of_workload: BTreeMap<ObjectKey, ReadyAfter>,
}

impl Cluster {
    /// A cluster in which these objects have existed for long.
    pub(super) fn new(objects: BTreeMap<ObjectKey, Value>, ready_after: ReadyAfter, now: Timestamp) -> Self {
        let (writers, workloads, of_workload) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut cluster = Self { objects, writers, changes: 0, workloads, ready_after, of_workload };
        for (key, object) in cluster.objects.clone() {
            let object = cluster.with_replicas(&key, object);
            cluster.objects.insert(key, object);
        }
        for key in cluster.objects.keys().cloned().collect::<Vec<_>>() {
            cluster.observe(&key, now);
            if let Some(workload) = cluster.workloads.get_mut(&key) {
                workload.ready_at = Some(now);
            }
        }
        cluster.pass(now);
        cluster
    }

    /// Writes an object, whole.
    pub(super) fn write(&mut self, key: &ObjectKey, object: Value, manager: &str, now: Timestamp) {
        let object = self.with_replicas(key, object);
        if self.objects.get(key) == Some(&object) {
            return;
        }
        self.changes += 1;
        self.objects.insert(key.clone(), object);
        self.writers.insert(key.clone(), manager.to_owned());
        self.observe(key, now);
    }

    /// The object with the number of pods that a cluster would fill in: as many as an autoscaler has at the least, else the API
    /// server's one.
    fn with_replicas(&self, key: &ObjectKey, mut object: Value) -> Value {
        let is_counted = object.pointer(TEMPLATE).is_some() && object["kind"] != "DaemonSet" && object.pointer("/spec/selector").is_some();
        if !is_counted || object.pointer("/spec/replicas").is_some_and(|replicas| !replicas.is_null()) {
            return object;
        }
        let scales = |it: &&Value| it.pointer("/spec/scaleTargetRef/name").is_some_and(|name| *name == key.name());
        let mut autoscalers = self.objects.iter().filter(|(it, _)| it.plain_kind() == AUTOSCALER).map(|(_, object)| object);
        let least = autoscalers.find(scales).and_then(|it| it.pointer("/spec/minReplicas")?.as_u64());
        object["spec"]["replicas"] = least.filter(|least| *least > 0).unwrap_or(1).into();
        object
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        self.changes += 1;
        self.workloads.remove(key);
        self.writers.remove(key);
        self.objects.remove(key).is_some()
    }

    /// The controller of a workload sees what is asked for.
    fn observe(&mut self, key: &ObjectKey, now: Timestamp) {
        let Some(object) = self.objects.get(key) else { return };
        if object.pointer(TEMPLATE).is_none() || object.pointer("/spec/selector").is_none() {
            return;
        }
        let delay = self.delay(key);
        let object = object.clone();
        let workload = self.workloads.entry(key.clone()).or_default();
        let wanted = wanted(&object, &workload.pods);
        workload.moves = counts(&workload.pods) != wanted;
        workload.asked = now;
        let only_shrinks = wanted.iter().all(|(hash, count)| workload.pods.get(hash).map_or(0, |pods| pods.ready) >= *count);
        workload.ready_at = match (workload.moves, delay.seconds()) {
            (true, _) if only_shrinks => Some(now),
            (true, Some(seconds)) => Some(later(now, seconds)),
            (true, None) | (false, _) => None,
        };
    }

    fn delay(&self, key: &ObjectKey) -> ReadyAfter {
        self.of_workload.get(key).copied().unwrap_or(self.ready_after)
    }

    /// From now on pods take so long.
    pub(super) fn set_delay(&mut self, workload: Option<&ObjectKey>, delay: ReadyAfter, now: Timestamp) {
        if let Some(workload) = workload {
            self.of_workload.insert(workload.clone(), delay);
        } else {
            self.ready_after = delay;
            self.of_workload.clear();
        }
        let moving: Vec<ObjectKey> = self.workloads.iter().filter(|(_, it)| it.moves).map(|(key, _)| key.clone()).collect();
        for key in moving {
            let delay = self.delay(&key).seconds();
            if let Some(workload) = self.workloads.get_mut(&key) {
                workload.ready_at = delay.map(|seconds| later(workload.asked, seconds).max(now));
            }
        }
    }

    /// The ready pods of a workload are no longer ready.
    pub(super) fn crash(&mut self, key: &ObjectKey, now: Timestamp) -> bool {
        let Some(workload) = self.workloads.get_mut(key) else { return false };
        self.changes += 1;
        for pods in workload.pods.values_mut() {
            pods.ready = 0;
        }
        self.observe(key, now);
        true
    }

    /// What controllers have reached by now, in words.
    pub(super) fn pass(&mut self, now: Timestamp) -> Vec<String> {
        let mut news = Vec::new();
        for (key, workload) in &mut self.workloads {
            if workload.ready_at.is_none_or(|at| at > now) {
                continue;
            }
            let Some(object) = self.objects.get(key) else { continue };
            let template = object.pointer(TEMPLATE).cloned().unwrap_or_default();
            let current = hash(&template);
            let wanted = wanted(object, &workload.pods);
            workload.pods.entry(current).or_insert(Pods { template, ready: 0 });
            for (hash, pods) in &mut workload.pods {
                pods.ready = wanted.get(hash).copied().unwrap_or_default();
            }
            workload.pods.retain(|_, pods| pods.ready > 0);
            workload.ready_at = None;
            workload.moves = false;
            self.changes += 1;
            let ready: u32 = workload.pods.values().map(|pods| pods.ready).sum();
            news.push(format!("{key}: {ready} {} ready", if ready == 1 { "pod" } else { "pods" }));
        }
        news
    }

    /// When controllers reach something next.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.workloads.values().filter_map(|workload| workload.ready_at).min()
    }

    /// The ready pods of a workload, by the hash of their template.
    pub(super) fn pods(&self, key: &ObjectKey) -> impl Iterator<Item = (&String, &Pods)> {
        self.workloads.get(key).into_iter().flat_map(|workload| &workload.pods)
    }

    /// Whether a workload's controller has reached what is asked for.
    pub(super) fn is_settled(&self, key: &ObjectKey) -> bool {
        self.workloads.get(key).is_some_and(|workload| !workload.moves)
    }

    /// Whether a workload's controller is on its way to what is asked for.
    pub(super) fn is_moving(&self, key: &ObjectKey) -> bool {
        self.workloads.get(key).is_some_and(|workload| workload.moves)
    }

    /// The pods that a workload's template asks for, and how many of them are ready.
    pub(super) fn newest(&self, key: &ObjectKey) -> (u32, u32) {
        let Some(object) = self.objects.get(key) else { return (0, 0) };
        let hash = object.pointer(TEMPLATE).map(hash).unwrap_or_default();
        let workload = self.workloads.get(key);
        let wanted = workload.map(|workload| wanted(object, &workload.pods)).unwrap_or_default();
        let ready = workload.and_then(|workload| workload.pods.get(&hash)).map_or(0, |pods| pods.ready);
        (wanted.get(&hash).copied().unwrap_or_default(), ready)
    }

    /// The ready pods behind a Service: workload, template, how many.
    pub(super) fn behind(&self, service: &Value) -> Vec<(&ObjectKey, &Pods)> {
        let Some(selector) = service.pointer("/spec/selector").and_then(Value::as_object) else { return Vec::new() };
        let all = self.workloads.iter().flat_map(|(key, workload)| workload.pods.iter().map(move |(hash, pods)| (key, hash, pods)));
        all.filter(|(_, hash, pods)| selector.iter().all(|(label, value)| has(pods, hash, label, value)))
            .map(|(key, _, pods)| (key, pods))
            .collect()
    }
}

fn has(pods: &Pods, hash: &str, label: &str, value: &Value) -> bool {
    match label {
        "pod-template-hash" | "controller-revision-hash" => value == hash,
        _ => pods.template.pointer("/metadata/labels").and_then(|labels| labels.get(label)) == Some(value),
    }
}

/// The revision that pods of a template carry.
pub(super) fn hash(template: &Value) -> String {
    digest::of_json(template).trim_start_matches("sha256:").chars().take(10).collect()
}

fn counts(pods: &BTreeMap<String, Pods>) -> BTreeMap<String, u32> {
    pods.iter().filter(|(_, pods)| pods.ready > 0).map(|(hash, pods)| (hash.clone(), pods.ready)).collect()
}

/// How many ready pods of each template the controller works towards.
fn wanted(object: &Value, pods: &BTreeMap<String, Pods>) -> BTreeMap<String, u32> {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
    let replicas = match object.get("kind").and_then(Value::as_str) {
        Some("DaemonSet") => NODES,
        _ => number("/spec/replicas").unwrap_or(1).min(MOST_PODS),
    };
    let current = object.pointer(TEMPLATE).map(hash).unwrap_or_default();
    let share = |pointer: &str, up: bool| object.pointer(pointer).map(|value| of_replicas(value, replicas, up));
    let is_held = object.pointer("/spec/minReadySeconds").and_then(Value::as_u64).is_some_and(|seconds| seconds >= HELD);
    let (old, new) = if is_held {
        let surge = share("/spec/strategy/rollingUpdate/maxSurge", true).unwrap_or_default();
        let unavailable = share("/spec/strategy/rollingUpdate/maxUnavailable", false).unwrap_or_default();
        let old = replicas.saturating_sub(unavailable);
        (old, replicas.saturating_add(surge).saturating_sub(old))
    } else {
        let partition =
            share("/spec/updateStrategy/rollingUpdate/partition", true).or_else(|| share("/spec/updateStrategy/partition", true));
        let old = partition.unwrap_or_default().min(replicas);
        (old, replicas - old)
    };
    let mut wanted = BTreeMap::new();
    let mut left = old;
    for (hash, pods) in pods.iter().filter(|(hash, _)| **hash != current) {
        let kept = pods.ready.min(left);
        left -= kept;
        if kept > 0 {
            wanted.insert(hash.clone(), kept);
        }
    }
    // Where there is nothing old to keep, all are new.
    let new = if pods.keys().any(|hash| *hash != current) { new } else { replicas };
    if new > 0 {
        wanted.insert(current, new);
    }
    wanted
}

/// A number, or a percentage of the replicas.
fn of_replicas(value: &Value, replicas: u32, up: bool) -> u32 {
    if let Some(number) = value.as_u64() {
        return u32::try_from(number).unwrap_or(MOST_PODS).min(MOST_PODS);
    }
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
    let hundredths = u64::from(percent) * u64::from(replicas);
    u32::try_from(if up { hundredths.div_ceil(100) } else { hundredths / 100 }).unwrap_or(MOST_PODS).min(MOST_PODS)
}

/// A map with one more field at a pointer, or without it.
pub(super) fn edited(object: &Value, pointer: &str, value: Option<Value>) -> Value {
    let values = std::iter::once((pointer.to_owned(), value)).collect();
    crate::patch::apply(object, &values)
}

/// An object that can be written, from nothing.
pub(super) fn empty() -> Value {
    json!(Map::new())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::Cluster;
    use crate::machine::later;
    use crate::model::ObjectKey;
    use crate::simulate::script::{Never, ReadyAfter};

    fn deployment(image: &str, replicas: u32) -> Value {
        json!({"kind": "Deployment", "spec": {"replicas": replicas, "selector": {}, "template": {
            "metadata": {"labels": {"app": "shop"}}, "image": image}}})
    }

    #[test]
    fn pods_are_ready_when_the_script_says_and_old_ones_go_then() {
        let key = ObjectKey::new("Deployment", "shop");
        let start = Timestamp::UNIX_EPOCH;
        let mut cluster = Cluster::new([(key.clone(), deployment("1", 4))].into(), ReadyAfter::Seconds(40), start);
        assert_eq!(cluster.newest(&key), (4, 4));
        cluster.write(&key, deployment("2", 4), "me", start);
        assert_eq!((cluster.newest(&key), cluster.next()), ((4, 0), Some(later(start, 40))));
        assert!(cluster.pass(later(start, 39)).is_empty());
        assert_eq!(cluster.pass(later(start, 40)), ["Deployment/shop: 4 pods ready"]);
        assert!(cluster.is_settled(&key));
        cluster.set_delay(None, ReadyAfter::Never(Never::Never), start);
        cluster.crash(&key, start);
        assert_eq!((cluster.next(), cluster.newest(&key)), (None, (4, 0)));
    }

    #[test]
    fn a_held_deployment_and_a_partition_keep_old_pods() {
        let key = ObjectKey::new("Deployment", "shop");
        let start = Timestamp::UNIX_EPOCH;
        let mut cluster = Cluster::new([(key.clone(), deployment("1", 10))].into(), ReadyAfter::Seconds(0), start);
        let mut held = deployment("2", 10);
        held["spec"]["minReadySeconds"] = json!(2_147_483_646);
        held["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 3, "maxUnavailable": "30%"}});
        cluster.write(&key, held, "me", start);
        cluster.pass(start);
        let ready: Vec<u32> = cluster.pods(&key).map(|(_, pods)| pods.ready).collect();
        assert_eq!((ready.iter().sum::<u32>(), cluster.newest(&key)), (13, (6, 6)));

        let mut partitioned = deployment("3", 10);
        partitioned["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": 7}});
        let key = ObjectKey::new("StatefulSet", "shop");
        cluster.write(&key, deployment("1", 10), "me", start);
        cluster.pass(start);
        cluster.write(&key, partitioned, "me", start);
        cluster.pass(start);
        assert_eq!(cluster.newest(&key), (3, 3));
    }

    #[test]
    fn a_workload_without_replicas_has_what_a_cluster_would_fill_in() {
        let key = ObjectKey::new("Deployment", "shop");
        let mut object = deployment("1", 4);
        object["spec"].as_object_mut().unwrap().remove("replicas");
        let autoscaler = |least: Value| {
            let value = json!({"kind": "HorizontalPodAutoscaler", "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "shop"}, "minReplicas": least, "maxReplicas": 9}});
            (ObjectKey::new("HorizontalPodAutoscaler", "shop"), value)
        };
        let ready = |more: Vec<(ObjectKey, Value)>| {
            let objects = std::iter::once((key.clone(), object.clone())).chain(more).collect();
            let cluster = Cluster::new(objects, ReadyAfter::Seconds(0), Timestamp::UNIX_EPOCH);
            (cluster.objects[&key]["spec"]["replicas"].clone(), cluster.newest(&key))
        };
        assert_eq!(ready(vec![]), (json!(1), (1, 1)));
        assert_eq!(ready(vec![autoscaler(json!(3))]), (json!(3), (3, 3)));
        assert_eq!(ready(vec![autoscaler(Value::Null)]), (json!(1), (1, 1)));
    }

    #[test]
    fn a_service_reaches_the_ready_pods_with_its_labels() {
        let key = ObjectKey::new("Deployment", "shop");
        let cluster = Cluster::new([(key, deployment("1", 2))].into(), ReadyAfter::Seconds(0), Timestamp::UNIX_EPOCH);
        let behind = |selector: Value| cluster.behind(&json!({"spec": {"selector": selector}})).iter().map(|it| it.1.ready).sum::<u32>();
        assert_eq!(behind(json!({"app": "shop"})), 2);
        assert_eq!(behind(json!({"app": "shop", "pod-template-hash": "other"})), 0);
    }
}
