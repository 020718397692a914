//! Fields of a status that this version does not know: a newer agent wrote them, and finds them again.
//!
//! Where they stand and what they say, nothing about what they mean.

use serde_json::{Map, Value};

use crate::model::pointer::escape;

/// Fields that were read and are not ours, to be written back as they were.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Unknown(Vec<Field>);

#[derive(Debug, Clone, PartialEq)]
struct Field {
    /// The JSON pointer of the map that holds it.
    parent: String,
    name: String,
    value: Value,
}

impl Unknown {
    /// Returns what stands in `stored` and not in `known`, which is the same as far as this version reads it.
    pub(super) fn of(stored: &Value, known: &Value) -> Self {
        let mut fields = Vec::new();
        if let (Some(stored), Some(known)) = (stored.as_object(), known.as_object()) {
            find(stored, known, "", &mut fields);
        }
        Self(fields)
    }

    /// Writes the fields beside the known ones. A field whose map is gone goes with it, and does not come back with another
    /// map of that name: it was about what is over.
    pub(super) fn put_back(&mut self, written: &mut Value) {
        self.0.retain(|field| {
            let Some(parent) = written.pointer_mut(&field.parent).and_then(Value::as_object_mut) else { return false };
            add(parent, &field.name, &field.value);
            true
        });
    }
}

fn find(stored: &Map<String, Value>, known: &Map<String, Value>, parent: &str, fields: &mut Vec<Field>) {
    for (name, value) in stored {
        match (value, known.get(name)) {
            (Value::Object(value), Some(Value::Object(known))) => find(value, known, &format!("{parent}/{}", escape(name)), fields),
            (_, Some(_)) => {}
            (value, None) => fields.push(Field { parent: parent.to_owned(), name: name.clone(), value: value.clone() }),
        }
    }
}

/// What this version has to say about a field comes first.
fn add(parent: &mut Map<String, Value>, name: &str, value: &Value) {
    match (parent.get_mut(name), value) {
        (None, value) => {
            parent.insert(name.to_owned(), value.clone());
        }
        (Some(Value::Object(known)), Value::Object(fields)) => {
            for (name, value) in fields {
                add(known, name, value);
            }
        }
        (Some(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Unknown;

    #[track_caller]
    fn case(stored: &Value, known: &Value, mut written: Value, expected: &Value) {
        Unknown::of(stored, known).put_back(&mut written);
        assert_eq!(&written, expected);
    }

    #[test]
    fn what_is_not_known_is_written_back_where_it_stood() {
        let stored = json!({"phase": "Gated", "forecast": {"rain": true}, "cursor": {"step": 1, "mood": "good"}});
        let known = json!({"phase": "Gated", "cursor": {"step": 1}});
        let written = json!({"phase": "Running", "cursor": {"step": 2}});
        let expected = json!({"phase": "Running", "forecast": {"rain": true}, "cursor": {"step": 2, "mood": "good"}});
        case(&stored, &known, written, &expected);
    }

    #[test]
    fn what_stood_in_a_map_that_is_gone_goes_with_it_for_good() {
        let stored = json!({"failure": {"reason": "no", "code": 7}});
        let mut unknown = Unknown::of(&stored, &json!({"failure": {"reason": "no"}}));
        let mut written = json!({});
        unknown.put_back(&mut written);
        assert_eq!(written, json!({}));
        let mut written = json!({"failure": {"reason": "another"}});
        unknown.put_back(&mut written);
        assert_eq!(written, json!({"failure": {"reason": "another"}}));
    }

    #[test]
    fn a_default_that_is_written_out_never_hides_what_is_known() {
        // Known versions leave out what is the default.
        let stored = json!({"turn": 0, "suspended": {"paused": false, "newer": 1}});
        case(&stored, &json!({}), json!({"turn": 3}), &json!({"turn": 3, "suspended": {"paused": false, "newer": 1}}));
        let written = json!({"suspended": {"paused": true}});
        case(&stored, &json!({}), written, &json!({"turn": 0, "suspended": {"paused": true, "newer": 1}}));
    }
}
