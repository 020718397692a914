//! What changes in an object, side by side.

use std::collections::VecDeque;

use maud::{Markup, html};

use crate::diff::{Change, Hunk, Line, ObjectDiff, Side};

use super::super::words::{count, one_line};

/// Rows of one object beyond these are counted only.
const MOST_ROWS: usize = 2_000;
/// An object with more rows than these is folded at first.
const FOLDED_FROM: usize = 120;

/// One object's difference under a line that folds it.
pub(super) fn object(diff: &ObjectDiff) -> Markup {
    let rows: Vec<Row<'_>> = rows(&diff.hunks);
    let (gone, come) = (changed(&diff.hunks, Side::Before), changed(&diff.hunks, Side::After));
    html! {
        details class="object" open[rows.len() <= FOLDED_FROM] {
            summary {
                span class="object-name" { (one_line(&diff.object.kind)) "/" (one_line(&diff.object.name)) }
                " " (badge(diff.change))
                " " span class="lines" { @if come > 0 { "+" (come) } @if come > 0 && gone > 0 { " " } @if gone > 0 { "−" (gone) } }
            }
            @match diff.change {
                Change::Changed => (two_sides(&rows)),
                Change::Added => (one_side(&rows, "after", "ins")),
                Change::Removed => (one_side(&rows, "before", "del")),
            }
        }
    }
}

fn badge(change: Change) -> Markup {
    let (class, word) = match change {
        Change::Added => ("badge added", "added"),
        Change::Changed => ("badge changed", "changed"),
        Change::Removed => ("badge removed", "removed"),
    };
    html! { span class=(class) { (word) } }
}

fn changed(hunks: &[Hunk], side: Side) -> usize {
    hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side == side).count()
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
enum Row<'a> {
    /// So many equal lines are left out.
    Gap(usize),
    /// The line stands on both sides.
    Same { before: usize, after: usize, text: &'a str },
    /// What went, and what came in its place.
    Different { before: Option<(usize, &'a str)>, after: Option<(usize, &'a str)> },
}

/// Lines that went beside those that came in their place.
fn rows(hunks: &[Hunk]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut seen = 0;
    for hunk in hunks {
        let left_out = hunk.before_start.saturating_sub(1).saturating_sub(seen);
        if left_out > 0 && hunk.before_count > 0 {
            rows.push(Row::Gap(left_out));
        }
        let (mut before, mut after) = (hunk.before_start, hunk.after_start);
        let (mut gone, mut come) = (VecDeque::new(), VecDeque::new());
        for Line { side, text } in &hunk.lines {
            match side {
                Side::Both => {
                    settle(&mut rows, &mut gone, &mut come);
                    rows.push(Row::Same { before, after, text });
                    (before, after) = (before + 1, after + 1);
                }
                Side::Before => {
                    // What went after something came belongs to the next change.
                    if !come.is_empty() {
                        settle(&mut rows, &mut gone, &mut come);
                    }
                    gone.push_back((before, text.as_str()));
                    before += 1;
                }
                Side::After => {
                    come.push_back((after, text.as_str()));
                    after += 1;
                }
            }
        }
        settle(&mut rows, &mut gone, &mut come);
        seen = before.saturating_sub(1);
    }
    rows
}

fn settle<'a>(rows: &mut Vec<Row<'a>>, gone: &mut VecDeque<(usize, &'a str)>, come: &mut VecDeque<(usize, &'a str)>) {
    while !gone.is_empty() || !come.is_empty() {
        rows.push(Row::Different { before: gone.pop_front(), after: come.pop_front() });
    }
}

fn two_sides(rows: &[Row<'_>]) -> Markup {
    html! {
        table class="diff" {
            colgroup { col class="number"; col; col class="number"; col; }
            thead { tr { th scope="col" { "Line" } th scope="col" { "Before" } th scope="col" { "Line" } th scope="col" { "After" } } }
            tbody {
                @for row in rows.iter().take(MOST_ROWS) {
                    @match row {
                        Row::Gap(lines) => { tr class="gap" { td {} td colspan="3" { (count(*lines, "equal line")) } } }
                        Row::Same { before, after, text } => {
                            tr { td { (before) } td { (shown(text)) } td { (after) } td { (shown(text)) } }
                        }
                        Row::Different { before: Some((before, old)), after: Some((after, new)) } => {
                            @let (old, new) = (shown(old), shown(new));
                            @let (start, end) = common(&old, &new);
                            tr {
                                td { (before) } td class="del" { (marked(&old, start, end, "del")) }
                                td { (after) } td class="ins" { (marked(&new, start, end, "ins")) }
                            }
                        }
                        Row::Different { before, after } => {
                            tr { (one_cell(before.as_ref(), "del")) (one_cell(after.as_ref(), "ins")) }
                        }
                    }
                }
                (left_out(rows.len()))
            }
        }
    }
}

fn one_cell(line: Option<&(usize, &str)>, class: &str) -> Markup {
    html! {
        @match line {
            Some((number, text)) => { td { (number) } td class=(class) { (shown(text)) } },
            None => { td {} td class="none" {} },
        }
    }
}

/// An object that comes or goes has one side.
fn one_side(rows: &[Row<'_>], side: &str, class: &str) -> Markup {
    html! {
        table class="diff one" {
            colgroup { col class="number"; col; }
            thead { tr { th scope="col" { "Line" } th scope="col" { (side) } } }
            tbody {
                @for row in rows.iter().take(MOST_ROWS) {
                    @if let Row::Different { before, after } = row {
                        tr { (one_cell(before.as_ref().or(after.as_ref()), class)) }
                    }
                }
                (left_out(rows.len()))
            }
        }
    }
}

fn left_out(rows: usize) -> Markup {
    html! {
        @if let Some(more @ 1..) = rows.checked_sub(MOST_ROWS) {
            tr class="gap" { td {} td colspan="3" { (count(more, "more line")) " not shown here; the plan holds them" } }
        }
    }
}

/// The line as it can be seen.
fn shown(text: &str) -> String {
    one_line(text)
}

/// How many bytes two lines share at their start and at their end, in whole characters.
fn common(old: &str, new: &str) -> (usize, usize) {
    let shared = |pair: &(char, char)| pair.0 == pair.1;
    let start: usize = old.chars().zip(new.chars()).take_while(shared).map(|(character, _)| character.len_utf8()).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.chars().rev().zip(new.chars().rev()).take_while(shared).map(|(character, _)| character.len_utf8()).sum();
    (start, end)
}

/// The line with what differs marked, unless nearly all of it does.
fn marked(text: &str, start: usize, end: usize, class: &str) -> Markup {
    let (head, rest) = text.split_at(start);
    let (middle, tail) = rest.split_at(rest.len() - end);
    html! {
        @if middle.is_empty() || head.trim().is_empty() && tail.is_empty() {
            (text)
        } @else if class == "del" {
            (head) del { (middle) } (tail)
        } @else {
            (head) ins { (middle) } (tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::hunks;
    use crate::model::ObjectRef;

    fn diff(change: Change, before: &str, after: &str) -> ObjectDiff {
        ObjectDiff { object: ObjectRef::new("v1", "Service", "prod", "shop"), change, hunks: hunks(before, after) }
    }

    #[test]
    fn what_came_stands_beside_what_went() {
        let hunks = hunks("a\nb\nc\n", "a\nB\nB2\nc\n");
        let expected = [
            Row::Same { before: 1, after: 1, text: "a" },
            Row::Different { before: Some((2, "b")), after: Some((2, "B")) },
            Row::Different { before: None, after: Some((3, "B2")) },
            Row::Same { before: 3, after: 4, text: "c" },
        ];
        assert_eq!(rows(&hunks), expected);
    }

    #[test]
    fn equal_lines_that_are_left_out_are_counted() {
        let lines = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(20));
        let hunks = hunks(&lines("a", "y"), &lines("b", "z"));
        let gaps: Vec<_> = rows(&hunks).into_iter().filter(|row| matches!(row, Row::Gap(_))).collect();
        assert_eq!(gaps, [Row::Gap(14)]);
    }

    #[test]
    fn only_what_differs_of_a_line_is_marked() {
        let text = object(&diff(Change::Changed, "weight: 20\n", "weight: 40\n")).into_string();
        assert!(text.contains("weight: <del>2</del>0") && text.contains("weight: <ins>4</ins>0"), "{text}");
        assert_eq!(common("äöü", "äxü"), (2, 2));
        assert_eq!(common("aa", "aaa"), (2, 0));
    }

    #[test]
    fn a_manifest_holds_no_markup() {
        let text = object(&diff(Change::Added, "", "a: </td><script>x</script>\nb: \u{202e}\n")).into_string();
        assert!(text.contains("&lt;/td&gt;&lt;script&gt;") && text.contains("\\u{202e}"), "{text}");
        assert!(!text.contains("<script"), "{text}");
    }

    #[test]
    fn a_very_long_object_is_cut_and_says_so() {
        let text = object(&diff(Change::Added, "", &"a\n".repeat(MOST_ROWS + 1))).into_string();
        assert!(text.contains("1 more line not shown here") && !text.contains("<details class=\"object\" open"), "{}", text.len());
    }
}
