//! What the agent reads: the checks before the first write, and what a stage waits for.

use serde_json::Value;

use super::agent::Agent;
use super::cluster::{Cluster, edited, empty, hash};
use super::plans::{at_paths, is_workload, objects_of, paths, workload};
use crate::model::{Await, Bindings, Hold, HoldCause, ObjectKey, Purpose, Revision, Stage, Style, VersionKey};
use crate::patch;

/// What `kubectl rollout restart` writes into a template, which is no release.
const RESTART: &str = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";

impl Agent {
    pub(super) fn check(&self, cluster: &Cluster, purpose: Purpose) -> Result<Bindings, Hold> {
        let plan = &self.object;
        let begins = match purpose {
            Purpose::Release => Some(&plan.spec.baseline),
            Purpose::Create => Some(&plan.spec.target),
            Purpose::Refresh | Purpose::Settle => None,
        };
        for entry in begins.iter().flat_map(|_| &plan.spec.paths) {
            let is_made = purpose == Purpose::Create && workload(plan).as_ref() == Some(&entry.object);
            if !is_made {
                self.begins(cluster, begins.map_or(&[][..], Vec::as_slice), &entry.object)?;
            }
        }
        if purpose == Purpose::Release
            && let Some(key) = workload(plan)
            && cluster.is_moving(&key)
        {
            let message = format!("{key} is not rolled out: not every pod is of the newest template, and ready");
            return Err(Hold { cause: HoldCause::NotRolledOut, message });
        }
        let live = workload(plan).and_then(|key| cluster.objects.get(&key));
        let number = |pointer: &str| live.and_then(|live| live.pointer(pointer)).and_then(Value::as_u64);
        let template = live.filter(|live| is_workload(live)).and_then(|live| live.pointer("/spec/template"));
        // In mid-release the stable workload is still the old one only where the new pods have one of their own.
        let is_stable = match purpose {
            Purpose::Release => true,
            Purpose::Refresh => plan.spec.style == Style::Canary,
            Purpose::Create | Purpose::Settle => false,
        };
        Ok(Bindings {
            stable_revision: template.map(hash).filter(|_| is_stable),
            canary_revision: None,
            replicas: number("/spec/replicas").and_then(|replicas| u32::try_from(replicas).ok()),
        })
    }

    /// Whether an object is what the plan begins with, or what the last release ended with.
    fn begins(&self, cluster: &Cluster, state: &[VersionKey], key: &ObjectKey) -> Result<(), Hold> {
        let plan = &self.object;
        let live = cluster.objects.get(key);
        let of_plan = objects_of(plan, state);
        let at = |object: Option<&Value>| object.map(|object| at_paths(plan, key, &without_restart(object)));
        if at(live) == at(of_plan.get(key)) || (!self.completed.is_empty() && at(live) == at(self.completed.get(key))) {
            return Ok(());
        }
        let nothing = empty();
        let found = patch::differences(live.unwrap_or(&nothing), of_plan.get(key).unwrap_or(&nothing), &paths(plan, key));
        let place = found.first().map_or_else(String::new, |difference| format!(" at `{}`", difference.pointer));
        let writer = cluster.writers.get(key).map_or_else(String::new, |who| format!(", which `{who}` wrote"));
        let message = format!("{key} is not what the plan begins with{place}{writer}; put it back, or render the plan again");
        Err(Hold { cause: HoldCause::Differs, message })
    }

    /// What a stage waits for and does not find, in words.
    pub(super) fn unmet(&self, cluster: &Cluster, stage: &Stage) -> Vec<String> {
        stage.awaits.iter().filter_map(|wait| self.missing(cluster, wait)).collect()
    }

    fn missing(&self, cluster: &Cluster, wait: &Await) -> Option<String> {
        match wait {
            Await::PodsReady { workload, revision, count } => {
                let (wanted, ready) = match revision {
                    Revision::Canary => cluster.newest(workload),
                    Revision::Stable => {
                        let stable = self.status.bindings.stable_revision.as_ref();
                        let ready = cluster.pods(workload).filter(|(hash, _)| Some(*hash) == stable).map(|(_, pods)| pods.ready).sum();
                        (ready, ready)
                    }
                };
                let wanted = count.unwrap_or(wanted);
                (ready < wanted).then(|| format!("{ready} of {wanted} new pods of {workload} are ready"))
            }
            Await::Available { workload } => {
                let (wanted, ready) = cluster.newest(workload);
                let is_available = cluster.is_settled(workload) && ready >= wanted;
                (!is_available).then(|| format!("{ready} of {wanted} pods of {workload} are new and available"))
            }
            Await::Endpoints { service, at_least, of } => {
                let Some(wanted) = at_least.of_known(self.status.bindings.replicas) else {
                    return Some(format!("Service/{service}: {at_least} of the workload's replicas are not known yet"));
                };
                let ready = behind(cluster, service, of.as_ref());
                (ready < wanted).then(|| match of {
                    Some(_) => format!("{ready} of {wanted} stand behind Service/{service}"),
                    None => format!("Service/{service} has {ready} of {wanted} ready endpoints"),
                })
            }
            Await::Condition { object, kind, .. } => (!cluster.objects.contains_key(object)).then(|| format!("{object} to say `{kind}`")),
            Await::Gone { object } => cluster.objects.contains_key(object).then(|| format!("{object} to be gone")),
            Await::Grace(_) => None,
        }
    }
}

/// The ready pods behind a Service, of one workload or of all. It need not be an object of the plan; the modelled one knows the
/// workload's pods at once.
fn behind(cluster: &Cluster, service: &str, of: Option<&ObjectKey>) -> u32 {
    if let Some(workload) = of {
        return cluster.newest(workload).1;
    }
    let is_it = |(key, _): &(&ObjectKey, &Value)| key.name() == service && key.is_service();
    let object = cluster.objects.iter().find(is_it).map(|(_, object)| object);
    object.map(|object| cluster.behind(object)).unwrap_or_default().iter().map(|(_, pods)| pods.ready).sum()
}

/// The object as it was before a restart.
fn without_restart(object: &Value) -> Value {
    if object.pointer(RESTART).is_none() {
        return object.clone();
    }
    let mut object = edited(object, RESTART, None);
    let metadata = object.pointer_mut("/spec/template/metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata.filter(|metadata| metadata.get("annotations").is_some_and(|it| it == &empty())) {
        metadata.remove("annotations");
    }
    object
}
