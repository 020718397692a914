//! Digests: of bytes, and of JSON values whatever their spelling.
//!
//! A value keeps its digest on the way through the API server, which drops nulls in maps and writes whole floats as integers.

use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

/// Returns `sha256:` and the SHA-256 of the bytes in lowercase hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the digest of the value's canonical JSON (RFC 8785), after dropping nulls in maps and writing whole floats as
/// integers. Nulls in lists stay: they hold a place.
pub fn of_json(value: &Value) -> String {
    let settled = settled(value);
    let canonical = serde_json_canonicalizer::to_vec(&settled).unwrap_or_else(|_| settled.to_string().into_bytes());
    of_bytes(&canonical)
}

/// Returns the value as the API server would give it back.
fn settled(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Number(number) => Value::Number(whole(number)),
        Value::Array(items) => items.iter().map(settled).collect(),
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), settled(value))).collect::<Map<_, _>>())
        }
    }
}

/// Returns the integer for a whole float that fits one exactly, otherwise the number itself.
#[expect(clippy::cast_possible_truncation, reason = "only whole floats within the exact range are converted")]
fn whole(number: &Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => Number::from(float as i64),
        _ => number.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_have_the_digest_that_everyone_computes() {
        assert_eq!(of_bytes(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_value_has_the_digest_of_its_canonical_text() {
        assert_eq!(of_json(&json!({"b": [1, "x"], "a": true})), of_bytes(br#"{"a":true,"b":[1,"x"]}"#));
    }

    #[test]
    fn what_the_api_server_changes_does_not_change_the_digest() {
        let written = json!({"replicas": 1.0, "zero": -0.0, "absent": null, "nested": [{"deep": null, "weight": 20.0}]});
        let given_back = json!({"replicas": 1, "zero": 0, "nested": [{"weight": 20}]});
        assert_eq!(of_json(&written), of_json(&given_back));
    }

    #[test]
    fn nulls_in_lists_and_fractions_count() {
        assert_ne!(of_json(&json!([null])), of_json(&json!([])));
        assert_ne!(of_json(&json!(1.5)), of_json(&json!(1)));
    }

    #[test]
    fn numbers_at_the_edges_have_a_digest() {
        assert_ne!(of_json(&json!([u64::MAX, 1e300])), of_json(&json!([i64::MIN, 1e300])));
    }
}
