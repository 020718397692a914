//! Plans for people: one table a release, who rewrote which object, and what changes from step to step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::model::{Gate, ObjectKey, Plan, PlanStep, Replicas, VersionKey};

use super::table::table;
use super::{Colors, PlanReport, count, one_line, traffic, visible};

/// The text of all plans, in the order given.
pub fn text(plans: &[PlanReport<'_>], colors: Colors) -> String {
    let mut text = String::new();
    for report in plans {
        if !text.is_empty() {
            text.push('\n');
        }
        one(&mut text, report, colors);
    }
    text
}

fn one(text: &mut String, report: &PlanReport<'_>, colors: Colors) {
    let bold = Style::new().bold();
    text.push_str(&headline(report, colors));
    // The way back repeats what the ways forward say.
    let forward = report.transitions.iter().filter(|transition| transition.to != "baseline" && !transition.diff.is_empty());
    for transition in forward {
        let arrow = format!("{} → {}", transition.from, transition.to);
        let _ = writeln!(text, "\n{}", colors.paint(bold, one_line(&arrow)));
        text.push_str(&colored(&transition.diff, colors));
    }
}

/// The release in a few lines, its steps, and who rewrote which object.
fn headline(report: &PlanReport<'_>, colors: Colors) -> String {
    let mut text = String::new();
    let plan = report.plan;
    let bold = Style::new().bold();
    let dim = Style::new().dimmed();
    let environment = if report.environment.is_empty() { String::new() } else { format!("{}: ", report.environment) };
    let title = format!("{environment}{}/{}", plan.namespace, plan.name);
    let what = format!("{:?} release of {} in {}", plan.spec.style, plan.spec.workload, count(plan.spec.steps.len(), "step"));
    let _ = writeln!(text, "{}  {}", colors.paint(bold, one_line(&title)), one_line(&what));
    if plan.spec.release.is_none() {
        let preview = "preview: no release, the pod template is that of the base";
        let _ = writeln!(text, "{}", colors.paint(AnsiColor::Yellow.on_default(), preview));
    }
    let _ = writeln!(text, "{}\n", colors.paint(dim, one_line(&format!("plan {} {}", report.path, short(&report.digest)))));
    text.push_str(&steps(plan, colors));
    if !plan.spec.scripts.is_empty() {
        let mut rows = vec![["object".to_owned(), "rewritten by".to_owned(), "digest".to_owned()]];
        for script in &plan.spec.scripts {
            rows.push([one_line(&script.object.to_string()), one_line(&script.script), short(&script.sha256)]);
        }
        let _ = write!(text, "\n{}", table(&rows, colors));
    }
    text
}

/// One row a step, with what it changes; then the end.
fn steps(plan: &Plan, colors: Colors) -> String {
    let total = replicas(plan);
    let mut rows = vec![["step", "traffic", "pods", "gate", "changes"].map(str::to_owned)];
    let mut before = &plan.spec.baseline;
    for step in &plan.spec.steps {
        rows.push([
            one_line(&step.name),
            one_line(&step.traffic.as_ref().map_or_else(|| "unchanged".to_owned(), traffic::said)),
            pods(step, total),
            gate(&step.gate),
            changes(before, &step.state),
        ]);
        before = &step.state;
    }
    let all = total.map_or_else(|| "all".to_owned(), |total| format!("{total} of {total}"));
    rows.push(["finish".to_owned(), "all".to_owned(), all, String::new(), changes(before, &plan.spec.target)]);
    table(&rows, colors)
}

/// The workload's replicas; none where the cluster decides.
fn replicas(plan: &Plan) -> Option<u32> {
    let workload = plan.spec.target.iter().find(|version| {
        let object = plan.spec.objects.get(version);
        version.object().name() == plan.spec.workload.name
            && object
                .is_some_and(|object| object["kind"] == plan.spec.workload.kind && object["apiVersion"] == plan.spec.workload.api_version)
    })?;
    u32::try_from(plan.spec.objects[workload].pointer("/spec/replicas")?.as_u64()?).ok()
}

fn pods(step: &PlanStep, total: Option<u32>) -> String {
    match (step.replicas, total) {
        (replicas @ Replicas::Percent(_), Some(total)) => format!("{} of {total} ({replicas})", replicas.of(total)),
        (replicas @ Replicas::Count(_), Some(total)) => format!("{} of {total}", replicas.of(total)),
        (replicas, None) => replicas.to_string(),
    }
}

fn gate(gate: &Gate) -> String {
    match gate {
        Gate::Approval {} => "approval".into(),
        Gate::Seconds(seconds) => format!("after {seconds} s"),
        Gate::None {} => "none".into(),
    }
}

/// `+Service/shop-canary, Service/shop, -Deployment/shop-canary`: new ones first, those that go last.
fn changes(before: &[VersionKey], after: &[VersionKey]) -> String {
    let versions =
        |state: &[VersionKey]| state.iter().map(|key| (key.object().clone(), key.version())).collect::<BTreeMap<ObjectKey, u32>>();
    let (before, after) = (versions(before), versions(after));
    let objects: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut words = [Vec::new(), Vec::new(), Vec::new()];
    for object in objects {
        match (before.get(object), after.get(object)) {
            (None, Some(_)) => words[0].push(format!("+{object}")),
            (Some(_), None) => words[2].push(format!("-{object}")),
            (old, new) if old != new => words[1].push(object.to_string()),
            _ => {}
        }
    }
    let words = words.concat();
    if words.is_empty() { "nothing".into() } else { one_line(&words.join(", ")) }
}

/// A unified diff with added and removed lines colored.
pub fn colored(diff: &str, colors: Colors) -> String {
    let mut text = String::with_capacity(diff.len() + diff.len() / 4);
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Style::new().bold(),
            [b'+', ..] => AnsiColor::Green.on_default(),
            [b'-', ..] => AnsiColor::Red.on_default(),
            [b'@', ..] => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        if style == Style::new() {
            text.push_str(&visible(line));
        } else {
            text.push_str(&colors.paint(style, visible(line)));
        }
        text.push('\n');
    }
    text
}

/// The first twelve digits of a digest: enough to compare by eye.
fn short(digest: &str) -> String {
    let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
    format!("sha256:{}", one_line(&digits.chars().take(12).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> VersionKey {
        VersionKey::try_from(text.to_owned()).expect("a key")
    }

    #[test]
    fn changes_name_what_comes_what_changes_and_what_goes() {
        let before = [key("Service/shop@1"), key("VirtualService/shop@1"), key("Deployment/gone@1")];
        let after = [key("Service/shop@2"), key("VirtualService/shop@1"), key("Deployment/shop-canary@1")];
        assert_eq!(changes(&before, &after), "+Deployment/shop-canary, Service/shop, -Deployment/gone");
        assert_eq!(changes(&after, &after), "nothing");
    }

    #[test]
    fn a_diff_keeps_its_lines_and_shows_escapes() {
        assert_eq!(colored("--- a/x\n+b\u{1b}[1m\n c\n", Colors::Never), "--- a/x\n+b\\u{1b}[1m\n c\n");
        assert_eq!(colored("+b\n", Colors::Always), "\u{1b}[32m+b\u{1b}[0m\n");
    }
}
