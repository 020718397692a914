//! A release as tables: its steps with the traffic as a bar, and the scripts that serve it. For comments and for the page
//! beside a plan.

use std::fmt::Write as _;

use super::escape::{cell, code};
use crate::report::count;
use crate::report::summary::{ImageChange, Part, Release, Row, Share};

/// So many squares are all requests.
const WIDTH: u8 = 10;

/// More objects, conditions and images than this are counted.
const MOST: usize = 20;

/// Returns the headline of a release, without its title: what is released, and the images.
pub(super) fn what(release: &Release) -> String {
    let mut text = format!("{} release of {} in {}", release.style_said(), code(&release.workload), count(release.steps(), "step"));
    let images: Vec<String> = release.images.iter().map(image).collect();
    if !images.is_empty() {
        let _ = write!(text, ": {}", some(&images));
    }
    if let Some(preview) = release.preview() {
        let _ = write!(text, "  \n*{preview}*");
    }
    text.push('\n');
    text
}

/// Returns the table of the steps. `file` names the file of a row's diff, where a column is to link to it.
pub(super) fn steps(release: &Release, file: Option<&dyn Fn(&Row) -> String>) -> String {
    let (head, rule) = if file.is_some() { (" diff |", "---|") } else { ("", "") };
    let mut text = format!("| step | traffic | pods | gate | changed objects |{head}\n|---|---|---|---|---|{rule}\n");
    for row in &release.rows {
        let changes: Vec<String> = row.changes.iter().map(|changed| cell(&changed.said())).collect();
        let changes = if changes.is_empty() { "nothing".to_owned() } else { some(&changes) };
        let _ = write!(
            text,
            "| {} | {}{} | {} | {} | {changes} |",
            name(&row.name),
            share(&row.share, row.part),
            row.effective_said(),
            row.pods.said(),
            row.gate_said(),
        );
        if let Some(file) = file {
            let file = file(row);
            let _ = write!(text, " [{file}]({file}) |");
        }
        text.push('\n');
    }
    text
}

/// Returns the table of the scripts; empty where none served.
pub(super) fn scripts(release: &Release) -> String {
    if release.scripts.is_empty() {
        return String::new();
    }
    let mut text = String::from("| object | rewritten by | digest |\n|---|---|---|\n");
    for script in &release.scripts {
        let short = super::super::short(&script.sha256);
        let _ = writeln!(text, "| {} | {} | {} |", cell(&script.object.to_string()), cell(&script.script), cell(&short));
    }
    text
}

/// The name of a step or a state, which is code unless it is one of ours.
pub(super) fn name(name: &str) -> String {
    let number = name.strip_prefix("step-").unwrap_or("1");
    let is_number = !number.is_empty() && number.len() < 6 && number.chars().all(|character| character.is_ascii_digit());
    let is_ours = is_number && (name.starts_with("step-") || matches!(name, "finish" | "abort" | "baseline" | "target"));
    if is_ours { name.to_owned() } else { cell(name) }
}

/// The first of a long list, and how many there are more.
pub(super) fn some(words: &[String]) -> String {
    match words.get(..MOST) {
        Some(first) if words.len() > MOST => format!("{} and {} more", first.join(", "), words.len() - MOST),
        Some(_) | None => words.join(", "),
    }
}

/// `██░░░░░░░░ 20%`, and the conditions.
fn share(share: &Share, part: Part) -> String {
    let bar = share.weight().map(|weight| format!("{} {weight}%", bar(weight)));
    match (share, part) {
        (Share::Split { matches, .. }, _) if !matches.is_empty() => {
            let mut words: Vec<String> = matches.iter().take(MOST).map(|condition| cell(condition)).collect();
            if matches.len() > MOST {
                words.push(format!("{} more", matches.len() - MOST));
            }
            let matches = words.join(" or ");
            bar.map_or_else(|| matches.clone(), |bar| format!("{bar}, and {matches}"))
        }
        (Share::Unchanged | Share::Split { .. } | Share::All | Share::None, _) => bar.unwrap_or_else(|| share.said()),
    }
}

/// Any share but nothing is at least one square, any but everything leaves one empty.
fn bar(weight: u8) -> String {
    let full = match weight {
        0 => 0,
        100.. => WIDTH,
        _ => ((u32::from(weight) * u32::from(WIDTH) + 50) / 100).clamp(1, u32::from(WIDTH) - 1).try_into().unwrap_or(WIDTH),
    };
    "█".repeat(usize::from(full)) + &"░".repeat(usize::from(WIDTH - full))
}

fn image(change: &ImageChange) -> String {
    match (&change.from, &change.to) {
        (Some(from), Some(to)) => format!("{} → {}", code(from), code(to)),
        (None, Some(to)) => format!("new container {}", code(to)),
        (Some(from), None) => format!("without container {}", code(from)),
        (None, None) => code(&change.container),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_only_at_the_end_and_empty_only_at_the_start() {
        assert_eq!([0, 1, 20, 54, 99, 100].map(bar), ["░░░░░░░░░░", "█░░░░░░░░░", "██░░░░░░░░", "█████░░░░░", "█████████░", "██████████"]);
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        assert_eq!(some(&["a".into(), "b".into()]), "a, b");
        let many: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        assert!(some(&many).ends_with("18, 19 and 5 more"));
    }

    #[test]
    fn only_our_own_names_stand_bare() {
        assert_eq!(["step-1", "finish", "baseline"].map(name), ["step-1", "finish", "baseline"]);
        assert_eq!(["step-x", "@team", "step-", "2"].map(name), ["`step-x`", "`@team`", "`step-`", "`2`"]);
    }
}
