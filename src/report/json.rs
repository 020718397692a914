//! The report for programs: one versioned JSON document.

use serde_json::{Value, json};

use crate::model::Finding;

use super::PlanReport;

/// The format's version. A field that goes or changes its meaning makes a new one; new fields do not.
pub const VERSION: &str = "rollout.dev/report/v1";

/// The report of plans, each made by `json_plan`, and findings: `{version, plans: [{environment, path, digest, plan}], findings: [{code, severity, path, line, column, object, message,
/// help}]}`, indented.
pub fn json(plans: &[Value], findings: &[Finding]) -> String {
    let mut text = format!("{:#}", json!({ "version": VERSION, "plans": plans, "findings": findings }));
    text.push('\n');
    text
}

/// A plan's part of the report.
pub fn json_plan(report: &PlanReport<'_>) -> Value {
    json!({
        "environment": report.environment,
        "namespace": report.plan.namespace,
        "name": report.plan.name,
        "path": report.path,
        "digest": report.digest,
        "plan": report.document,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    #[test]
    fn a_finding_is_flat_and_leaves_out_what_it_does_not_have() {
        let finding = Finding::error("weight-range", "too much").at("shop.yaml", Position { line: 3, column: 11 });
        let report: Value = serde_json::from_str(&json(&[], &[finding])).expect("JSON");
        let expected = json!({
            "version": VERSION,
            "plans": [],
            "findings": [{"code": "weight-range", "severity": "error", "path": "shop.yaml", "line": 3, "column": 11, "message": "too much"}],
        });
        assert_eq!(report, expected);
    }
}
