//! Case files with what their scripts give now as what is expected.

use serde_json::{Map, Value, json};

use super::case::{Case, Expectation};
use super::{Outcome, compare, find, judge, results};
use crate::files::Files;
use crate::model::Gateway;
use crate::render::script_answer::{with_answer, with_ingress_answer};
use crate::yaml;

/// Returns the case files that change when every step that can be run is expected to give what it gives.
///
/// Only the block `expected` is written anew; a case with a step that fails stays as it is.
pub fn bless(files: &Files, shipped: &[(String, Gateway)]) -> Files {
    let mut changed = Files::default();
    for found in find::cases(files, shipped) {
        if let Some(text) = results(&found).ok().and_then(|(case, results)| blessed(found.text, &case, results)) {
            changed.insert(found.path, text.into_bytes());
        }
    }
    changed
}

fn blessed(text: &str, case: &Case, results: Vec<Result<Value, String>>) -> Option<String> {
    let is_good =
        |(index, result): (usize, &Result<Value, String>)| judge(case, case.expected.get(index), result.clone()) == Outcome::Passed;
    if case.expected.len() == results.len() && results.iter().enumerate().all(is_good) {
        return None;
    }
    let mut objects = Vec::with_capacity(results.len());
    for (index, result) in results.into_iter().enumerate() {
        match (result, case.expected.get(index)) {
            (Ok(result), Some(Expectation::Object(object))) => objects.push(with(object, &result, case)),
            (Ok(result), Some(Expectation::Error(_)) | None) => objects.push(with(&empty(case), &result, case)),
            (Err(message), Some(Expectation::Error(text))) if message.contains(text) => objects.push(json!({"error": text})),
            (Err(_), _) => return None,
        }
    }
    replaced(text, &yaml::write(&json!({"expected": objects})))
}

/// The names of the original, without its content.
fn empty(case: &Case) -> Value {
    let mut object = Map::new();
    for key in ["apiVersion", "kind"] {
        object.insert(key.into(), case.original().get(key).cloned().unwrap_or_default());
    }
    let name = case.original().pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    object.insert("metadata".into(), json!({"name": if case.is_ingress() { format!("{name}-canary") } else { name.to_owned() }}));
    Value::Object(object)
}

fn with(object: &Value, result: &Value, case: &Case) -> Value {
    if compare::is_same(&case.compared(object), result) {
        return object.clone();
    }
    if case.is_ingress() {
        return with_ingress_answer(object, result.get("annotations").cloned());
    }
    with_answer(object, result.as_object().cloned().unwrap_or_default())
}

/// The text with another block `expected`, in its place or at the end; none where the block's lines cannot be told.
fn replaced(text: &str, block: &str) -> Option<String> {
    let raw = yaml::split(text).ok()?.into_iter().next()?;
    let document = yaml::read(&raw).ok()??;
    let root = document.places.root();
    let line_of = |key: &str| long(document.places.key_position(document.places.field(root, key)).line).checked_sub(1);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if document.value.get("expected").is_none() {
        let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{text}{separator}{block}"));
    }
    let start = line_of("expected")?;
    lines.get(start)?.strip_prefix("expected").filter(|rest| rest.trim_start().starts_with(':'))?;
    let keys = document.value.as_object()?.keys().filter(|key| *key != "expected");
    let next = keys.filter_map(|key| line_of(key)).filter(|line| *line > start).min();
    let is_end = |line: &&str| line.starts_with("---") || line.starts_with("...");
    let last = || lines.iter().skip(start).position(is_end).map_or(lines.len(), |count| start + count);
    let mut end = next.unwrap_or_else(last);
    // What is said in comments before the next key is said about that one.
    while lines[start + 1..end].last().is_some_and(|line| line.trim().is_empty() || line.starts_with('#')) {
        end -= 1;
    }
    end += lines[end..].iter().take_while(|line| line.trim().is_empty()).count();
    Some([&lines[..start].concat(), block, &lines[end..].concat()].concat())
}

fn long(line: u32) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        assert_eq!(replaced(text, "expected: []\n").as_deref(), Some(expected));
    }

    #[test]
    fn only_the_block_of_expectations_is_written_anew() {
        let text = "# why\noriginal: {}\nexpected:\n- a: 1\n\n  b: 2\n# more\nrollout: {}\n";
        case(text, "# why\noriginal: {}\nexpected: []\n# more\nrollout: {}\n");
        case("original: {}", "original: {}\nexpected: []\n");
    }

    #[test]
    fn a_comment_between_two_expectations_does_not_end_the_block() {
        let text = "original: {}\nexpected:\n- a: 1\n# the second step\n- b: |\n    c\n\n# the end\n";
        case(text, "original: {}\nexpected: []\n# the end\n");
        case("expected:\n# first\n- a: 1\nrollout: {}\n", "expected: []\nrollout: {}\n");
        case("expected:\n- a: 1\n---\nb: 2\n", "expected: []\n---\nb: 2\n");
    }
}
