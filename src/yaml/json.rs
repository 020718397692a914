//! JSON that is no YAML: escaped slashes, characters beyond 16 bits in two escapes, tabs and controls in strings.

use serde_json::Value;

use super::number::Numeral;
use super::{Document, RawDocument, VALUES_LIMIT};
use crate::model::Places;

/// Reads a document of a JSON stream; none when it is no JSON. Only the document as a whole has a place.
pub(super) fn read(raw: &RawDocument<'_>) -> Option<Document> {
    if !raw.is_json || values(raw.text) > VALUES_LIMIT {
        return None;
    }
    let mut value = serde_json::from_str(raw.text).ok()?;
    settle(&mut value);
    let mut places = Places::default();
    places.open(None, raw.start());
    Some(Document { value, places, remarks: Vec::new() })
}

/// About how many keys and values there are: what ends or begins one, outside of strings.
fn values(text: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b',' | b':' | b'[' | b'{' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Whole floats are integers. The depth is bounded by the JSON reader.
fn settle(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(settled) = number.as_f64().and_then(|float| Numeral::Float(float).value()) {
                *value = settled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(map) => map.values_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
