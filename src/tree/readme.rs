//! A plan's page for people, in Markdown. What comes from a repository is escaped.

use std::fmt::Write as _;

use crate::diff::{self, Change};
use crate::model::{Gate, Match, MatchKind, NamedMatch, PathKind, Plan, StepTraffic, Style};
use crate::plan::{digest, manifests, states};

/// Returns the page.
pub(super) fn readme(plan: &Plan) -> String {
    let spec = &plan.spec;
    let mut text = format!("# {}\n\n", escaped(&format!("{}/{}", plan.namespace, plan.name)));
    let style = match spec.style {
        Style::Canary => "canary",
        Style::Partition => "partition",
        Style::BlueGreen => "blue-green",
    };
    let workload = escaped(&spec.workload.to_string());
    let _ = match &spec.release {
        Some(_) => writeln!(text, "A {style} release of {workload}. Written by `rollout render`; edits are refused.\n"),
        None => writeln!(text, "A preview: nothing is released. How a {style} release of {workload} would run.\n"),
    };
    let _ = writeln!(text, "Digest of the plan: `{}`\n", digest(spec));
    text.push_str("| step | traffic | pods | ends | changes | diff |\n|---|---|---|---|---|---|\n");
    for (index, step) in spec.steps.iter().enumerate() {
        let traffic = step.traffic.as_ref().map_or_else(|| "unchanged".to_owned(), traffic);
        let gate = match step.gate {
            Gate::Approval {} => "on approval".to_owned(),
            Gate::Seconds(seconds) => format!("after {seconds} s"),
            Gate::None {} => "at once".to_owned(),
        };
        let number = index + 1;
        let changes = changes(plan, &states::at(spec, index).unwrap_or_default(), &states::at(spec, number).unwrap_or_default());
        row(&mut text, [&step.name, &traffic, &step.replicas.to_string(), &gate, &changes], &format!("{number}.diff"));
    }
    let last = states::at(spec, spec.steps.len()).unwrap_or_default();
    let finish = changes(plan, &last, &states::state_of(&spec.target));
    row(&mut text, ["finish", "all", "all", "", &finish], "finish.diff");
    let abort = changes(plan, &last, &states::state_of(&spec.baseline));
    row(&mut text, ["abort", "none", "none", "", &abort], "abort.diff");
    if !spec.scripts.is_empty() {
        text.push_str("\n| object | rewritten by | digest |\n|---|---|---|\n");
        for script in &spec.scripts {
            let _ =
                writeln!(text, "| {} | {} | {} |", escaped(&script.object.to_string()), escaped(&script.script), escaped(&script.sha256));
        }
    }
    text
}

fn row(text: &mut String, cells: [&str; 5], file: &str) {
    for cell in cells {
        let _ = write!(text, "| {} ", escaped(cell));
    }
    let _ = writeln!(text, "| [{file}]({file}) |");
}

/// `+Service/shop-canary, VirtualService/shop, -Deployment/old`.
fn changes(plan: &Plan, before: &states::State, after: &states::State) -> String {
    let diffs = diff::between(&manifests::named(plan, before), &manifests::named(plan, after));
    let words: Vec<String> = diffs
        .iter()
        .map(|diff| {
            let sign = match diff.change {
                Change::Added => "+",
                Change::Changed => "",
                Change::Removed => "-",
            };
            format!("{sign}{}/{}", diff.object.kind, diff.object.name)
        })
        .collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// `20%`, `header version=canary`; alternatives with `or`.
fn traffic(traffic: &StepTraffic) -> String {
    let matches = traffic.matches.iter().map(one_match);
    let words: Vec<String> = traffic.weight.map(|weight| format!("{weight}%")).into_iter().chain(matches).collect();
    if words.is_empty() { "unchanged".to_owned() } else { words.join(" or ") }
}

fn one_match(conditions: &Match) -> String {
    let path = conditions.path.as_ref().map(|path| {
        let operator = match path.kind {
            PathKind::Exact => "=",
            PathKind::PathPrefix => "^=",
            PathKind::RegularExpression => "~",
        };
        format!("path {operator} {}", path.value)
    });
    let headers = conditions.headers.iter().map(|header| named("header", header));
    let parameters = conditions.query_params.iter().map(|parameter| named("query", parameter));
    path.into_iter().chain(headers).chain(parameters).collect::<Vec<_>>().join(" and ")
}

fn named(noun: &str, condition: &NamedMatch) -> String {
    let operator = match condition.kind {
        MatchKind::Exact => "=",
        MatchKind::RegularExpression => "~",
    };
    format!("{noun} {}{operator}{}", condition.name, condition.value)
}

/// Returns the text as Markdown that shows exactly it, on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '~' => escaped.extend(['\\', character]),
            _ if character.is_control() => escaped.extend(character.escape_unicode().filter(|part| !matches!(part, '{' | '}' | '\\'))),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{escaped, readme};
    use crate::plan::fixture;

    #[test]
    fn the_page_tells_each_step_in_a_row() {
        let page = readme(&fixture());
        for row in [
            "| step-1 | 20% | 1 | on approval | Service/shop, +Service/shop-canary, +Deployment/shop-canary, VirtualService/shop | [1.diff](1.diff) |\n",
            "| step-2 | header version=canary | 50% | after 600 s | Deployment/shop-canary, VirtualService/shop | [2.diff](2.diff) |\n",
            "| abort | none | none |  | Service/shop, -Service/shop-canary, -Deployment/shop-canary, VirtualService/shop | [abort.diff](abort.diff) |\n",
        ] {
            assert!(page.contains(row), "{row} is not in\n{page}");
        }
    }

    #[test]
    fn no_name_becomes_markup() {
        assert_eq!(escaped("a|b <img> [x](y)\n@team"), r"a\|b &lt;img&gt; \[x\]\(y\)ua&#64;team");
    }
}
