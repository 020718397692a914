//! Kubernetes events: what `kubectl describe` shows beside a plan and its Rollout.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, MANAGER, segment};

/// How loud an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Things go their way.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Tells an event about an object. An event that cannot be told is only logged: nothing depends on it.
pub(super) async fn tell(api: &Api, about: &Value, kind: Kind, reason: &str, message: &str) {
    if !api.may_write() {
        return;
    }
    let text = |pointer: &str| about.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let now = Timestamp::now();
    let message: String = message.chars().take(1000).collect();
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": format!("{}.", text("/metadata/name")), "namespace": namespace},
        "regarding": {
            "apiVersion": text("/apiVersion"), "kind": text("/kind"), "namespace": namespace, "name": text("/metadata/name"),
            "uid": text("/metadata/uid"), "resourceVersion": text("/metadata/resourceVersion"),
        },
        "eventTime": format!("{now:.6}"),
        "type": match kind { Kind::Normal => "Normal", Kind::Warning => "Warning" },
        "reason": reason,
        "action": reason,
        "note": message,
        "reportingController": "rollout.dev/agent",
        "reportingInstance": MANAGER,
    });
    tracing::info!(namespace, name = text("/metadata/name"), reason, message, "event");
    if let Err(trouble) = api.ask(&format!("/apis/events.k8s.io/v1/namespaces/{}/events", segment(namespace)), &event).await {
        tracing::debug!(%trouble, reason, "the event could not be told");
    }
}
