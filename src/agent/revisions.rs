//! The revisions of a workload's pods: which hash they carry, and how many are ready.

use std::collections::BTreeSet;

use kube::core::ObjectMeta;
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
    /// How many are ready, and have been for as long as the workload asks.
    pub(super) available: u64,
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

/// The revisions of a Deployment before its newest template.
pub(super) struct Former<'a> {
    namespace: &'a str,
    sets: Vec<FormerSet>,
}

/// One of them.
struct FormerSet {
    hash: String,
    uid: String,
    /// How the names of its pods begin.
    beginning: String,
    /// Whether the API server has cut the beginning, so that pods of other revisions may have the same.
    is_cut: bool,
}

/// Returns the revisions of the workload before its newest template; none for a kind that is no Deployment.
pub(super) async fn former<'a>(api: &Api, namespace: &'a str, workload: &Value) -> Result<Former<'a>, Trouble> {
    if !is_deployment(workload) {
        return Ok(Former { namespace, sets: Vec::new() });
    }
    let number = |object: &Value| annotation(object, NUMBER).and_then(|number| number.parse::<u64>().ok());
    let sets = replica_sets(api, namespace, workload).await?;
    let newest = sets.iter().map(number).max().flatten();
    Ok(Former { namespace, sets: sets.iter().filter(|set| number(set) < newest).filter_map(FormerSet::of).collect() })
}

impl Former<'_> {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns how many of these pods are of former revisions. A pod that is deleted already is known by its name only, so that
    /// the label decides only where names do not tell revisions apart.
    pub(super) async fn count(&self, api: &Api, pods: &BTreeSet<&str>) -> Result<usize, Trouble> {
        let mut found = BTreeSet::new();
        for set in &self.sets {
            let named: BTreeSet<&str> = pods.iter().copied().filter(|pod| pod.starts_with(&set.beginning)).collect();
            if named.is_empty() || !set.is_cut {
                found.extend(named);
                continue;
            }
            let owned = set.pods(api, self.namespace).await?;
            found.extend(named.into_iter().filter(|pod| owned.contains(*pod)));
        }
        Ok(found.len())
    }
}

impl FormerSet {
    fn of(set: &Value) -> Option<Self> {
        // The API server appends five characters, and no name is longer than 63.
        const LONGEST: usize = 58;
        let text = |pointer: &str| set.pointer(pointer).and_then(Value::as_str);
        let mut beginning = format!("{}-", text("/metadata/name")?);
        let is_cut = beginning.len() > LONGEST;
        beginning.truncate(beginning.floor_char_boundary(LONGEST));
        let hash = set.pointer("/metadata/labels")?.get(HASH)?.as_str()?.to_owned();
        Some(Self { hash, uid: text("/metadata/uid")?.to_owned(), beginning, is_cut })
    }

    /// The names of its pods.
    async fn pods(&self, api: &Api, namespace: &str) -> Result<BTreeSet<String>, Trouble> {
        let path = format!("/api/v1/namespaces/{}/pods", segment(namespace));
        let pods = api.glimpses(&path, &format!("&labelSelector={}", segment(&format!("{HASH}={}", self.hash))), Some).await?;
        let is_owned = |pod: &ObjectMeta| pod.owner_references.iter().flatten().any(|owner| owner.uid == self.uid);
        Ok(pods.into_iter().filter(is_owned).filter_map(|pod| pod.name).collect())
    }
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
    let mut sets = api.read_list(&path, &format!("&labelSelector={}", segment(&selector)), Some(workload)).await?;
    sets.retain(|set| is_owned_by(set, workload));
    Ok(sets)
}

/// A ReplicaSet whose status is of its newest spec.
fn found(set: &Value) -> Option<Found> {
    let hash = set.pointer("/metadata/labels")?.get(HASH)?.as_str()?.to_owned();
    let status = |field: &str| set.pointer("/status")?.get(field)?.as_u64();
    let of = |field: &str| status(field).unwrap_or_default();
    Some(Found { hash, ready: of("readyReplicas"), available: of("availableReplicas") })
}

/// What workloads with revisions of their own say.
fn own(workload: &Value, revision: &str, count: &str) -> Option<Found> {
    let status = workload.get("status")?;
    let hash = status.get(revision)?.as_str()?.to_owned();
    let number = |field: &str| status.get(field).and_then(Value::as_u64);
    let ready = number("updatedReadyReplicas").filter(|_| revision == "updateRevision").or_else(|| number(count));
    let ready = ready.unwrap_or_default();
    let available = number("updatedAvailableReplicas").filter(|_| revision == "updateRevision").unwrap_or(ready);
    Some(Found { hash, ready, available })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FormerSet;

    #[test]
    fn a_name_says_which_revision_a_pod_is_of_unless_the_api_server_has_cut_it() {
        let set = |name: String| json!({"metadata": {"name": name, "uid": "u", "labels": {"pod-template-hash": "5c7"}}});
        let short = FormerSet::of(&set("shop-5c7".to_owned())).unwrap();
        assert_eq!((short.beginning.as_str(), short.is_cut), ("shop-5c7-", false));
        let longest = FormerSet::of(&set(format!("{}-5c7", "a".repeat(53)))).unwrap();
        assert_eq!((longest.beginning.len(), longest.is_cut), (58, false));
        let cut = FormerSet::of(&set(format!("{}-5c7", "a".repeat(58)))).unwrap();
        assert_eq!((cut.beginning, cut.is_cut), ("a".repeat(58), true));
    }
}
