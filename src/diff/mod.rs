//! Changes between two sets of manifests, as values and as unified diffs.
//!
//! What is compared is the YAML that kubectl would print: sorted keys, one spelling of every value.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use similar::{DiffOp, DiffTag};

use crate::model::ObjectRef;
use crate::yaml;

mod align;
mod unified;

pub use unified::{label, one, unified};

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// How one object differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObjectDiff {
    /// The object.
    pub object: ObjectRef,
    /// What happens to it.
    pub change: Change,
    /// The changed lines, with some around them.
    pub hunks: Vec<Hunk>,
}

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It exists only afterwards.
    Added,
    /// It exists before and afterwards.
    Changed,
    /// It exists only before.
    Removed,
}

/// Neighbouring changed lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// The first line before, counted from 1; 0 where there is none.
    pub before_start: usize,
    /// How many lines before.
    pub before_count: usize,
    /// The first line afterwards, counted from 1; 0 where there is none.
    pub after_start: usize,
    /// How many lines afterwards.
    pub after_count: usize,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// Where the line stands.
    pub side: Side,
    /// The line, without its end.
    pub text: String,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Before and afterwards.
    Both,
    /// Only before.
    Before,
    /// Only afterwards.
    After,
}

/// Returns how each object differs, sorted by object; objects that are equal are left out.
pub fn between(before: &BTreeMap<ObjectRef, Value>, after: &BTreeMap<ObjectRef, Value>) -> Vec<ObjectDiff> {
    let texts = |objects: &BTreeMap<ObjectRef, Value>, others: &BTreeMap<ObjectRef, Value>| -> BTreeMap<ObjectRef, String> {
        let differing = objects.iter().filter(|(object, value)| others.get(*object) != Some(*value));
        differing.map(|(object, value)| (object.clone(), yaml::write_json(value))).collect()
    };
    let (before, after) = (texts(before, after), texts(after, before));
    between_texts(&borrowed(&before), &borrowed(&after))
}

fn borrowed(texts: &BTreeMap<ObjectRef, String>) -> BTreeMap<&ObjectRef, &str> {
    texts.iter().map(|(object, text)| (object, text.as_str())).collect()
}

/// Returns the same for objects that were written as YAML before.
pub fn between_texts(before: &BTreeMap<&ObjectRef, &str>, after: &BTreeMap<&ObjectRef, &str>) -> Vec<ObjectDiff> {
    let objects: BTreeSet<&ObjectRef> = before.keys().chain(after.keys()).copied().collect();
    objects
        .into_iter()
        .filter_map(|object| {
            let (change, old, new) = match (before.get(object), after.get(object)) {
                (Some(old), Some(new)) => (Change::Changed, *old, *new),
                (Some(old), None) => (Change::Removed, *old, ""),
                (None, Some(new)) => (Change::Added, "", *new),
                (None, None) => return None,
            };
            let hunks = hunks(old, new);
            // Values that differ only in spelling, such as 1 and 1.0, are one value.
            (!hunks.is_empty()).then(|| ObjectDiff { object: object.clone(), change, hunks })
        })
        .collect()
}

/// Returns the hunks between two texts.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    if before == after {
        return Vec::new();
    }
    if before.is_empty() || after.is_empty() {
        return vec![whole(before, after)];
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let operations = similar::group_diff_ops(align::align(&before, &after), CONTEXT);
    operations.iter().filter_map(|operations| hunk(operations, &before, &after)).collect()
}

/// The hunk of neighbouring operations.
fn hunk(operations: &[DiffOp], before: &[&str], after: &[&str]) -> Option<Hunk> {
    let (first, last) = (operations.first()?, operations.last()?);
    let (old, new) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut add = |side, texts: &[&str]| {
        lines.extend(texts.iter().map(|text| Line { side, text: text.strip_suffix('\n').unwrap_or(text).to_owned() }));
    };
    for operation in operations {
        match operation.tag() {
            DiffTag::Equal => add(Side::Both, &before[operation.old_range()]),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                add(Side::Before, &before[operation.old_range()]);
                add(Side::After, &after[operation.new_range()]);
            }
        }
    }
    Some(Hunk {
        before_start: old.start + usize::from(!old.is_empty()),
        before_count: old.len(),
        after_start: new.start + usize::from(!new.is_empty()),
        after_count: new.len(),
        lines,
    })
}

/// The one hunk of a text that comes or goes as a whole; the other is empty.
fn whole(before: &str, after: &str) -> Hunk {
    let lines =
        |text: &'_ str, side| -> Vec<Line> { text.split_terminator('\n').map(|line| Line { side, text: line.to_owned() }).collect() };
    let (mut gone, come) = (lines(before, Side::Before), lines(after, Side::After));
    let (before_count, after_count) = (gone.len(), come.len());
    gone.extend(come);
    Hunk { before_start: usize::from(before_count > 0), before_count, after_start: usize::from(after_count > 0), after_count, lines: gone }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{Change, between, hunks, unified};
    use crate::model::ObjectRef;

    fn one(value: &Value) -> BTreeMap<ObjectRef, Value> {
        BTreeMap::from([(ObjectRef::new("apps/v1", "Deployment", "prod", "shop"), value.clone())])
    }

    #[test]
    fn equal_objects_have_no_difference() {
        let value = json!({"a": 1});
        assert!(between(&one(&value), &one(&value)).is_empty());
    }

    #[test]
    fn a_changed_object_shows_the_change_with_three_lines_around() {
        let before = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1});
        let mut after = before.clone();
        after["e"] = json!(2);
        let diffs = between(&one(&before), &one(&after));
        assert_eq!(diffs[0].change, Change::Changed);
        assert_eq!(
            unified(&diffs),
            "--- a/prod/Deployment.apps/shop\n+++ b/prod/Deployment.apps/shop\n@@ -2,7 +2,7 @@\n b: 1\n c: 1\n d: 1\n-e: 1\n+e: 2\n f: 1\n g: 1\n h: 1\n"
        );
    }

    #[test]
    fn what_comes_and_goes_is_compared_with_nothing() {
        let (value, nothing) = (json!({"a": 1}), BTreeMap::new());
        assert_eq!(unified(&between(&nothing, &one(&value))), "--- /dev/null\n+++ b/prod/Deployment.apps/shop\n@@ -0,0 +1 @@\n+a: 1\n");
        assert_eq!(unified(&between(&one(&value), &nothing)), "--- a/prod/Deployment.apps/shop\n+++ /dev/null\n@@ -1 +0,0 @@\n-a: 1\n");
    }

    #[test]
    fn a_core_object_has_no_group_and_no_name_breaks_a_line() {
        let object = ObjectRef::new("v1", "Service", "prod", "shop\n+++ b/x");
        let diffs = between(&BTreeMap::new(), &BTreeMap::from([(object, json!({}))]));
        assert!(unified(&diffs).starts_with("--- /dev/null\n+++ b/prod/Service/shop\\n+++ b/x\n"));
    }

    #[test]
    fn two_large_texts_without_a_common_line_are_compared() {
        let text = |word: &str| (0..10_000).map(|line| format!("{word} {line}")).collect::<Vec<_>>().join("\n");
        assert_eq!(hunks(&text("old"), &text("new")).len(), 1);
    }
}
