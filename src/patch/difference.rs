//! Where two objects differ at some paths, in words.

use std::fmt;

use serde_json::Value;

use super::owners::{Writer, writer};
use crate::model::pointer::escape;

/// One field that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where.
    pub pointer: String,
    /// What is there; `None`: nothing.
    pub is: Option<Value>,
    /// What should be there; `None`: nothing.
    pub should: Option<Value>,
    /// Who wrote what is there, or what is around it.
    pub writer: Option<Writer>,
}

/// Returns every field at or below `paths` in which `live` differs from `wanted`. Nulls, empty maps and missing fields are
/// the same. `wanted` should have passed through the API server (a dry run), so that defaults and quantities are alike.
pub fn differences(live: &Value, wanted: &Value, paths: &[String]) -> Vec<Difference> {
    let mut found = Vec::new();
    for path in paths {
        compare(path, live.pointer(path), wanted.pointer(path), &mut found);
    }
    found.sort_by(|one, other| one.pointer.cmp(&other.pointer));
    found.dedup();
    for difference in &mut found {
        difference.writer = writer(live, &difference.pointer);
    }
    found
}

fn compare(pointer: &str, is: Option<&Value>, should: Option<&Value>, found: &mut Vec<Difference>) {
    let nothing = |value: &&Value| match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    };
    let (is, should) = (is.filter(|value| !nothing(value)), should.filter(|value| !nothing(value)));
    match (is, should) {
        (Some(is), Some(should)) if is == should => {}
        (None, None) => {}
        (Some(Value::Object(is)), Some(Value::Object(should))) => {
            let mut keys: Vec<&String> = is.keys().chain(should.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                compare(&format!("{pointer}/{}", escape(key)), is.get(key), should.get(key), found);
            }
        }
        (Some(Value::Array(is)), Some(Value::Array(should))) if is.len() == should.len() => {
            for (index, (is, should)) in is.iter().zip(should).enumerate() {
                compare(&format!("{pointer}/{index}"), Some(is), Some(should), found);
            }
        }
        (is, should) => {
            found.push(Difference { pointer: pointer.to_owned(), is: is.cloned(), should: should.cloned(), writer: None });
        }
    }
}

/// `/spec/replicas is 3, not 4 (kubectl-edit wrote it)`.
impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.is, &self.should) {
            (Some(is), Some(should)) => write!(formatter, "{} is {}, not {}", self.pointer, shown(is), shown(should))?,
            (Some(is), None) => write!(formatter, "{} is {}, and should not be there", self.pointer, shown(is))?,
            (None, Some(should)) => write!(formatter, "{} is missing, and should be {}", self.pointer, shown(should))?,
            (None, None) => write!(formatter, "{} differs", self.pointer)?,
        }
        match &self.writer {
            Some(Writer { manager, time: Some(time) }) => write!(formatter, " (`{}` wrote it at {time})", manager.escape_debug()),
            Some(Writer { manager, time: None }) => write!(formatter, " (`{}` wrote it)", manager.escape_debug()),
            None => Ok(()),
        }
    }
}

/// A value in one line, at most 80 characters of it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(79).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::differences;

    #[track_caller]
    fn case(live: &Value, wanted: &Value, expected: &[&str]) {
        let found: Vec<String> = differences(live, wanted, &["/spec".to_owned()]).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_field_is_told_with_both_values() {
        case(
            &json!({"spec": {"replicas": 3, "selector": {"app": "a", "extra": "b"}, "list": [1, 2]}}),
            &json!({"spec": {"replicas": 4, "selector": {"app": "a"}, "list": [1, 3], "more": true}}),
            &[
                "/spec/list/1 is 2, not 3",
                "/spec/more is missing, and should be true",
                "/spec/replicas is 3, not 4",
                "/spec/selector/extra is \"b\", and should not be there",
            ],
        );
    }

    #[test]
    fn nothing_written_in_several_ways_is_no_difference() {
        case(&json!({"spec": {"a": null, "c": {}}}), &json!({"spec": {"b": null}}), &[]);
    }

    #[test]
    fn the_writer_is_named_and_long_values_are_cut() {
        let live = json!({
            "metadata": {"managedFields": [{"manager": "kubectl-edit", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:a": {}}}}]},
            "spec": {"a": "x".repeat(200)},
        });
        let found = differences(&live, &json!({}), &["/spec/a".to_owned()]);
        let text = found[0].to_string();
        assert!(text.contains('…') && text.ends_with("(`kubectl-edit` wrote it at 2026-01-02T00:00:00Z)"), "{text}");
    }

    #[test]
    fn overlapping_paths_tell_a_difference_once() {
        let paths = ["/spec".to_owned(), "/spec/a".to_owned()];
        assert_eq!(differences(&json!({"spec": {"a": 1}}), &json!({}), &paths).len(), 2);
        assert_eq!(differences(&json!({"spec": {"a": 1}}), &json!({"spec": {"a": 2}}), &paths).len(), 1);
    }
}
