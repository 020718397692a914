//! The definition of our own kind, `RolloutPlan`.

use serde_json::{Value, json};

use super::structural::structural;
use super::{Names, definition, version};
use crate::plan::{API_VERSION, KIND, schema};

const NAMES: Names = Names { group: "rollout.dev", kind: KIND, plural: "rolloutplans", singular: "rolloutplan", short: &["rplan"] };

/// What `kubectl get rolloutplans` prints.
const COLUMNS: [(&str, &str, &str); 6] = [
    ("PHASE", "string", ".status.phase"),
    ("STEP", "integer", ".status.cursor.step"),
    ("WAITING FOR", "string", ".status.waitingFor"),
    ("LAST", "string", ".status.last.outcome"),
    ("STYLE", "string", ".spec.style"),
    ("AGE", "date", ".metadata.creationTimestamp"),
];

/// Returns the definition.
///
/// The content has one owner: whoever applies a plan replaces all of it. Otherwise objects that a second applier had written
/// too would stay when the next plan leaves them out, and the list of who wrote which field would be a third of the plan.
pub(super) fn rollout_plan() -> Value {
    let mut spec = structural(&schema::schema(), "PlanSpec");
    spec["x-kubernetes-map-type"] = "atomic".into();
    spec["description"] = "What the digest covers: every state of the release and the ways between them.".into();
    let schema = json!({
        "description": "Every state of a release, and the way from each to the next. Written by `rollout render`, carried out by the agent.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status(),
        },
    });
    let name = API_VERSION.rsplit('/').next().unwrap_or(API_VERSION);
    definition(&NAMES, &[version(name, true, &schema, &COLUMNS)])
}

/// The status is the agent's own: the fields that people and tools read are described, the others stay as they are.
///
/// A plan that no agent has looked at has a generation observed that it never has: tools that find no status at all would
/// take it for a finished one, or could not evaluate their expressions.
fn status() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "description": "Where the release stands. Written by the agent only.",
        "default": {"observedGeneration": -1},
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64", "description": "The generation of the plan that the rest is about; -1 before the agent has looked at it."},
            "digest": text("The digest of the plan that is being run, or was run last."),
            "release": text("The release that is being run, or was run last."),
            "phase": text("Holding, Running, Gated, Paused, Finishing, Aborting, Succeeded, Aborted, Bypassed, Stalled or Preview."),
            "agent": {
                "type": "object",
                "description": "The agent that wrote this last.",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"version": text("The version of the program."), "identity": text("Its name in the Lease.")},
            },
            "waitingFor": text("What is being waited for, and the command that continues."),
            "conditions": {
                "type": "array",
                "description": "Ready, Reconciling, Stalled and InSync.",
                "items": {
                    "type": "object",
                    "required": ["type", "status"],
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "type": text("The condition."),
                        "status": text("True, False or Unknown."),
                        "reason": text("Why, in one word."),
                        "message": text("Why, in a sentence."),
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::rollout_plan;

    #[test]
    fn what_a_plan_holds_is_replaced_as_a_whole() {
        let definition = rollout_plan();
        let properties = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        for field in ["spec", "status"] {
            assert_eq!(properties[field]["x-kubernetes-map-type"], "atomic", "{field}");
        }
    }

    #[test]
    fn every_field_of_a_plan_is_described() {
        let definition = rollout_plan();
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        for field in ["steps", "finish", "abort", "abortFinish", "objects", "paths", "baseline", "target"] {
            assert!(spec["properties"][field]["description"].is_string(), "{field}");
        }
        let object = &spec["properties"]["objects"]["additionalProperties"];
        assert_eq!(object["x-kubernetes-preserve-unknown-fields"], true, "manifests stay as they are");
        let wait = &spec["properties"]["finish"]["items"]["properties"]["await"]["items"];
        assert_eq!(wait["properties"]["grace"]["type"], "integer");
    }
}
