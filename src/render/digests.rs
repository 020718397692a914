//! What makes two releases the same, and what a plan was rendered from.

use serde::Serialize;
use serde_json::Value;

use crate::digest;

/// The annotation by which users release without a changed template.
const ROLLOUT_ID: &str = "/metadata/annotations/rollouts.kruise.io~1rollout-id";

/// Whether two versions of a workload have the same pod template and rollout id.
pub(super) fn has_equal_release(one: &Value, other: &Value) -> bool {
    ["/spec/template", ROLLOUT_ID].iter().all(|pointer| one.pointer(pointer) == other.pointer(pointer))
}

/// The digest of a release: both templates and the rollout id, nothing else.
pub(super) fn release(baseline: &Value, target: &Value) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Release<'a> {
        baseline: Option<&'a Value>,
        target: Option<&'a Value>,
        rollout_id: Option<&'a Value>,
    }

    digest::of_json(&Release {
        baseline: baseline.pointer("/spec/template"),
        target: target.pointer("/spec/template"),
        rollout_id: target.pointer(ROLLOUT_ID),
    })
}
