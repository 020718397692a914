//! Findings as annotations of a GitHub workflow: `::error file=…,line=…,col=…,title=…::message`.
//!
//! GitHub shows ten of a level for each step: the most severe come first, and what is not shown is counted.

use std::fmt::Write as _;

use crate::model::{Finding, Severity};

use super::links::Links;
use super::{count, visible};

/// GitHub shows so many annotations of one level for a step.
const MOST: usize = 10;

/// A message is cut to this many characters.
const LONGEST: usize = 2_000;

/// Returns one line a finding, the most severe first. Paths are those of the repository.
pub fn github(findings: &[Finding], links: &Links) -> String {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let hidden = |severity, shown: usize| of(severity).count().saturating_sub(shown);
    let (errors, warnings) = (hidden(Severity::Error, MOST), hidden(Severity::Warning, MOST));
    // One place among the notes is for the count of what is not shown.
    let is_crowded = errors + warnings + hidden(Severity::Note, MOST) > 0;
    let room = if is_crowded { MOST - 1 } else { MOST };
    let mut text = String::new();
    for (severity, level, most) in
        [(Severity::Error, "error", MOST), (Severity::Warning, "warning", MOST), (Severity::Note, "notice", room)]
    {
        for finding in of(severity).take(most) {
            one(&mut text, level, finding, links);
        }
    }
    if is_crowded {
        let counts = [(errors, "error"), (warnings, "warning"), (hidden(Severity::Note, room), "note")];
        let counts: Vec<String> = counts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun)).collect();
        let _ = writeln!(text, "::notice title=rollout::{} more not shown here: see the log", counts.join(", "));
    }
    text
}

fn one(text: &mut String, level: &str, finding: &Finding, links: &Links) {
    let _ = write!(text, "::{level} ");
    if let Some(place) = &finding.place {
        let (line, column) = (place.position.line, place.position.column);
        let _ = write!(text, "file={},line={line},col={column},", property(&links.path(&place.path)));
    }
    let mut message = finding.message.clone();
    if let Some(object) = finding.object.as_deref().filter(|object| !message.contains(*object)) {
        message = format!("{message} ({object})");
    }
    if let Some(help) = &finding.help {
        message = format!("{message}\nhelp: {help}");
    }
    let message: String = visible(&message).chars().take(LONGEST).collect();
    let _ = writeln!(text, "title={}::{}", property(finding.code), data(&message));
}

/// A message, in which no line ends.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value, which nothing ends.
fn property(text: &str) -> String {
    data(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    fn at(line: u32) -> Finding {
        Finding::error("weight-range", "a weight is at most 100, not 120").at("shop.yaml", Position { line, column: 11 })
    }

    #[track_caller]
    fn case(findings: &[Finding], expected: &str) {
        assert_eq!(github(findings, &Links::new(None, None, "deploy", None)), expected);
    }

    #[test]
    fn a_finding_stands_at_its_line_in_the_repository() {
        case(&[at(3)], "::error file=deploy/shop.yaml,line=3,col=11,title=weight-range::a weight is at most 100, not 120\n");
        case(&[Finding::note("no-base", "no base").help("say\nwhat")], "::notice title=no-base::no base%0Ahelp: say%0Awhat\n");
    }

    #[test]
    fn no_path_and_no_message_is_a_command() {
        let finding =
            Finding::warning("warning", "100% sure\n::add-mask::a\r\u{1b}[1m").at("a,line=9::b\n:c%.yaml", Position { line: 1, column: 1 });
        case(
            &[finding],
            "::warning file=deploy/a%2Cline=9%3A%3Ab%0A%3Ac%25.yaml,line=1,col=1,title=warning::100%25 sure%0A::add-mask::a\\u{d}\\u{1b}[1m\n",
        );
    }

    #[test]
    fn the_most_severe_come_first_and_the_others_are_counted() {
        let mut findings = vec![Finding::note("note", "n"); 12];
        findings.extend((1..=11).map(at));
        findings.push(Finding::warning("warning", "w"));
        let text = github(&findings, &Links::default());
        let levels: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(levels, [vec!["::error"; 10], vec!["::warning"], vec!["::notice"; 10]].concat());
        assert!(text.ends_with("::notice title=rollout::1 error, 3 notes more not shown here: see the log\n"), "{text}");
    }

    #[test]
    fn what_fits_is_shown_without_a_count() {
        let text = github(&vec![Finding::note("note", "n"); 10], &Links::default());
        assert_eq!(text.lines().count(), 10);
    }
}
