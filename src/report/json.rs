//! The report for programs: one versioned JSON document, with all that the other formats show.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};

use crate::coexist::Coexistence;
use crate::diff::{Change, ObjectDiff};
use crate::model::{Finding, Gate, Replicas, hidden};

use super::Transition;
use super::coexist::JsonCoexistence;
use super::summary::{self, Effective, ImageChange, Impact, Release, Row, Share};

/// The format's version. A field that goes or changes its meaning makes a new one; new fields do not.
pub const VERSION: &str = "rollout.dev/report/v1";

/// All that a report says.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "rollout report")]
struct Report<'a> {
    /// The version of the format.
    version: &'a str,
    /// What the report is about, in numbers.
    impact: Impact,
    /// Every plan.
    plans: Vec<JsonPlan>,
    /// What readers should know.
    findings: &'a [Finding],
}

/// A plan, and what is told about it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct JsonPlan {
    /// The environment's name; empty for the unnamed one.
    environment: String,
    /// The Rollout's namespace.
    namespace: String,
    /// The Rollout's name.
    name: String,
    /// The plan's file, relative to the root.
    path: String,
    /// The digest of the plan's `spec`.
    digest: String,
    /// Whether nothing is released.
    preview: bool,
    /// Container images that differ between baseline and target.
    images: Vec<ImageChange>,
    /// A row a step, then `finish`, then `abort`.
    rows: Vec<JsonRow>,
    /// What changes on the way from each state to the next, then on the way back from the last step.
    transitions: Vec<JsonTransition>,
    /// How the plan and the engines that sync the repository get along.
    coexist: JsonCoexistence,
    /// The plan itself, a `RolloutPlan`.
    plan: Value,
}

/// What a table says about a step, the end, or the way back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Row")]
struct JsonRow {
    /// `step-1`, `finish`, `abort`.
    name: String,
    /// Who gets the new version.
    traffic: JsonTraffic,
    /// How many pods of which version.
    pods: JsonPods,
    /// What ends the step; absent for `finish` and `abort`.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Gate>,
    /// The objects that differ from the row before, of `abort` from the last step.
    changes: Vec<JsonChanged>,
}

/// Who gets the new version.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Traffic")]
struct JsonTraffic {
    /// In words: `20%, and header version=canary`.
    said: String,
    /// The share of all requests in percent; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u8>,
    /// Conditions in words, any one of which suffices.
    matches: Vec<String>,
    /// The share that the manifests give to requests without a match; absent where it cannot be told from the plan, or is
    /// what is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<JsonEffective>,
    /// The share of all requests, where rules send a part of them to other Services than the workload's; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    overall: Option<JsonEffective>,
    /// Why the manifests do not show that the step does what it declares; absent where they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_proved: Option<String>,
}

/// Shares in percent; rules and gateways may differ.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Effective")]
struct JsonEffective {
    /// The least.
    least: f64,
    /// The most.
    most: f64,
}

/// How many pods run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Pods")]
struct JsonPods {
    /// In words: `3 of 5 (60%)`.
    said: String,
    /// Those of the new version as the user wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<Replicas>,
    /// Those of the new version, where git knows the workload's replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<u32>,
    /// Those of the old version, where git knows the workload's replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<u32>,
    /// The workload's replicas, where git knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
}

/// One object that a row changes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Changed")]
struct JsonChanged {
    /// The object, as the plan names it: `Service/shop`.
    object: String,
    /// What happens to it.
    change: Change,
}

/// What changes between two states.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Transition")]
struct JsonTransition {
    /// The state before: `baseline`, `step-1`.
    from: String,
    /// The state after: `step-2`, `target`.
    to: String,
    /// How the objects differ.
    objects: Vec<ObjectDiff>,
}

/// The report of plans, each made by `json_plan` of the release beside it, and findings; indented.
pub fn json(plans: Vec<JsonPlan>, releases: &[Release], findings: &[Finding]) -> String {
    let report = Report { version: VERSION, impact: summary::impact(releases, findings), plans, findings };
    hidden::pretty_json(&json!(report))
}

/// A plan's part of the report. `plan` is the plan as a value.
pub fn json_plan(release: &Release, transitions: Vec<Transition>, plan: Value, coexistence: &Coexistence) -> JsonPlan {
    let transition = |Transition { from, to, diffs }| JsonTransition { from, to, objects: diffs };
    JsonPlan {
        environment: release.environment.clone(),
        namespace: release.namespace.clone(),
        name: release.name.clone(),
        path: release.path.clone(),
        digest: release.digest.clone(),
        preview: release.is_preview,
        images: release.images.clone(),
        rows: release.rows.iter().map(row).collect(),
        transitions: transitions.into_iter().map(transition).collect(),
        coexist: JsonCoexistence::of(coexistence),
        plan,
    }
}

/// Returns the JSON schema (draft 2020-12) of the report.
pub fn json_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Report<'static>>().to_value();
    if let Some(version) = schema.pointer_mut("/properties/version") {
        *version = json!({"description": "The version of the format.", "const": VERSION});
    }
    if let Some(plan) = schema.pointer_mut("/$defs/Plan/properties/plan") {
        *plan = json!({"description": "The plan itself, as `rollout schema plan` describes it.", "type": "object"});
    }
    schema
}

fn in_percent(share: Effective) -> JsonEffective {
    JsonEffective { least: f64::from(share.least) / 10.0, most: f64::from(share.most) / 10.0 }
}

fn row(row: &Row) -> JsonRow {
    let matches = match &row.share {
        Share::Split { matches, .. } => matches.clone(),
        Share::Unchanged | Share::All | Share::None => Vec::new(),
    };
    let pods = row.pods;
    JsonRow {
        name: row.name.clone(),
        traffic: JsonTraffic {
            said: row.traffic_said(),
            weight: row.share.weight(),
            matches,
            effective: row.effective.map(in_percent),
            overall: row.overall.map(in_percent),
            not_proved: row.not_proved.clone(),
        },
        pods: JsonPods { said: pods.said(), written: pods.written, new: pods.new, old: pods.old, total: pods.total },
        gate: row.gate.clone(),
        changes: row.changes.iter().map(|changed| JsonChanged { object: changed.object.to_string(), change: changed.change }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    #[test]
    fn a_finding_is_flat_and_leaves_out_what_it_does_not_have() {
        let finding = Finding::error("weight-range", "too much").at("shop.yaml", Position { line: 3, column: 11 });
        let report: Value = serde_json::from_str(&json(Vec::new(), &[], &[finding])).expect("JSON");
        assert_eq!(report["version"], VERSION);
        assert_eq!(report["impact"]["errors"], 1);
        let expected =
            json!([{"code": "weight-range", "severity": "error", "path": "shop.yaml", "line": 3, "column": 11, "message": "too much"}]);
        assert_eq!(report["findings"], expected);
    }

    #[test]
    fn the_schema_describes_every_field_of_a_finding_and_of_a_plan() {
        let schema = json_schema();
        assert_eq!(schema["properties"]["version"]["const"], VERSION);
        for field in ["code", "severity", "path", "line", "column", "object", "message", "help"] {
            assert!(schema["$defs"]["Finding"]["properties"][field].is_object(), "{field}: {schema:#}");
        }
        assert_eq!(schema["$defs"]["Finding"]["required"], json!(["severity", "code", "message"]));
        for field in ["environment", "namespace", "name", "path", "digest", "preview", "images", "rows", "transitions", "plan"] {
            assert!(schema["$defs"]["Plan"]["properties"][field].is_object(), "{field}");
        }
    }
}
