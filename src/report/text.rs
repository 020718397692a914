//! Plans for people: one table a release, who rewrote which object, and what changes from step to step.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::diff;

use super::summary::{self, Part, Release};
use super::table::table;
use super::{Colors, PlanReport, one_line, visible};

/// The text of a plan: its table, and its diffs where they are asked for.
pub fn text(mut report: PlanReport<'_>, colors: Colors) -> String {
    let transitions = std::mem::take(&mut report.transitions);
    let mut text = headline(&summary::release(report), colors);
    // The way back repeats what the ways forward say.
    let forward = transitions.iter().filter(|transition| transition.to != "baseline" && !transition.diffs.is_empty());
    for transition in forward {
        let arrow = format!("{} → {}", transition.from, transition.to);
        let _ = writeln!(text, "\n{}", colors.paint(Style::new().bold(), one_line(&arrow)));
        text.push_str(&colored(&diff::unified(&transition.diffs), colors));
    }
    text
}

/// The release in a few lines, its steps, and who rewrote which object.
fn headline(release: &Release, colors: Colors) -> String {
    let mut text = String::new();
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let _ = writeln!(text, "{}  {}", colors.paint(bold, one_line(&release.title())), one_line(&release.what()));
    if let Some(preview) = release.preview() {
        let _ = writeln!(text, "{}", colors.paint(AnsiColor::Yellow.on_default(), preview));
    }
    let _ = writeln!(text, "{}\n", colors.paint(dim, one_line(&format!("plan {} {}", release.path, short(&release.digest)))));
    text.push_str(&steps(release, colors));
    if !release.scripts.is_empty() {
        let mut rows = vec![["object".to_owned(), "rewritten by".to_owned(), "digest".to_owned()]];
        for script in &release.scripts {
            rows.push([one_line(&script.object.to_string()), one_line(&script.script), short(&script.sha256)]);
        }
        let _ = write!(text, "\n{}", table(&rows, colors));
    }
    text
}

/// One row a step, with what it changes; then the end.
fn steps(release: &Release, colors: Colors) -> String {
    let mut rows = vec![["step", "traffic", "pods", "gate", "changes"].map(str::to_owned)];
    for row in release.rows.iter().filter(|row| row.part != Part::Abort) {
        let cells = [row.name.clone(), row.traffic_said(), row.pods.said(), row.gate_said(), row.changes_said()];
        rows.push(cells.map(|cell| one_line(&cell)));
    }
    table(&rows, colors)
}

/// A unified diff with added and removed lines colored.
pub fn colored(diff: &str, colors: Colors) -> Cow<'_, str> {
    if colors == Colors::Never && !diff.contains('\r') {
        return visible(diff);
    }
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
    text.into()
}

/// The first twelve digits of a digest, on one line: enough to compare by eye.
pub fn short(digest: &str) -> String {
    let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
    format!("sha256:{}", one_line(&digits.chars().take(12).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_keeps_its_lines_and_shows_escapes() {
        assert_eq!(colored("--- a/x\n+b\u{1b}[1m\n c\n", Colors::Never), "--- a/x\n+b\\u{1b}[1m\n c\n");
        assert_eq!(colored("+b\n", Colors::Always), "\u{1b}[32m+b\u{1b}[0m\n");
    }
}
