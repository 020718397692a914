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
    Some(replaced(text, &yaml::write(&json!({"expected": objects}))))
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

/// The text with another block `expected`, in its place or at the end.
fn replaced(text: &str, block: &str) -> String {
    let is_key = |line: &str| line.strip_prefix("expected").is_some_and(|rest| rest.trim_start().starts_with(':'));
    let is_inside = |line: &str| line.trim().is_empty() || line.starts_with([' ', '-', '\t']);
    let mut result = String::with_capacity(text.len() + block.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next_if(|line| !is_key(line)) {
        result.push_str(line);
    }
    if !result.is_empty() && !result.ends_with('\n') {
        result.push('\n');
    }
    result.push_str(block);
    lines.next();
    while lines.next_if(|line| is_inside(line)).is_some() {}
    result.extend(lines);
    result
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_the_block_of_expectations_is_written_anew() {
        let text = "# why\noriginal: {}\nexpected:\n- a: 1\n\n  b: 2\n# more\nrollout: {}\n";
        assert_eq!(replaced(text, "expected: []\n"), "# why\noriginal: {}\nexpected: []\n# more\nrollout: {}\n");
        assert_eq!(replaced("original: {}", "expected: []\n"), "original: {}\nexpected: []\n");
    }
}
