//! The controller of a gateway, as far as a plan waits for it: it accepts every HTTPRoute at its newest generation.
//!
//! The annotation `e2e.rollout.dev/accepted: "False"` makes it refuse a route.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{At, Cluster, Patch};

/// A running controller; it ends with the value.
pub(crate) struct Gateway {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    /// Accepts the routes of all namespaces from now on.
    pub(crate) fn start(cluster: Cluster) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                while !stop.load(Ordering::Relaxed) {
                    // A server that does not answer is asked again.
                    let _ = look(&cluster);
                    thread::sleep(Duration::from_millis(100));
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look(cluster: &Cluster) -> Result<(), String> {
    let text = cluster.text("/apis/gateway.networking.k8s.io/v1/httproutes")?;
    let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    for route in list["items"].as_array().into_iter().flatten() {
        let generation = &route["metadata"]["generation"];
        if route["status"]["parents"][0]["conditions"][0]["observedGeneration"] == *generation {
            continue;
        }
        let refused = route["metadata"]["annotations"]["e2e.rollout.dev/accepted"] == "False";
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": if refused { "False" } else { "True" }, "reason": kind, "message": "",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let parent = json!({
            "controllerName": "e2e.rollout.dev/gateway", "parentRef": route["spec"]["parentRefs"][0],
            "conditions": [condition("Accepted"), condition("ResolvedRefs")],
        });
        let (namespace, name) = (route["metadata"]["namespace"].as_str(), route["metadata"]["name"].as_str());
        let at = At { kind: "HTTPRoute", namespace: namespace.unwrap_or_default(), name: name.unwrap_or_default() };
        // One route that goes away in between is no reason to leave the others.
        let _ = cluster.patch_sub(at, "status", Patch::Merge, &json!({"status": {"parents": [parent]}}));
    }
    Ok(())
}
