//! What makes two releases the same, and what a plan was rendered from.

use serde::Serialize;
use serde_json::Value;

use crate::digest;

/// The annotation by which users release without a changed template.
const ROLLOUT_ID: &str = "/metadata/annotations/rollouts.kruise.io~1rollout-id";

/// The pods of a workload.
const TEMPLATE: &str = "/spec/template";

/// Whether two versions of a workload have the same pod template and rollout id.
pub(super) fn has_equal_release(one: &Value, other: &Value) -> bool {
    has_equal_template(one, other) && is_same(one.pointer(ROLLOUT_ID), other.pointer(ROLLOUT_ID))
}

/// Whether two versions of a workload have the same pod template.
pub(super) fn has_equal_template(one: &Value, other: &Value) -> bool {
    is_same(one.pointer(TEMPLATE), other.pointer(TEMPLATE))
}

/// Whether a cluster makes the same of both: it drops nulls in maps, such as `creationTimestamp: null`.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    one == other || digest::canonical(&one) == digest::canonical(&other)
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
        baseline: baseline.pointer(TEMPLATE),
        target: target.pointer(TEMPLATE),
        rollout_id: target.pointer(ROLLOUT_ID),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::has_equal_release;

    #[test]
    fn what_a_cluster_makes_the_same_of_is_no_release() {
        let workload = |metadata: Value, id: Value| json!({"metadata": {"annotations": {"rollouts.kruise.io/rollout-id": id}}, "spec": {"template": {"metadata": metadata}}});
        let plain = workload(json!({"labels": {"app": "shop"}}), json!("1"));
        assert!(has_equal_release(&plain, &workload(json!({"labels": {"app": "shop"}, "creationTimestamp": null}), json!("1"))));
        assert!(has_equal_release(&workload(json!({"a": 1}), json!(null)), &json!({"spec": {"template": {"metadata": {"a": 1.0}}}})));
        assert!(!has_equal_release(&plain, &workload(json!({"labels": {"app": "web"}}), json!("1"))));
        assert!(!has_equal_release(&plain, &workload(json!({"labels": {"app": "shop"}}), json!("2"))));
    }
}
