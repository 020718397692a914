//! Kubernetes events: what `kubectl describe` shows beside a plan and its Rollout.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, MANAGER, segment};
use super::trouble::Trouble;

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
    if let Err(trouble) = api.ask(&collection(about), &event(about, kind, reason, message)).await {
        tracing::warn!(%trouble, reason, "the event could not be told");
    }
}

/// Asks whether an event could be told.
pub(super) async fn rehearse(api: &Api, about: &Value) -> Result<(), Trouble> {
    let event = event(about, Kind::Normal, "Rehearsed", "");
    api.ask(&format!("{}?dryRun=All", collection(about)), &event).await.map(|_| ())
}

fn collection(about: &Value) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", segment(text(about, "/metadata/namespace")))
}

fn event(about: &Value, kind: Kind, reason: &str, message: &str) -> Value {
    let text = |pointer: &str| text(about, pointer);
    let message: String = message.chars().take(1000).collect();
    let name: String = text("/metadata/name").chars().take(200).collect();
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": format!("{name}-"), "namespace": text("/metadata/namespace")},
        "regarding": {
            "apiVersion": text("/apiVersion"), "kind": text("/kind"), "namespace": text("/metadata/namespace"),
            "name": text("/metadata/name"), "uid": text("/metadata/uid"), "resourceVersion": text("/metadata/resourceVersion"),
        },
        "eventTime": format!("{:.6}", Timestamp::now()),
        "type": match kind { Kind::Normal => "Normal", Kind::Warning => "Warning" },
        "reason": reason,
        "action": reason,
        "note": message,
        "reportingController": "rollout.dev/agent",
        "reportingInstance": MANAGER,
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
