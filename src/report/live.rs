//! Where releases stand in a cluster, as text and JSON.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::summary::{Share, gate_said};
use super::{Colors, one_line, short, table};
use crate::model::{Part, Phase, PlanSpec, PlanStatus};

/// A plan in a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What is to be done.
    pub spec: &'a PlanSpec,
    /// Where it stands.
    pub status: &'a PlanStatus,
}

/// One line a plan.
pub fn live_list(plans: &[Live<'_>], colors: Colors) -> String {
    let mut rows = vec![["namespace", "plan", "phase", "step", "waiting for"].map(str::to_owned)];
    for plan in plans {
        rows.push([
            one_line(plan.namespace),
            one_line(plan.name),
            phase(plan.status).to_owned(),
            step(plan),
            plan.status.waiting_for.as_deref().map(one_line).unwrap_or_default(),
        ]);
    }
    table(&rows, colors)
}

/// All about one plan: a headline, what it waits for, and its steps.
pub fn live(plan: Live<'_>, colors: Colors) -> String {
    let mut text = headline(plan, colors);
    let status = plan.status;
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9}{}", one_line(value));
    };
    fact("release", &format!("{} to the version of {}", style(plan), plan.spec.workload));
    if let Some(waiting) = &status.waiting_for {
        fact("waiting", waiting);
    }
    if phase(status) == PREVIEW {
        fact("preview", "the plan releases nothing: when it was rendered there was no base, or the base had the same pod template");
        fact("", "to release, render it against what runs: `rollout render --base REVISION --out`, and apply the new plan");
    }
    if let Some(refused) = &status.refused_request {
        fact("refused", refused);
    }
    if let Some(bypass) = &status.bypass {
        fact("bypassed", &format!("{} rolled the workload out past the plan", bypass.manager));
    }
    if let Some(last) = &status.last {
        let why = if last.reason.is_empty() { String::new() } else { format!(": {}", last.reason) };
        fact("last", &format!("{:?} at {}{why}", last.outcome, last.at.strftime("%Y-%m-%d %H:%M:%SZ")));
    }
    text.push('\n');
    text + &steps(plan, colors)
}

/// The line that names a plan and its phase.
pub fn headline(plan: Live<'_>, colors: Colors) -> String {
    let name = colors.paint(Style::new().bold(), format!("{}/{}", one_line(plan.namespace), one_line(plan.name)));
    let color = match plan.status.phase {
        Phase::Succeeded => AnsiColor::Green,
        Phase::Stalled | Phase::Aborted | Phase::Aborting => AnsiColor::Red,
        Phase::Gated | Phase::Paused | Phase::Holding | Phase::Bypassed => AnsiColor::Yellow,
        Phase::Running | Phase::Finishing | Phase::Preview => AnsiColor::Cyan,
    };
    let phase = colors.paint(color.on_default(), phase(plan.status));
    let digest = plan.status.digest.as_deref().map(|digest| format!("  plan {}", short(digest))).unwrap_or_default();
    let step = step(&plan);
    let step = if step.is_empty() { step } else { format!("  step {step}") };
    format!("{name}  {phase}{step}{digest}\n")
}

/// The same for programs: one versioned object.
pub fn live_json(plans: &[Live<'_>]) -> Value {
    let plans: Vec<Value> = plans
        .iter()
        .map(|plan| json!({"namespace": plan.namespace, "name": plan.name, "steps": plan.spec.steps.len(), "status": plan.status}))
        .collect();
    json!({"version": super::VERSION, "plans": plans})
}

/// The phase of a plan that has nothing to release.
const PREVIEW: &str = "Preview";

/// What no agent has looked at yet has no phase.
fn phase(status: &PlanStatus) -> &'static str {
    if status.observed_generation.is_none() && status.digest.is_none() {
        return "Unseen";
    }
    match status.phase {
        Phase::Holding => "Holding",
        Phase::Running => "Running",
        Phase::Gated => "Gated",
        Phase::Paused => "Paused",
        Phase::Finishing => "Finishing",
        Phase::Aborting => "Aborting",
        Phase::Succeeded => "Succeeded",
        Phase::Aborted => "Aborted",
        Phase::Bypassed => "Bypassed",
        Phase::Stalled => "Stalled",
        Phase::Preview => PREVIEW,
    }
}

/// `2 of 5` while a step is entered or held.
fn step(plan: &Live<'_>) -> String {
    match current(plan.status) {
        Some(step) => format!("{step} of {}", plan.spec.steps.len()),
        None => String::new(),
    }
}

fn current(status: &PlanStatus) -> Option<u32> {
    let cursor = status.cursor.as_ref()?;
    let is_in_step = matches!(cursor.part, Part::Stages | Part::EnterFromAbove | Part::Reassert | Part::Gate);
    (is_in_step && cursor.step > 0).then_some(cursor.step)
}

fn style(plan: Live<'_>) -> &'static str {
    match plan.spec.style {
        crate::model::Style::Canary => "canary",
        crate::model::Style::Partition => "partition",
        crate::model::Style::BlueGreen => "blue-green",
    }
}

/// The steps, with a mark at the current one.
fn steps(plan: Live<'_>, colors: Colors) -> String {
    let current = current(plan.status);
    let mut rows = vec![["", "step", "traffic", "pods", "gate"].map(str::to_owned)];
    for (number, step) in (1..).zip(&plan.spec.steps) {
        let mark = if current == Some(number) { ">" } else { "" };
        let traffic = one_line(&Share::of(step.traffic.as_ref(), &plan.spec.scripts).said());
        rows.push([mark.to_owned(), one_line(&step.name), traffic, step.replicas.to_string(), gate_said(&step.gate)]);
    }
    table(&rows, colors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Live, live, live_list};
    use crate::model::PlanStatus;
    use crate::plan::fixture;
    use crate::report::Colors;

    #[test]
    fn a_gate_is_shown_with_what_it_waits_for_and_the_step_it_is_in() {
        let plan = fixture();
        let time = "2026-01-01T00:00:00Z";
        let status: PlanStatus = serde_json::from_value(json!({
            "phase": "Gated", "digest": "sha256:0123456789abcdef", "observedGeneration": 1, "waitingFor": "approval\u{1b}[31m of step 1",
            "cursor": {"part": "gate", "step": 1, "since": time, "entered": time},
        }))
        .expect("a status");
        let shown = live(Live { namespace: "prod", name: "shop", spec: &plan.spec, status: &status }, Colors::Never);
        assert!(shown.starts_with("prod/shop  Gated  step 1 of "), "{shown}");
        assert!(shown.contains("\n>  step-1  "), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn a_plan_that_no_agent_has_seen_says_so() {
        let plan = fixture();
        let status = PlanStatus::default();
        let shown = live_list(&[Live { namespace: "prod", name: "shop", spec: &plan.spec, status: &status }], Colors::Never);
        assert!(shown.contains("prod       shop  Unseen"), "{shown}");
    }
}
