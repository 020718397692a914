//! Findings for people: where, what, the line of the file, and the way out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::files::Files;
use crate::model::{Finding, Place, Severity};

use super::words::uncommanding;
use super::{Colors, count, one_line, visible};

/// Lines longer than this are shown around the column only.
const WIDEST: usize = 140;

/// Every finding as `path:line:column: error[code]: message`, the line with a caret, `help:`; in the order given. Lines come
/// from `files`; a place in another file is shown without.
pub fn findings(findings: &[Finding], files: &Files, colors: Colors) -> String {
    let (mut text, mut lines) = (String::new(), Lines { files, read: BTreeMap::new() });
    for finding in findings {
        one(&mut text, finding, &mut lines, colors);
    }
    uncommanding(&text)
}

/// Files cut into lines, each of them once however many findings it has.
struct Lines<'a> {
    files: &'a Files,
    read: BTreeMap<String, Vec<&'a [u8]>>,
}

impl Lines<'_> {
    fn snippet(&mut self, place: &Place) -> Option<Snippet> {
        let number = usize::try_from(place.position.line).ok()?.checked_sub(1)?;
        if !self.read.contains_key(&place.path) {
            let lines = self.files.get(&place.path)?.split(|byte| *byte == b'\n').collect();
            self.read.insert(place.path.clone(), lines);
        }
        Snippet::cut(self.read.get(&place.path)?.get(number)?, place)
    }
}

/// `2 errors, 1 warning`; empty when there is nothing to sum up.
pub fn sum(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let parts = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning"), (of(Severity::Note), "note")];
    parts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun)).collect::<Vec<_>>().join(", ")
}

fn one(text: &mut String, finding: &Finding, lines: &mut Lines<'_>, colors: Colors) {
    let bold = Style::new().bold();
    let severity = match finding.severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    let severity = severity.on_default().bold();
    if let Some(Place { path, position }) = &finding.place {
        let place = format!("{}:{}:{}:", one_line(path), position.line, position.column);
        let _ = write!(text, "{} ", colors.paint(bold, place));
    }
    let label = colors.paint(severity, format_args!("{}[{}]:", finding.severity, finding.code));
    let _ = write!(text, "{label} {}", colors.paint(bold, visible(&finding.message)));
    if let Some(object) = finding.object.as_deref().filter(|object| !finding.message.contains(*object)) {
        let _ = write!(text, " ({})", one_line(object));
    }
    text.push('\n');
    if let Some(snippet) = finding.place.as_ref().and_then(|place| lines.snippet(place)) {
        let blue = AnsiColor::Blue.on_default().bold();
        let margin = " ".repeat(snippet.number.len());
        let bar = colors.paint(blue, "|");
        let _ = writeln!(text, "{} {bar} {}", colors.paint(blue, &snippet.number), snippet.line);
        let _ = writeln!(text, "{margin} {bar} {}{}", " ".repeat(snippet.indent), colors.paint(severity, "^"));
    }
    if let Some(help) = &finding.help {
        for (index, line) in visible(help).lines().enumerate() {
            let label = if index == 0 { colors.paint(AnsiColor::Green.on_default().bold(), "help:") } else { "     ".into() };
            let _ = writeln!(text, "  {label} {line}");
        }
    }
}

/// One line of a file, cut to what fits, and where the caret goes.
pub(super) struct Snippet {
    /// The line's number.
    pub(super) number: String,
    /// The line, with what is hidden made visible.
    pub(super) line: String,
    indent: usize,
}

impl Snippet {
    /// The line at the place; none where there is no such file or line.
    pub(super) fn of(place: &Place, files: &Files) -> Option<Self> {
        let bytes = files.get(&place.path)?;
        let number = usize::try_from(place.position.line).ok()?.checked_sub(1)?;
        Self::cut(bytes.split(|byte| *byte == b'\n').nth(number)?, place)
    }

    /// What is shown of this line, the one at the place.
    fn cut(line: &[u8], place: &Place) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let column = usize::try_from(place.position.column).ok()?.checked_sub(1)?;
        let start = if column > WIDEST - 20 { column - WIDEST / 2 } else { 0 };
        let window: String =
            line.chars().skip(start).take(WIDEST).map(|character| if character == '\t' { ' ' } else { character }).collect();
        // Characters made visible are wider than they were: so is what stands before the caret.
        let before: String = window.chars().take(column - start).collect();
        Some(Self {
            number: place.position.line.to_string(),
            line: visible(&window).into_owned(),
            indent: visible(&before).chars().count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Position;

    #[track_caller]
    fn case(file: &str, finding: Finding, expected: &str) {
        let files: Files = [("shop.yaml".to_owned(), file.as_bytes().into())].into_iter().collect();
        assert_eq!(findings(&[finding], &files, Colors::Never), expected);
    }

    fn at(line: u32, column: u32) -> Finding {
        Finding::error("weight-range", "a weight is at most 100, not 120").at("shop.yaml", Position { line, column })
    }

    #[test]
    fn a_finding_shows_the_line_and_points_at_the_column() {
        case(
            "a: 1\nsteps:\n- weight: 120\r\n",
            at(3, 11).help("write `weight: 100`"),
            "shop.yaml:3:11: error[weight-range]: a weight is at most 100, not 120\n3 | - weight: 120\n  |           ^\n  help: write `weight: 100`\n",
        );
    }

    #[test]
    fn a_place_past_the_end_of_the_file_is_shown_without_a_line() {
        case("a: 1\n", at(9, 1), "shop.yaml:9:1: error[weight-range]: a weight is at most 100, not 120\n");
    }

    #[test]
    fn escapes_of_the_file_are_shown_and_the_caret_stays_below_its_column() {
        case(
            "\u{1b}[2Ja: 120\n",
            at(1, 8),
            "shop.yaml:1:8: error[weight-range]: a weight is at most 100, not 120\n1 | \\u{1b}[2Ja: 120\n  |             ^\n",
        );
    }

    #[test]
    fn no_line_is_a_command_of_a_workflow() {
        let finding =
            Finding::error("weight-range", "unknown field `a\n ::add-mask::b`").at("::stop-commands::x", Position { line: 1, column: 1 });
        case("", finding, ":\\u{3a}stop-commands::x:1:1: error[weight-range]: unknown field `a\n :\\u{3a}add-mask::b`\n");
        let finding =
            Finding::error("field-unknown", "unknown field `##[stop-commands]x`").at("shop.yaml", Position { line: 1, column: 1 });
        case(
            "\"##[stop-commands]x\": 1\n",
            finding.help("no ##[group]"),
            "shop.yaml:1:1: error[field-unknown]: unknown field `#\\u{23}[stop-commands]x`\n1 | \"#\\u{23}[stop-commands]x\": 1\n  | ^\n  help: no #\\u{23}[group]\n",
        );
    }

    #[test]
    fn of_a_very_long_line_only_the_surroundings_are_shown() {
        let text = findings(
            &[at(1, 500_000)],
            &[("shop.yaml".to_owned(), "x".repeat(1_000_000).into_bytes().into())].into_iter().collect(),
            Colors::Never,
        );
        assert!(text.len() < 500, "{}", text.len());
    }

    #[test]
    fn the_sum_speaks_in_words() {
        assert_eq!(sum(&[at(1, 1), at(2, 2), Finding::note("n", "m")]), "2 errors, 1 note");
        assert_eq!(sum(&[]), "");
    }
}
