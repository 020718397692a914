//! Differences as text that `git apply`, `patch` and people read.

use std::fmt::Write as _;

use super::{Change, Hunk, ObjectDiff, Side};
use crate::model::{ObjectRef, hidden};

/// Returns the unified diff of all objects.
pub fn unified(diffs: &[ObjectDiff]) -> String {
    let mut text = String::new();
    for diff in diffs {
        add_one(&mut text, &diff.object, diff.change, &diff.hunks);
    }
    text
}

/// Returns the unified diff of one object.
pub fn one(object: &ObjectRef, change: Change, hunks: &[Hunk]) -> String {
    let mut text = String::new();
    add_one(&mut text, object, change, hunks);
    text
}

fn add_one(text: &mut String, object: &ObjectRef, change: Change, hunks: &[Hunk]) {
    let label = label(object);
    let (before, after) = match change {
        Change::Added => ("/dev/null".to_owned(), format!("b/{label}")),
        Change::Changed => (format!("a/{label}"), format!("b/{label}")),
        Change::Removed => (format!("a/{label}"), "/dev/null".to_owned()),
    };
    let _ = write!(text, "--- {before}\n+++ {after}\n");
    for hunk in hunks {
        add(text, hunk);
    }
}

/// Names an object as a path: `prod/Deployment.apps/shop`, `prod/Service/shop`.
pub fn label(object: &ObjectRef) -> String {
    let kind = if object.group.is_empty() { object.kind.clone() } else { format!("{}.{}", object.kind, object.group) };
    printable(format!("{}/{kind}/{}", object.namespace, object.name))
}

/// A name must not begin a line of its own, nor turn its text around.
fn printable(label: String) -> String {
    if !label.contains(hidden::is_hidden) {
        return label;
    }
    let shown = |character: char| if hidden::is_hidden(character) { character.escape_default().to_string() } else { character.to_string() };
    label.chars().map(shown).collect()
}

fn add(text: &mut String, hunk: &Hunk) {
    let _ = writeln!(text, "@@ -{} +{} @@", range(hunk.before_start, hunk.before_count), range(hunk.after_start, hunk.after_count));
    for line in &hunk.lines {
        let sign = match line.side {
            Side::Both => ' ',
            Side::Before => '-',
            Side::After => '+',
        };
        text.push(sign);
        text.push_str(&line.text);
        text.push('\n');
    }
}

fn range(start: usize, count: usize) -> String {
    if count == 1 { start.to_string() } else { format!("{start},{count}") }
}
