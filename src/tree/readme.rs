//! A plan's page for people, in Markdown: the tables and bars of a pull request's comment, with links to the diffs beside it.

use crate::model::{Binding, LateValue, Plan, Replicas};
use crate::plan::digest;
use crate::report::summary::{self, Row};
use crate::report::{self, PlanReport};

/// What the column of pods does not say.
const SHARES: &str = "Pods are those of the `replicas` in git; in the cluster a percentage is a share of what the workload has there.\n\n";

/// Returns the page.
pub(super) fn readme(plan: &Plan) -> String {
    let report = PlanReport {
        environment: "",
        path: "plan.yaml".to_owned(),
        plan,
        digest: digest(&plan.spec),
        text: String::new(),
        document: serde_json::Value::Null,
        transitions: Vec::new(),
        exposure: None,
    };
    let release = summary::release(report);
    let title = report::name_of(&release.title());
    let shares = if has_shares(plan) { SHARES } else { "" };
    format!("# {title}\n\n{}\n{shares}Written by `rollout render`; edits are refused.\n", report::page_of(&release, &file_of))
}

/// Whether pods are counted that the cluster may have other numbers of.
fn has_shares(plan: &Plan) -> bool {
    let is_share = |binding: &Binding| matches!(binding.value, LateValue::Replicas(Replicas::Percent(_)));
    plan.spec.replicas_in_git().is_some() && plan.spec.bindings.iter().any(is_share)
}

fn file_of(row: &Row) -> String {
    super::file_name(row.part)
}

#[cfg(test)]
mod tests {
    use super::readme;
    use crate::plan::fixture;

    #[test]
    fn the_page_tells_each_step_in_a_row() {
        let page = readme(&fixture());
        for row in [
            "# `prod/shop`\n\nCanary release of `Deployment/shop` in 2 steps: `registry.example.com/shop:1.0.0` → `registry.example.com/shop:1.1.0`\n",
            "| step-1 | ██░░░░░░░░ 20% | 1 of 4 | approval | `+Deployment/shop-canary`, `+Service/shop-canary`, `Service/shop`, `VirtualService/shop` | [1.diff](1.diff) |\n",
            "| step-2 | `header version=canary` | 2 of 4 (50%) | after 600 s | `Deployment/shop-canary`, `VirtualService/shop` | [2.diff](2.diff) |\n",
            "| abort | ░░░░░░░░░░ 0% | 0 of 4 |  | `Service/shop`, `VirtualService/shop`, `-Deployment/shop-canary`, `-Service/shop-canary` | [abort.diff](abort.diff) |\n",
        ] {
            assert!(page.contains(row), "{row} is not in\n{page}");
        }
    }
}
