//! Digests: of bytes, and of JSON values whatever their spelling.
//!
//! A value keeps its digest on the way through the API server, which drops nulls in maps and writes whole floats as integers.

use serde_json::{Number, Value};
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
    let mut canonical = Vec::with_capacity(4096);
    write(value, &mut canonical);
    of_bytes(&canonical)
}

/// Returns the digest of the list of these values.
pub fn of_list(values: &[&Value]) -> String {
    let mut canonical = Vec::with_capacity(4096 * values.len());
    write_list(values.iter().copied(), &mut canonical);
    of_bytes(&canonical)
}

/// Adds the canonical text of what the API server would give back.
fn write(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Null => text.extend_from_slice(b"null"),
        Value::Bool(true) => text.extend_from_slice(b"true"),
        Value::Bool(false) => text.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, text),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => write_list(items, text),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().filter(|(_, member)| !member.is_null()).collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push(b'{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                write_string(key, text);
                text.push(b':');
                write(member, text);
            }
            text.push(b'}');
        }
    }
}

fn write_list<'a>(items: impl IntoIterator<Item = &'a Value>, text: &mut Vec<u8>) {
    text.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write(item, text);
    }
    text.push(b']');
}

/// All numbers are doubles to the standard; integers that are exact ones need no look at it.
fn write_number(number: &Number, text: &mut Vec<u8>) {
    use std::io::Write as _;

    const EXACT: i64 = 9_007_199_254_740_992;
    if let Some(integer) = number.as_i64().filter(|integer| (-EXACT..=EXACT).contains(integer)) {
        let _ = write!(text, "{integer}");
    } else if let Ok(canonical) = serde_json_canonicalizer::to_vec(number) {
        text.extend_from_slice(&canonical);
    } else {
        let _ = write!(text, "{number}");
    }
}

fn write_string(string: &str, text: &mut Vec<u8>) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if !string.bytes().all(is_plain) {
        // Escapes are written as the JSON crate writes them, which is the standard's way.
        let _ = serde_json::to_writer(text, string);
        return;
    }
    text.push(b'"');
    text.extend_from_slice(string.as_bytes());
    text.push(b'"');
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
        assert_eq!(of_list(&[&json!(1), &json!({})]), of_json(&json!([1, {}])));
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
    fn the_text_is_that_of_the_standard() {
        let value = json!({
            "numbers": [0, -1, 9_007_199_254_740_992_i64, 9_007_199_254_740_993_i64, u64::MAX, i64::MIN, 1.5, -0.25, 1e300, 1e-7, 1e21],
            "texts": ["", "ü\u{20ac}\u{1f600}", "\"\\/\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\u{2028}", "<&>"],
            "\u{1f600}": 1, "\u{ff5e}": 2, "a\"b": 3, "A": 4, "": 5, "empty": [{}, []],
        });
        let mut text = Vec::new();
        write(&value, &mut text);
        let standard = serde_json_canonicalizer::to_vec(&value).expect("canonical");
        assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&standard));
    }

    #[test]
    fn numbers_at_the_edges_have_a_digest() {
        assert_ne!(of_json(&json!([u64::MAX, 1e300])), of_json(&json!([i64::MIN, 1e300])));
    }
}
