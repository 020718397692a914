//! What a stage waits for, looked at: an empty answer means that all of it holds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::cut;
use super::api::Api;
use super::availability::{Availability, complaint, is_observed};
use super::objects::Objects;
use super::revisions;
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::model::{Await, Bindings, ObjectKey, Plan, Replicas, Revision, VersionKey};

/// One plan's view of the cluster.
pub(super) struct Sight<'a> {
    /// The API server.
    pub(super) api: &'a Api,
    /// The plan that is run.
    pub(super) plan: &'a Plan,
    /// Where its objects are.
    pub(super) objects: &'a Objects,
    /// Late values.
    pub(super) bindings: &'a Bindings,
    /// Whether what is gone need not be waited for: on the way back.
    pub(super) restores: bool,
}

impl Sight<'_> {
    /// Returns what does not hold yet, in words; grace is not looked at.
    pub(super) async fn unmet(&self, awaits: &[Await]) -> Result<Vec<String>, Trouble> {
        let mut unmet = Vec::new();
        for wait in awaits {
            let missing = match wait {
                Await::PodsReady { workload, revision, count } => self.pods_ready(workload, *revision, *count).await?,
                Await::Available { workload } => self.available(workload).await?,
                Await::Endpoints { service, at_least, of } => self.endpoints(service, *at_least, of.as_ref()).await?,
                Await::Condition { object, kind, status } => self.condition(object, kind, status).await?,
                Await::Gone { object } => self.gone(object).await?,
                Await::Grace(_) => None,
            };
            unmet.extend(missing.map(|words| cut(&words)));
        }
        Ok(unmet)
    }

    async fn live(&self, key: &ObjectKey) -> Result<Option<Value>, Trouble> {
        match self.objects.get(key) {
            Some(target) => target.live(self.api).await,
            None => Ok(None),
        }
    }

    async fn pods_ready(&self, key: &ObjectKey, revision: Revision, count: Option<u32>) -> Result<Option<String>, Trouble> {
        let Some(live) = self.live(key).await? else { return Ok(Some(format!("{key} does not exist"))) };
        let wanted = match count {
            Some(count) => u64::from(count),
            None => number(&live, "/spec/replicas").unwrap_or(1),
        };
        if wanted == 0 {
            return Ok(None);
        }
        if !is_observed(&live) {
            return Ok(Some(format!("{key}: its controller has not seen the change yet")));
        }
        let ready = match revision {
            Revision::Canary => revisions::current(self.api, &self.plan.namespace, &live).await?,
            Revision::Stable => match &self.bindings.stable_revision {
                Some(hash) => revisions::named(self.api, &self.plan.namespace, &live, hash).await?,
                None => None,
            },
        };
        let ready = ready.map_or(0, |found| found.ready);
        Ok((ready < wanted).then(|| format!("{key}: {ready} of {wanted} new pods are ready{}", complaint(&live))))
    }

    async fn available(&self, key: &ObjectKey) -> Result<Option<String>, Trouble> {
        let Some(live) = self.live(key).await? else {
            return Ok((!self.restores).then(|| format!("{key} does not exist")));
        };
        if self.restores && is_terminating(&live) {
            return Ok(None);
        }
        let found = Availability::of(&live);
        if !found.is_observed {
            return Ok(Some(format!("{key}: its controller has not seen the change yet")));
        }
        if found.is_complete() {
            return self.former_endpoints(key, &live).await;
        }
        let rest = if found.old() > 0 { format!(", {} old ones are left", found.old()) } else { String::new() };
        Ok(Some(format!("{key}: {} of {} pods are new and available{rest}{}", found.ready(), found.wanted, complaint(&live))))
    }

    async fn endpoints(&self, service: &str, at_least: Replicas, of: Option<&ObjectKey>) -> Result<Option<String>, Trouble> {
        let Some(wanted) = at_least.of_known(self.bindings.replicas) else {
            return Ok(Some(format!("Service/{service}: {at_least} of the workload's replicas are not known yet")));
        };
        let pods = match of {
            None => None,
            Some(key) => match self.live(key).await? {
                Some(live) => Some(revisions::pods_of(self.api, &self.plan.namespace, &live).await?),
                None => return Ok(Some(format!("{key} does not exist"))),
            },
        };
        let slices = self.slices(service).await?;
        let ready = ready_endpoints(&slices, pods.as_ref());
        let whose = of.map_or_else(String::new, |key| format!(" of {key}"));
        Ok((ready < u64::from(wanted)).then(|| format!("Service/{service}: {ready} of {wanted} ready endpoints{whose}")))
    }

    /// A Service learns a moment later than the workload that old pods are gone; until then they get their share of its requests.
    async fn former_endpoints(&self, key: &ObjectKey, live: &Value) -> Result<Option<String>, Trouble> {
        let services = self.services();
        if services.is_empty() {
            return Ok(None);
        }
        let former = revisions::former(self.api, &self.plan.namespace, live).await?;
        if former.is_empty() {
            return Ok(None);
        }
        for service in services {
            let slices = self.slices(service).await?;
            let left = former.count(self.api, &ready_pods(&slices)).await?;
            if left > 0 {
                return Ok(Some(format!("Service/{service}: {left} old pods of {key} still get requests")));
            }
        }
        Ok(None)
    }

    /// The Services that the plan writes or waits for. None where it waits for no endpoints: then they may not be read.
    fn services(&self) -> BTreeSet<&str> {
        let spec = &self.plan.spec;
        let steps = spec.steps.iter().flat_map(|step| step.stages.iter().chain(&step.enter_from_above));
        let stages = steps.chain(&spec.finish).chain(&spec.abort).chain(&spec.abort_finish);
        let mut services: BTreeSet<&str> = stages
            .flat_map(|stage| &stage.awaits)
            .filter_map(|wait| match wait {
                Await::Endpoints { service, .. } => Some(service.as_str()),
                Await::PodsReady { .. } | Await::Available { .. } | Await::Condition { .. } | Await::Grace(_) | Await::Gone { .. } => None,
            })
            .collect();
        if !services.is_empty() {
            services.extend(spec.objects.keys().map(VersionKey::object).filter(|object| object.is_service()).map(ObjectKey::name));
        }
        services
    }

    async fn slices(&self, service: &str) -> Result<Vec<Value>, Trouble> {
        let path = format!("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", super::api::segment(&self.plan.namespace));
        let selector = format!("&labelSelector={}", super::api::segment(&format!("kubernetes.io/service-name={service}")));
        self.api.read_list(&path, &selector, None).await
    }

    async fn condition(&self, key: &ObjectKey, kind: &str, status: &str) -> Result<Option<String>, Trouble> {
        let Some(live) = self.live(key).await? else {
            return Ok((!self.restores).then(|| format!("{key} does not exist")));
        };
        Ok(condition(&live, kind, status).map(|problem| format!("{key}: {problem}")))
    }

    /// A workload's pods count with it, but not those that are on their way out: nothing is sent to them any more.
    async fn gone(&self, key: &ObjectKey) -> Result<Option<String>, Trouble> {
        let Some(live) = self.live(key).await? else { return Ok(None) };
        if is_terminating(&live) && live.pointer("/spec/template").is_some() {
            let left = revisions::pods_left(self.api, &self.plan.namespace, &live).await?;
            return Ok((left > 0).then(|| format!("{key}: {left} of its pods are not being deleted yet")));
        }
        Ok(Some(format!("{key} still exists")))
    }
}

/// Endpoints that are ready, of these pods or of all. Pods each count once: one of a Service with two address families is in a slice
/// for each, and where pods have different numbers for a named port, in others. An endpoint without a pod is its address.
fn ready_endpoints(slices: &[Value], pods: Option<&BTreeSet<String>>) -> u64 {
    let is_meant = |endpoint: &&Value| pods.is_none_or(|pods| pod(endpoint).is_some_and(|pod| pods.contains(pod)));
    let unique: BTreeSet<(bool, &str)> = ready(slices)
        .filter(is_meant)
        .filter_map(|endpoint| match pod(endpoint) {
            Some(pod) => Some((true, pod)),
            None => endpoint.pointer("/addresses/0").and_then(Value::as_str).map(|address| (false, address)),
        })
        .collect();
    unique.len() as u64
}

/// The names of the pods behind endpoints that are ready.
fn ready_pods(slices: &[Value]) -> BTreeSet<&str> {
    ready(slices).filter_map(pod).collect()
}

/// Endpoints that are ready. A missing condition means ready.
fn ready(slices: &[Value]) -> impl Iterator<Item = &Value> {
    let endpoints = slices.iter().filter_map(|slice| slice.get("endpoints")?.as_array()).flatten();
    endpoints.filter(|endpoint| endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true))
}

fn pod(endpoint: &Value) -> Option<&str> {
    endpoint.pointer("/targetRef/name").and_then(Value::as_str)
}

/// What is wrong with a condition; where an object has several sets of conditions, all must say so.
fn condition(live: &Value, kind: &str, status: &str) -> Option<String> {
    let generation = number(live, "/metadata/generation").unwrap_or_default();
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let own = live.get("status").map(|status| list(status, "conditions")).filter(|conditions| !conditions.is_empty());
    let of_parents = live.get("status").map(|status| list(status, "parents")).unwrap_or_default();
    let sets: Vec<Vec<Value>> = own.into_iter().chain(of_parents.iter().map(|parent| list(parent, "conditions"))).collect();
    if sets.is_empty() {
        return Some(format!("its controller has not said `{kind}` yet"));
    }
    let object_seen = number(live, "/status/observedGeneration");
    for set in sets {
        let Some(found) = set.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind)) else {
            return Some(format!("its controller has not said `{kind}` yet"));
        };
        let seen = number(found, "/observedGeneration").or(object_seen);
        if seen.is_some_and(|seen| seen < generation) {
            return Some(format!("its controller has not said `{kind}` about the newest change yet"));
        }
        let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default();
        if text("status") != status {
            let message = if text("message").is_empty() { text("reason") } else { text("message") };
            return Some(format!("`{kind}` is {}, not {status}: {message}", text("status")));
        }
    }
    None
}

fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::{condition, ready_endpoints, ready_pods};

    #[test]
    fn ready_endpoints_are_counted_once() {
        let slices = [
            json!({"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}, {"addresses": ["10.0.0.2"], "conditions": {"ready": false}}]}),
            json!({"endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.3"], "conditions": {}}]}),
            json!({"endpoints": null}),
        ];
        assert_eq!(ready_endpoints(&slices, None), 2);
    }

    #[test]
    fn a_pod_with_an_address_of_each_family_counts_once() {
        let slice = |address: &str| json!({"endpoints": [{"addresses": [address], "targetRef": {"kind": "Pod", "name": "shop-1"}}]});
        assert_eq!(ready_endpoints(&[slice("10.0.0.1"), slice("fd00::1")], None), 1);
    }

    #[test]
    fn addresses_of_other_pods_do_not_count_where_pods_are_named() {
        let endpoint = |address: &str, pod: &str| json!({"addresses": [address], "targetRef": {"kind": "Pod", "name": pod}});
        let slices =
            [json!({"endpoints": [endpoint("10.0.0.1", "shop-1"), endpoint("10.0.0.2", "shop-canary-1"), {"addresses": ["10.0.0.3"]}]})];
        assert_eq!(ready_endpoints(&slices, Some(&BTreeSet::from(["shop-canary-1".to_owned()]))), 1);
        assert_eq!(ready_endpoints(&slices, Some(&BTreeSet::new())), 0);
    }

    #[test]
    fn pods_that_are_ready_are_named() {
        let endpoint =
            |pod: &str, ready: bool| json!({"addresses": ["10.0.0.1"], "conditions": {"ready": ready}, "targetRef": {"name": pod}});
        let slices = [json!({"endpoints": [endpoint("shop-6d8-a", true), endpoint("shop-5c7-c", false), {"addresses": ["10.0.0.3"]}]})];
        assert_eq!(ready_pods(&slices), BTreeSet::from(["shop-6d8-a"]));
    }

    #[track_caller]
    fn case(status: &Value, expected: Option<&str>) {
        let live = json!({"metadata": {"generation": 4}, "status": status});
        assert_eq!(condition(&live, "Accepted", "True").as_deref(), expected);
    }

    #[test]
    fn a_condition_counts_at_the_objects_generation() {
        let said = |generation: u64, status: &str| json!([{"type": "Accepted", "status": status, "observedGeneration": generation, "message": "no such Service"}]);
        case(&json!({"conditions": said(4, "True")}), None);
        case(&json!({"conditions": said(3, "True")}), Some("its controller has not said `Accepted` about the newest change yet"));
        case(&json!({"conditions": said(4, "False")}), Some("`Accepted` is False, not True: no such Service"));
        case(&json!({}), Some("its controller has not said `Accepted` yet"));
        case(
            &json!({"observedGeneration": 3, "conditions": [{"type": "Accepted", "status": "True"}]}),
            Some("its controller has not said `Accepted` about the newest change yet"),
        );
    }

    #[test]
    fn every_parent_of_a_route_has_to_say_so() {
        let said = |status: &str| json!({"conditions": [{"type": "Accepted", "status": status, "observedGeneration": 4}]});
        case(&json!({"parents": [said("True"), said("True")]}), None);
        case(&json!({"parents": [said("True"), said("False")]}), Some("`Accepted` is False, not True: "));
        case(&json!({"parents": []}), Some("its controller has not said `Accepted` yet"));
    }
}
