//! The controllers of the fake cluster: Deployments have ReplicaSets, Services have endpoints, all at once.

use serde_json::{Value, json};

use super::store::{Key, Store};

/// Brings everything that controllers own up to date.
pub(super) fn follow(store: &mut Store) {
    let deployments: Vec<(Key, Value)> = of_kind(store, "/deployments");
    for (key, deployment) in &deployments {
        roll_out(store, key, deployment);
    }
    let alive: Vec<&Value> = deployments.iter().map(|(_, deployment)| &deployment["metadata"]["uid"]).collect();
    for (key, set) in of_kind(store, "/replicasets") {
        if !alive.contains(&&set["metadata"]["ownerReferences"][0]["uid"]) {
            store.take_quietly(&key);
        }
    }
    run_pods(store);
    for (key, service) in of_kind(store, "/services") {
        point(store, &key, &service);
    }
}

fn of_kind(store: &Store, collection: &str) -> Vec<(Key, Value)> {
    store.objects.iter().filter(|(key, _)| key.0.ends_with(collection)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A template has one ReplicaSet; the newest has all the pods.
fn roll_out(store: &mut Store, key: &Key, deployment: &Value) {
    let name = &key.1;
    let mut hash = hash(&deployment["spec"]["template"]);
    if store.collided.contains(name.as_str()) {
        hash.push('x');
    }
    let sets = key.0.replace("/deployments", "/replicasets");
    let set_key = (sets.clone(), format!("{name}-{hash}"));
    let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let ready = if store.unready.contains(name.as_str()) { 0 } else { replicas };
    let owned: Vec<(Key, Value)> = of_kind(store, &sets)
        .into_iter()
        .filter(|(_, set)| set["metadata"]["ownerReferences"][0]["uid"] == deployment["metadata"]["uid"])
        .collect();
    let number = |set: &Value| {
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
            .as_str()
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or_default()
    };
    let newest = owned.iter().map(|(_, set)| number(set)).max().unwrap_or_default();
    let mine = owned.iter().find(|(key, _)| *key == set_key).map(|(_, set)| number(set));
    let revision = match mine {
        Some(revision) if revision == newest => revision,
        Some(_) | None => newest + 1,
    };
    let surge = u64::from(store.surging.contains(name.as_str()) && revision > 1);
    let mut labels = deployment["spec"]["template"]["metadata"]["labels"].clone();
    labels["pod-template-hash"] = json!(hash);
    store.put_quietly(
        set_key.clone(),
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": set_key.1, "namespace": deployment["metadata"]["namespace"], "labels": labels, "uid": format!("uid-{}", set_key.1),
                "annotations": {"deployment.kubernetes.io/revision": revision.to_string()},
                "ownerReferences": [{"kind": "Deployment", "name": name, "uid": deployment["metadata"]["uid"]}],
            },
            "spec": {"replicas": replicas},
            "status": {"replicas": replicas - surge, "readyReplicas": ready - surge.min(ready), "availableReplicas": ready - surge.min(ready)},
        }),
    );
    for (other, mut set) in owned.into_iter().filter(|(other, _)| *other != set_key) {
        let left = if number(&set) + 1 == revision { surge } else { 0 };
        set["spec"]["replicas"] = json!(left);
        set["status"] = json!({"replicas": left, "readyReplicas": left});
        store.put_quietly(other, set);
    }
    let mut deployment = deployment.clone();
    deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!(revision.to_string());
    deployment["status"] = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": replicas, "updatedReplicas": replicas - surge, "readyReplicas": ready, "availableReplicas": ready,
    });
    store.put_quietly(key.clone(), deployment);
}

/// A ReplicaSet has as many pods as its status says, and they are gone with it.
fn run_pods(store: &mut Store) {
    let mut wanted = Vec::new();
    for (key, set) in of_kind(store, "/replicasets") {
        let pods = key.0.replace("/apis/apps/v1", "/api/v1").replace("/replicasets", "/pods");
        for index in 0..set["status"]["replicas"].as_u64().unwrap_or_default() {
            let owner = json!({"kind": "ReplicaSet", "name": key.1, "uid": set["metadata"]["uid"]});
            let name = pod_name(&key.1, index);
            let metadata = json!({
                "name": name, "namespace": set["metadata"]["namespace"], "labels": set["metadata"]["labels"], "ownerReferences": [owner],
            });
            wanted.push(((pods.clone(), name), json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})));
        }
    }
    for (key, _) in of_kind(store, "/pods") {
        if !wanted.iter().any(|(other, _)| *other == key) {
            store.take_quietly(&key);
        }
    }
    for (key, pod) in wanted {
        store.put_quietly(key, pod);
    }
}

/// As the API server does, the beginning is cut before the part that tells pods apart.
fn pod_name(set: &str, index: u64) -> String {
    let beginning: String = format!("{set}-").chars().take(58).collect();
    let owner: String = rollout::digest::of_bytes(set.as_bytes()).chars().skip(7).take(4).collect();
    format!("{beginning}{owner}{index}")
}

/// A Service leads to the ready pods of all ReplicaSets whose labels it selects.
fn point(store: &mut Store, key: &Key, service: &Value) {
    if store.lagging.contains(key.1.as_str()) {
        return;
    }
    let selector = service["spec"]["selector"].as_object().cloned().unwrap_or_default();
    let selects = |set: &Value| selector.iter().all(|(name, value)| set["metadata"]["labels"].get(name) == Some(value));
    let sets = key.0.replace("/api/v1", "/apis/apps/v1").replace("/services", "/replicasets");
    let ready = |set: &Value| set["status"]["readyReplicas"].as_u64().unwrap_or_default();
    let pods = of_kind(store, &sets).into_iter().filter(|(_, set)| selects(set));
    let pods = pods.flat_map(|(key, set)| (0..ready(&set)).map(move |index| pod_name(&key.1, index)));
    let endpoint = |(index, pod): (usize, String)| json!({"addresses": [format!("10.0.0.{index}")], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": pod}});
    let addresses: Vec<Value> = pods.enumerate().map(endpoint).collect();
    let slices = key.0.replace("/api/v1", "/apis/discovery.k8s.io/v1").replace("/services", "/endpointslices");
    store.put_quietly(
        (slices, format!("{}-1", key.1)),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": format!("{}-1", key.1), "namespace": service["metadata"]["namespace"], "labels": {"kubernetes.io/service-name": key.1}},
            "endpoints": addresses,
        }),
    );
}

/// The same for the same template.
pub(super) fn hash(template: &Value) -> String {
    rollout::digest::of_json(template).trim_start_matches("sha256:").chars().take(10).collect()
}
