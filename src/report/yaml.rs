//! A stream of plans, as `kubectl` reads it.

use super::PlanReport;

/// Every plan as its file holds it, with `---` between.
pub fn yaml(plans: &[PlanReport<'_>]) -> String {
    plans.iter().map(|report| report.text.as_str()).collect::<Vec<_>>().join("---\n")
}
