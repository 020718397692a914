//! Which lines of two texts are the same line.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// So many different lines are looked for, one by one, in the other text.
const MOST_SOUGHT: usize = 64;

/// Returns what leads from one text to the other.
pub(super) fn align(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    in_order(before, after).unwrap_or_else(|| capture_diff_slices(Algorithm::Histogram, before, after))
}

/// What leads from one text to the other where all lines that both have stand in the same order in both: then there is only one
/// way to keep all of them. It is so where values change in place, as they do from step to step.
fn in_order(before: &[&str], after: &[&str]) -> Option<Vec<DiffOp>> {
    let (mut sought_before, mut sought_after) = (Sought::of(before), Sought::of(after));
    let mut operations = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < before.len() || new < after.len() {
        let len = before[old..].iter().zip(&after[new..]).take_while(|(one, other)| one == other).count();
        if len > 0 {
            operations.push(DiffOp::Equal { old_index: old, new_index: new, len });
        }
        (old, new) = (old + len, new + len);
        let (old_index, new_index) = (old, new);
        while let Some(line) = before.get(old)
            && !sought_after.has(line)?
        {
            old += 1;
        }
        while let Some(line) = after.get(new)
            && !sought_before.has(line)?
        {
            new += 1;
        }
        match (old - old_index, new - new_index) {
            (0, 0) if old < before.len() || new < after.len() => return None,
            (0, 0) => {}
            (old_len, 0) => operations.push(DiffOp::Delete { old_index, old_len, new_index }),
            (0, new_len) => operations.push(DiffOp::Insert { old_index, new_index, new_len }),
            (old_len, new_len) => operations.push(DiffOp::Replace { old_index, old_len, new_index, new_len }),
        }
    }
    Some(operations)
}

/// A text that lines of the other one are looked for in.
struct Sought<'a> {
    lines: &'a [&'a str],
    known: Vec<(&'a str, bool)>,
}

impl<'a> Sought<'a> {
    fn of(lines: &'a [&'a str]) -> Self {
        Self { lines, known: Vec::new() }
    }

    /// Whether the text has the line; none when too many were looked for.
    fn has(&mut self, line: &'a str) -> Option<bool> {
        if let Some((_, has)) = self.known.iter().find(|(known, _)| *known == line) {
            return Some(*has);
        }
        if self.known.len() == MOST_SOUGHT {
            return None;
        }
        let has = self.lines.contains(&line);
        self.known.push((line, has));
        Some(has)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{Algorithm, DiffOp, capture_diff_slices};

    use super::{align, in_order};

    /// What both texts keep, by line.
    fn kept(operations: &[DiffOp]) -> Vec<(usize, usize)> {
        let equal = operations.iter().filter_map(|operation| match operation {
            DiffOp::Equal { old_index, new_index, len } => Some((*old_index, *new_index, *len)),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => None,
        });
        equal.flat_map(|(old, new, len)| (0..len).map(move |index| (old + index, new + index))).collect()
    }

    #[test]
    fn values_that_change_in_place_are_seen_at_once() {
        let before = ["http:", "- route:", "  weight: 80", "  weight: 20", "- route:", "  weight: 80"];
        let after = ["http:", "- route:", "  weight: 60", "  weight: 40", "- route:", "  weight: 60"];
        let operations = in_order(&before, &after).expect("nothing moves");
        assert_eq!(kept(&operations), [(0, 0), (1, 1), (4, 4)]);
        assert_eq!(operations, capture_diff_slices(Algorithm::Histogram, &before, &after));
    }

    #[test]
    fn what_moves_is_for_the_general_way() {
        assert_eq!(in_order(&["a", "b"], &["b", "a"]), None);
        assert_eq!(in_order(&["a"], &["a", "a"]), None);
        assert_eq!(align(&["a"], &["a", "a"]), capture_diff_slices(Algorithm::Histogram, &["a"], &["a", "a"]));
    }

    proptest! {
        #[test]
        fn no_common_line_is_lost_and_both_texts_are_told_whole(
            before in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "x", "y"]), 0..12),
            after in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "p", "q"]), 0..12),
        ) {
            let Some(operations) = in_order(&before, &after) else { return Ok(()) };
            let kept = kept(&operations);
            prop_assert!(kept.iter().all(|(old, new)| before[*old] == after[*new]));
            prop_assert_eq!(kept.len(), before.iter().filter(|line| after.contains(line)).count());
            prop_assert_eq!(kept.len(), after.iter().filter(|line| before.contains(line)).count());
            prop_assert_eq!(operations.iter().map(|operation| operation.old_range().len()).sum::<usize>(), before.len());
            prop_assert_eq!(operations.iter().map(|operation| operation.new_range().len()).sum::<usize>(), after.len());
        }

        #[test]
        fn lines_that_occur_once_are_kept_as_by_the_general_way(
            lines in prop::collection::vec(0..4_u8, 0..40),
        ) {
            let side = |mark: u8, word: &str| -> Vec<String> {
                let kept = lines.iter().enumerate().filter(|(_, what)| **what != mark);
                kept.map(|(index, what)| if *what == 2 { format!("{word} {index}") } else { format!("line {index}") }).collect()
            };
            let (before, after) = (side(0, "old"), side(1, "new"));
            let (before, after): (Vec<&str>, Vec<&str>) = (before.iter().map(String::as_str).collect(), after.iter().map(String::as_str).collect());
            prop_assert_eq!(align(&before, &after), capture_diff_slices(Algorithm::Histogram, &before, &after));
        }
    }
}
