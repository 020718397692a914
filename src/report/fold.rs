//! Diffs from state to state, with near-identical ones folded: shown once, with what varies between the steps.
//!
//! Two changes of one object are alike when they have the same lines but for a few values of the same fields.

use std::collections::BTreeSet;

use crate::diff::{Change, Hunk, ObjectDiff, Side};
use crate::model::ObjectRef;

use super::Transition;

/// More values than this do not vary in passing: the changes are different ones.
const MOST_VARYING: usize = 8;

/// A value longer than this is not shown in a table.
const LONGEST_VALUE: usize = 60;

/// What changes between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The state before: `baseline`, `step-1`.
    pub from: String,
    /// The state after: `step-2`, `target`.
    pub to: String,
    /// The objects that differ, sorted.
    pub objects: Vec<ObjectChange>,
}

/// How one object differs on a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectChange {
    /// The object.
    pub object: ObjectRef,
    /// What happens to it.
    pub change: Change,
    /// Its lines, or where they are shown.
    pub body: Body,
}

/// The lines of a change, or where they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Here.
    Shown {
        /// The changed lines, with some around them.
        hunks: Vec<Hunk>,
        /// The later ways that change the object alike; none when there is no other.
        repeats: Option<Repeats>,
    },
    /// At the way of this index, among the ways of the release.
    Repeats(usize),
}

/// The ways that change an object alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// The values that vary; empty when the changes are equal.
    pub varying: Vec<Varying>,
    /// The indices of the ways, that of the shown change first.
    pub ways: Vec<usize>,
}

/// One value that varies between ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Varying {
    /// The field: `weight`.
    pub field: String,
    /// The line of the shown change, afterwards where it is there then; tells two fields of one name apart.
    pub line: usize,
    /// For each of `Repeats::ways` the value before and after; one is none where a line only comes or goes.
    pub values: Vec<(Option<String>, Option<String>)>,
}

impl Way {
    /// `step-1 → step-2`.
    pub fn said(&self) -> String {
        format!("{} → {}", self.from, self.to)
    }
}

impl Varying {
    /// The value on the way of `Repeats::ways` at this index: `80 → 60`, or the one value that is there.
    pub fn said(&self, index: usize) -> String {
        match self.values.get(index) {
            Some((Some(before), Some(after))) if before != after => format!("{before} → {after}"),
            Some((_, Some(value)) | (Some(value), None)) => value.clone(),
            Some((None, None)) | None => String::new(),
        }
    }
}

/// Returns the ways of a release with repeated changes folded.
pub(super) fn ways(transitions: &[Transition]) -> Vec<Way> {
    let mut groups: Vec<Vec<(usize, &ObjectDiff)>> = Vec::new();
    for (way, transition) in transitions.iter().enumerate() {
        for diff in &transition.diffs {
            match groups.iter_mut().find(|group| is_alike(group, diff)) {
                Some(group) => group.push((way, diff)),
                None => groups.push(vec![(way, diff)]),
            }
        }
    }
    let mut ways: Vec<Way> = transitions
        .iter()
        .map(|transition| Way { from: transition.from.clone(), to: transition.to.clone(), objects: Vec::new() })
        .collect();
    for group in &groups {
        let Some((first, shown)) = group.first() else { continue };
        let of = |body| ObjectChange { object: shown.object.clone(), change: shown.change, body };
        let repeats = (group.len() > 1).then(|| Repeats { varying: varying(group), ways: group.iter().map(|(way, _)| *way).collect() });
        ways[*first].objects.push(of(Body::Shown { hunks: shown.hunks.clone(), repeats }));
        for (way, _) in &group[1..] {
            ways[*way].objects.push(of(Body::Repeats(*first)));
        }
    }
    for way in &mut ways {
        way.objects.sort_by(|one, other| one.object.cmp(&other.object));
    }
    ways
}

/// A line of a change, and where it stands.
struct Spot<'a> {
    side: Side,
    /// Lines of one block of changed lines have one number.
    block: usize,
    /// The line's number in the file that it stands in.
    number: usize,
    text: &'a str,
}

/// The lines of a change, one after the other.
fn spots(hunks: &[Hunk]) -> Vec<Spot<'_>> {
    let (mut spots, mut block) = (Vec::new(), 0);
    for hunk in hunks {
        let (mut before, mut after) = (hunk.before_start, hunk.after_start);
        block += 1;
        for line in &hunk.lines {
            let number = if line.side == Side::Before { before } else { after };
            match line.side {
                Side::Both => (before, after, block) = (before + 1, after + 1, block + 1),
                Side::Before => before += 1,
                Side::After => after += 1,
            }
            spots.push(Spot { side: line.side, block, number, text: &line.text });
        }
    }
    spots
}

/// Whether a change is that of the group but for a few values.
fn is_alike(group: &[(usize, &ObjectDiff)], diff: &ObjectDiff) -> bool {
    let Some((_, first)) = group.first() else { return false };
    let is_same_shape = first.object == diff.object
        && first.change == diff.change
        && first.hunks.len() == diff.hunks.len()
        && first.hunks.iter().zip(&diff.hunks).all(|(one, other)| one.lines.len() == other.lines.len());
    if !is_same_shape {
        return false;
    }
    let is_same_field = |(one, other): (&Spot<'_>, &Spot<'_>)| {
        let ((field, value), (other_field, other_value)) = (split(one.text), split(other.text));
        let is_short = value.len() <= LONGEST_VALUE && other_value.len() <= LONGEST_VALUE;
        one.side == other.side && field == other_field && (value == other_value || is_short)
    };
    if !spots(&first.hunks).iter().zip(&spots(&diff.hunks)).all(is_same_field) {
        return false;
    }
    let together: Vec<_> = group.iter().copied().chain([(0, diff)]).collect();
    let all: Vec<Vec<Spot<'_>>> = together.iter().map(|(_, diff)| spots(&diff.hunks)).collect();
    // A value that goes and the one that comes for it are two lines.
    differing(&all).len() <= 2 * MOST_VARYING
}

/// The indices of the lines that are not the same in all changes.
fn differing(all: &[Vec<Spot<'_>>]) -> Vec<usize> {
    let Some(first) = all.first() else { return Vec::new() };
    (0..first.len()).filter(|index| all.iter().any(|spots| spots[*index].text != first[*index].text)).collect()
}

/// The values that are not the same in all of the group. A value that goes and the one that comes for it are one.
fn varying(group: &[(usize, &ObjectDiff)]) -> Vec<Varying> {
    let all: Vec<Vec<Spot<'_>>> = group.iter().map(|(_, diff)| spots(&diff.hunks)).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let mut pairs = BTreeSet::new();
    for index in differing(&all) {
        let partner = partner(first, index);
        pairs.insert(match first[index].side {
            Side::Both => (Some(index), Some(index)),
            Side::Before => (Some(index), partner),
            Side::After => (partner, Some(index)),
        });
    }
    let value = |spots: &Vec<Spot<'_>>, index: usize| split(spots[index].text).1.to_owned();
    let mut varying: Vec<Varying> = pairs
        .into_iter()
        .filter_map(|(before, after)| {
            let shown = &first[after.or(before)?];
            let values = all.iter().map(|spots| (before.map(|index| value(spots, index)), after.map(|index| value(spots, index))));
            Some(Varying { field: named(split(shown.text).0), line: shown.number, values: values.collect() })
        })
        .collect();
    varying.sort_by_key(|varying| varying.line);
    varying
}

/// The line that comes for the one that goes, or goes for the one that comes: of the same field in the same block.
fn partner(spots: &[Spot<'_>], index: usize) -> Option<usize> {
    let Spot { side, block, .. } = spots[index];
    let field = split(spots[index].text).0;
    let of_field = |wanted: Side| {
        let spots = spots.iter().enumerate();
        spots.filter(move |(_, spot)| spot.block == block && spot.side == wanted && split(spot.text).0 == field).map(|(other, _)| other)
    };
    let rank = of_field(side).take_while(|other| *other < index).count();
    let opposite = match side {
        Side::Before => Side::After,
        Side::After => Side::Before,
        Side::Both => return None,
    };
    of_field(opposite).nth(rank)
}

/// A line of YAML as its field and its value; all of it is the field where no value stands in it.
fn split(line: &str) -> (&str, &str) {
    match line.find(": ") {
        Some(end) => line.split_at(end + 2),
        None => match line.trim_start().strip_prefix("- ") {
            Some(value) if !value.ends_with(':') => line.split_at(line.len() - value.len()),
            Some(_) | None => (line, ""),
        },
    }
}

/// `      - weight: ` is `weight`; an element of a list is `-`.
fn named(field: &str) -> String {
    let field = field.trim_start();
    let name = field.trim_start_matches("- ").trim_end_matches(": ");
    if name.is_empty() { "-".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::diff::between;

    fn route(stable: u32, canary: u32) -> Value {
        json!({"spec": {"rules": [{"backends": [{"name": "shop", "weight": stable}, {"name": "shop-canary", "weight": canary}]}]}})
    }

    fn transition(from: &str, to: &str, before: &Value, after: &Value) -> Transition {
        let named = |value: &Value| BTreeMap::from([(ObjectRef::new("v1", "Route", "prod", "shop"), value.clone())]);
        Transition { from: from.into(), to: to.into(), diffs: between(&named(before), &named(after)) }
    }

    #[track_caller]
    fn shown(way: &Way) -> &Repeats {
        match &way.objects[0].body {
            Body::Shown { repeats: Some(repeats), .. } => repeats,
            other @ (Body::Shown { .. } | Body::Repeats(_)) => panic!("not shown with repeats: {other:?}"),
        }
    }

    #[test]
    fn steps_that_differ_in_a_weight_are_shown_once_with_the_weights() {
        let ways = ways(&[
            transition("step-1", "step-2", &route(90, 10), &route(80, 20)),
            transition("step-2", "step-3", &route(80, 20), &route(60, 40)),
            transition("step-3", "step-4", &route(60, 40), &route(0, 100)),
        ]);
        let repeats = shown(&ways[0]);
        assert_eq!(repeats.ways, [0, 1, 2]);
        let said: Vec<_> = repeats.varying.iter().map(|varying| (0..3).map(|index| varying.said(index)).collect::<Vec<_>>()).collect();
        assert_eq!(said, [["90 → 80", "80 → 60", "60 → 0"], ["10 → 20", "20 → 40", "40 → 100"]]);
        assert_eq!(
            repeats.varying.iter().map(|varying| (varying.field.as_str(), varying.line)).collect::<Vec<_>>(),
            [("weight", 5), ("weight", 7)]
        );
        assert_eq!(ways[1].objects[0].body, Body::Repeats(0));
        assert_eq!(ways[2].objects[0].body, Body::Repeats(0));
    }

    #[test]
    fn equal_changes_are_shown_once_and_nothing_varies() {
        let ways = ways(&[
            transition("step-1", "target", &route(90, 10), &route(100, 0)),
            transition("step-1", "baseline", &route(90, 10), &route(100, 0)),
        ]);
        assert_eq!(shown(&ways[0]), &Repeats { varying: Vec::new(), ways: vec![0, 1] });
    }

    #[test]
    fn changes_of_other_fields_are_each_shown() {
        let (mut other, start) = (route(90, 10), route(90, 10));
        other["spec"]["host"] = json!("x");
        let ways = ways(&[transition("a", "b", &start, &route(80, 20)), transition("b", "c", &start, &other)]);
        assert!(ways.iter().all(|way| matches!(way.objects[0].body, Body::Shown { repeats: None, .. })), "{ways:?}");
    }

    #[test]
    fn where_much_varies_each_change_is_shown() {
        let wide = |from: u32| json!({"list": (0..12).map(|index| json!({"value": from + index})).collect::<Vec<_>>()});
        let ways = ways(&[transition("a", "b", &wide(0), &wide(100)), transition("b", "c", &wide(100), &wide(200))]);
        assert!(ways.iter().all(|way| matches!(way.objects[0].body, Body::Shown { repeats: None, .. })), "{ways:?}");
    }

    #[test]
    fn a_long_value_is_never_told_in_passing() {
        let value = |letter: &str| json!({"text": letter.repeat(100)});
        let ways = ways(&[transition("a", "b", &value("a"), &value("b")), transition("b", "c", &value("b"), &value("c"))]);
        assert_eq!(ways.iter().filter(|way| matches!(way.objects[0].body, Body::Shown { .. })).count(), 2);
    }
}
