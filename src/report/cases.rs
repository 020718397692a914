//! Script cases for people and for programs: what failed, step by step, with the difference from what was expected.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::cases::{CaseReport, Outcome};
use crate::diff::{self, Side};
use crate::yaml;

use super::{Colors, VERSION, colored, count, one_line, visible};
use crate::model::hidden;

/// Every case that failed, with a unified diff for each step that differs; last, how many there were.
pub fn cases(reports: &[CaseReport], colors: Colors) -> String {
    let mut text = String::new();
    for report in reports.iter().filter(|report| !report.is_passed()) {
        one(&mut text, report, colors);
    }
    let failed = reports.iter().filter(|report| !report.is_passed()).count();
    let steps = reports.iter().filter_map(|report| report.outcomes.as_ref().ok()).map(Vec::len).sum();
    let (style, verdict) = match failed {
        0 => (AnsiColor::Green, "all passed".to_owned()),
        failed => (AnsiColor::Red, format!("{failed} failed")),
    };
    let verdict = colors.paint(style.on_default().bold(), verdict);
    let _ = writeln!(text, "{}, {}: {verdict}", count(reports.len(), "case"), count(steps, "step"));
    text
}

/// `{version, cases: [{path, script, passed, error, steps: [{outcome, expected, actual, message}]}]}`, indented.
pub fn cases_json(reports: &[CaseReport]) -> String {
    let cases: Vec<Value> = reports.iter().map(case_json).collect();
    hidden::pretty_json(&json!({ "version": VERSION, "cases": cases }))
}

fn one(text: &mut String, report: &CaseReport, colors: Colors) {
    let red = AnsiColor::Red.on_default().bold();
    let bold = Style::new().bold();
    let path = one_line(&report.path);
    let outcomes = match &report.outcomes {
        Ok(outcomes) => outcomes,
        Err(message) => {
            let _ = writeln!(text, "{} {}: {}\n", colors.paint(red, "failed"), colors.paint(bold, path), visible(message));
            return;
        }
    };
    for (number, outcome) in (1..).zip(outcomes) {
        let (message, difference) = match outcome {
            Outcome::Passed => continue,
            Outcome::Differs { expected, actual } => {
                ("the script gives something else than expected".to_owned(), difference(expected, actual))
            }
            Outcome::Unexpected { actual } => {
                ("the case expects nothing of this step; the script gives".to_owned(), difference(&Value::Null, actual))
            }
            Outcome::Failed { message } => (visible(message).into_owned(), String::new()),
            Outcome::NoSuchStep => ("an object is expected, and there is no such step".to_owned(), String::new()),
        };
        let place = colors.paint(bold, format_args!("{path} step {number}"));
        let _ = writeln!(text, "{} {place}: {message}", colors.paint(red, "failed"));
        text.push_str(&colored(&difference, colors));
        text.push('\n');
    }
}

fn difference(expected: &Value, actual: &Value) -> String {
    let written = |value: &Value| if value.is_null() { String::new() } else { yaml::write(value) };
    let mut text = String::from("--- expected\n+++ actual\n");
    for hunk in diff::hunks(&written(expected), &written(actual)) {
        let (before, after) = ((hunk.before_start, hunk.before_count), (hunk.after_start, hunk.after_count));
        let _ = writeln!(text, "@@ -{},{} +{},{} @@", before.0, before.1, after.0, after.1);
        for line in hunk.lines {
            let sign = match line.side {
                Side::Both => ' ',
                Side::Before => '-',
                Side::After => '+',
            };
            let _ = writeln!(text, "{sign}{}", line.text);
        }
    }
    text
}

fn case_json(report: &CaseReport) -> Value {
    let mut case = json!({"path": report.path, "script": report.script, "passed": report.is_passed()});
    match &report.outcomes {
        Ok(outcomes) => case["steps"] = outcomes.iter().map(outcome_json).collect(),
        Err(message) => case["error"] = json!(message),
    }
    case
}

fn outcome_json(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Passed => json!({"outcome": "passed"}),
        Outcome::Differs { expected, actual } => json!({"outcome": "differs", "expected": expected, "actual": actual}),
        Outcome::Unexpected { actual } => json!({"outcome": "unexpected", "actual": actual}),
        Outcome::Failed { message } => json!({"outcome": "failed", "message": message}),
        Outcome::NoSuchStep => json!({"outcome": "no-such-step"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: Outcome) -> CaseReport {
        CaseReport { path: "a/testdata/b.yaml".into(), script: Some("a".into()), outcomes: Ok(vec![Outcome::Passed, outcome]) }
    }

    #[test]
    fn a_step_that_differs_is_shown_as_a_diff() {
        let outcome = Outcome::Differs { expected: json!({"spec": {"weight": 1}}), actual: json!({"spec": {"weight": 2}}) };
        assert_eq!(
            cases(&[report(outcome)], Colors::Never),
            "failed a/testdata/b.yaml step 2: the script gives something else than expected\n--- expected\n+++ actual\n\
             @@ -1,2 +1,2 @@\n spec:\n-  weight: 1\n+  weight: 2\n\n1 case, 2 steps: 1 failed\n"
        );
    }

    #[test]
    fn cases_that_pass_are_counted_only() {
        assert_eq!(cases(&[report(Outcome::Passed)], Colors::Never), "1 case, 2 steps: all passed\n");
    }

    #[test]
    fn programs_read_one_object_a_case() {
        let text = cases_json(&[report(Outcome::NoSuchStep)]);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["cases"][0]["steps"], json!([{"outcome": "passed"}, {"outcome": "no-such-step"}]));
    }
}
