//! Which lines of two texts are the same line.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

/// So many different lines are looked for, one by one, in the other text.
const MOST_SOUGHT: usize = 64;

/// Returns what leads from one text to the other.
pub(super) fn align(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    in_order(before, after)
        .or_else(|| between_anchors(before, after))
        .unwrap_or_else(|| capture_diff_slices(Algorithm::Histogram, before, after))
}

/// What leads from one text to the other where the lines that are there once in both stand in the same order in both: each is
/// kept, and what lies between two of them is a small question of its own. It is so where routes get second destinations.
fn between_anchors(before: &[&str], after: &[&str]) -> Option<Vec<DiffOp>> {
    let anchors = anchors(before, after)?;
    let mut operations = Vec::new();
    let (mut old, mut new) = (0, 0);
    for (old_end, new_end) in anchors.into_iter().chain([(before.len(), after.len())]) {
        let (one, other) = (&before[old..old_end], &after[new..new_end]);
        let between = in_order(one, other).unwrap_or_else(|| capture_diff_slices(Algorithm::Histogram, one, other));
        for operation in between {
            push(&mut operations, shifted(operation, old, new));
        }
        if old_end < before.len() {
            push(&mut operations, DiffOp::Equal { old_index: old_end, new_index: new_end, len: 1 });
        }
        (old, new) = (old_end + 1, new_end + 1);
    }
    Some(operations)
}

/// Where the lines stand that are there once in both texts; none where there is no such line or their order differs.
fn anchors(before: &[&str], after: &[&str]) -> Option<Vec<(usize, usize)>> {
    let mut places: HashMap<&str, Place> = HashMap::with_capacity(before.len());
    for (index, line) in before.iter().enumerate() {
        places.entry(line).and_modify(|place| *place = Place::Many).or_insert(Place::Before(index));
    }
    for (index, line) in after.iter().enumerate() {
        if let Some(place) = places.get_mut(line) {
            *place = if let Place::Before(old) = *place { Place::Both(old, index) } else { Place::Many };
        }
    }
    let anchor = |line: &&str| if let Some(Place::Both(old, new)) = places.get(line) { Some((*old, *new)) } else { None };
    let anchors: Vec<_> = before.iter().filter_map(anchor).collect();
    (!anchors.is_empty() && anchors.is_sorted_by_key(|(_, new)| *new)).then_some(anchors)
}

/// Where a line was seen so far.
#[derive(Clone, Copy)]
enum Place {
    Before(usize),
    Both(usize, usize),
    Many,
}

/// The same operation in texts that begin so many lines earlier.
fn shifted(operation: DiffOp, old: usize, new: usize) -> DiffOp {
    let (old_index, new_index) = (operation.old_range().start + old, operation.new_range().start + new);
    let (old_len, new_len) = (operation.old_range().len(), operation.new_range().len());
    match operation.tag() {
        DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
        DiffTag::Delete => DiffOp::Delete { old_index, old_len, new_index },
        DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
        DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
    }
}

/// Adds an operation; equal lines behind equal lines are one operation.
fn push(operations: &mut Vec<DiffOp>, operation: DiffOp) {
    match (operations.last_mut(), operation) {
        (Some(DiffOp::Equal { len: before, .. }), DiffOp::Equal { len, .. }) => *before += len,
        (_, operation) => operations.push(operation),
    }
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

    use super::{align, between_anchors, in_order};

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
    fn what_stands_between_lines_that_occur_once_is_compared_by_itself() {
        let before = ["- name: one", "  port: 80", "- name: two", "  port: 80"];
        let after = ["- name: one", "  port: 80", "  weight: 5", "  port: 80", "- name: two", "  port: 80", "  weight: 5", "  port: 80"];
        let operations = between_anchors(&before, &after).expect("names occur once");
        assert_eq!(kept(&operations), [(0, 0), (1, 1), (2, 4), (3, 5)]);
        assert_eq!(between_anchors(&["a", "b"], &["b", "a"]), None);
        assert_eq!(between_anchors(&["a", "a"], &["a", "a", "a"]), None);
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
        fn both_texts_are_told_whole_in_alternating_operations(
            before in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "e", "x", "y"]), 0..12),
            after in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "e", "p", "q"]), 0..12),
        ) {
            let Some(operations) = between_anchors(&before, &after) else { return Ok(()) };
            let (mut old, mut new, mut was_equal) = (0, 0, None);
            for operation in &operations {
                prop_assert_eq!((operation.old_range().start, operation.new_range().start), (old, new));
                (old, new) = (operation.old_range().end, operation.new_range().end);
                let is_equal = matches!(operation, DiffOp::Equal { .. });
                prop_assert!(was_equal != Some(is_equal), "{:?}", operations);
                was_equal = Some(is_equal);
            }
            prop_assert_eq!((old, new), (before.len(), after.len()));
            prop_assert!(kept(&operations).iter().all(|(old, new)| before[*old] == after[*new]));
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
