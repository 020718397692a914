//! The revisions of a workload's pods: which hash they carry, and how many are ready.

use std::collections::BTreeSet;

use serde_json::Value;

use super::api::{Api, segment};
use super::trouble::Trouble;

/// The label of the pods of one ReplicaSet.
const HASH: &str = "pod-template-hash";
/// The number of a Deployment's revision, on the Deployment and on its ReplicaSets.
const NUMBER: &str = "deployment.kubernetes.io/revision";

/// One revision of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The value of the label that its pods carry.
    pub(super) hash: String,
    /// How many pods are ready.
    pub(super) ready: u64,
}

/// Returns the revision of the workload's newest template; `None` until its controller has made it.
pub(super) async fn current(api: &Api, namespace: &str, workload: &Value) -> Result<Option<Found>, Trouble> {
    if !is_deployment(workload) {
        return Ok(own(workload, "updateRevision", "updatedReplicas"));
    }
    let number = |object: &Value| annotation(object, NUMBER).and_then(|number| number.parse::<u64>().ok());
    let seen = workload.pointer("/status/observedGeneration").and_then(Value::as_u64).unwrap_or_default();
    if seen < workload.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default() {
        return Ok(None);
    }
    let sets = replica_sets(api, namespace, workload).await?;
    let newest = sets.iter().max_by_key(|set| number(set)).filter(|set| number(set) >= number(workload));
    Ok(newest.and_then(found))
}

/// Returns the revision with that hash.
pub(super) async fn named(api: &Api, namespace: &str, workload: &Value, hash: &str) -> Result<Option<Found>, Trouble> {
    if !is_deployment(workload) {
        return Ok(own(workload, "currentRevision", "currentReplicas").filter(|found| found.hash == hash));
    }
    let sets = replica_sets(api, namespace, workload).await?;
    Ok(sets.iter().filter_map(found).find(|found| found.hash == hash))
}

/// Returns how the names of a Deployment's pods begin that are not of its newest template.
pub(super) async fn former_pods(api: &Api, namespace: &str, workload: &Value) -> Result<Vec<String>, Trouble> {
    if !is_deployment(workload) {
        return Ok(Vec::new());
    }
    let number = |object: &Value| annotation(object, NUMBER).and_then(|number| number.parse::<u64>().ok());
    let sets = replica_sets(api, namespace, workload).await?;
    let newest = sets.iter().map(number).max().flatten();
    Ok(sets.iter().filter(|set| number(set) < newest).filter_map(beginning).collect())
}

/// How the names of a ReplicaSet's pods begin; the API server shortens long ones.
fn beginning(set: &Value) -> Option<String> {
    const LONGEST: usize = 58;
    let mut beginning = format!("{}-", set.pointer("/metadata/name")?.as_str()?);
    beginning.truncate(beginning.floor_char_boundary(LONGEST));
    Some(beginning)
}

/// Returns how many pods of a Deployment are there that nobody has begun to delete.
pub(super) async fn pods_left(api: &Api, namespace: &str, workload: &Value) -> Result<u64, Trouble> {
    let mut left = 0;
    for set in replica_sets(api, namespace, workload).await? {
        let path = format!("/api/v1/namespaces/{}/pods", segment(namespace));
        let Some(found) = found(&set) else { continue };
        let pods = api.list(&path, &format!("&labelSelector={}", segment(&format!("{HASH}={}", found.hash)))).await?;
        left += pods.iter().filter(|pod| is_owned_by(pod, &set) && !super::write::is_terminating(pod)).count() as u64;
    }
    Ok(left)
}

/// Returns the names of the workload's pods of the newest template.
pub(super) async fn pods_of(api: &Api, namespace: &str, workload: &Value) -> Result<BTreeSet<String>, Trouble> {
    let Some(current) = current(api, namespace, workload).await? else { return Ok(BTreeSet::new()) };
    let path = format!("/api/v1/namespaces/{}/pods", segment(namespace));
    let label = if is_deployment(workload) { HASH } else { "controller-revision-hash" };
    let pods = api.list(&path, &format!("&labelSelector={}", segment(&format!("{label}={}", current.hash)))).await?;
    let name = |pod: &Value| pod.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    Ok(pods.iter().filter_map(name).collect())
}

async fn replica_sets(api: &Api, namespace: &str, workload: &Value) -> Result<Vec<Value>, Trouble> {
    let path = format!("/apis/apps/v1/namespaces/{}/replicasets", segment(namespace));
    let labels = workload.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let terms = labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    let selector = terms.collect::<Vec<_>>().join(",");
    let mut sets = api.list(&path, &format!("&labelSelector={}", segment(&selector))).await?;
    sets.retain(|set| is_owned_by(set, workload));
    Ok(sets)
}

/// A ReplicaSet whose status is of its newest spec.
fn found(set: &Value) -> Option<Found> {
    let hash = set.pointer("/metadata/labels")?.get(HASH)?.as_str()?.to_owned();
    Some(Found { hash, ready: set.pointer("/status/readyReplicas").and_then(Value::as_u64).unwrap_or_default() })
}

/// What workloads with revisions of their own say.
fn own(workload: &Value, revision: &str, count: &str) -> Option<Found> {
    let status = workload.get("status")?;
    let hash = status.get(revision)?.as_str()?.to_owned();
    let number = |field: &str| status.get(field).and_then(Value::as_u64);
    let ready = number("updatedReadyReplicas").filter(|_| revision == "updateRevision").or_else(|| number(count));
    Some(Found { hash, ready: ready.unwrap_or_default() })
}

fn is_deployment(workload: &Value) -> bool {
    workload.get("kind").and_then(Value::as_str) == Some("Deployment")
}

fn is_owned_by(object: &Value, owner: &Value) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let uid = owner.pointer("/metadata/uid");
    uid.is_some() && owners.iter().any(|owner| owner.get("uid") == uid)
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}
