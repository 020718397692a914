//! Digests: of bytes, and of JSON values whatever their spelling.
//!
//! A value keeps its digest on the way through the API server, which drops nulls in maps and writes whole floats as integers.

use serde::Serialize;
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use self::canonical::{Canonical, Text};

mod canonical;

/// Returns `sha256:` and the SHA-256 of the bytes in lowercase hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    shown(Sha256::new().chain_update(bytes))
}

fn shown(hash: Sha256) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in hash.finalize() {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
    }
    text
}

/// Returns the digest of the value's canonical JSON (RFC 8785), after dropping nulls in maps and writing whole floats as
/// integers. Nulls in lists stay: they hold a place.
pub fn of_json<T: Serialize + ?Sized>(value: &T) -> String {
    of_bytes(&canonical(value))
}

/// Returns what the digest is of: the text of what the API server would give back.
///
/// # Panics
///
/// When a value refuses to be serialized. Neither JSON values nor our own types do.
pub fn canonical<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut text = Text::default();
    add(value, &mut text);
    text.bytes
}

fn add<T: Serialize + ?Sized>(value: &T, text: &mut Text) {
    value.serialize(Canonical(text)).expect("values that have a digest serialize");
}

/// A list of values, of which only what the digest is of is kept.
#[derive(Default)]
pub struct List(Text);

impl List {
    /// Adds a value at the end.
    pub fn push(&mut self, value: &Value) {
        self.0.bytes.push(if self.0.bytes.is_empty() { b'[' } else { b',' });
        add(value, &mut self.0);
    }

    /// Returns the digest of the list.
    pub fn digest(&self) -> String {
        let start: &[u8] = if self.0.bytes.is_empty() { b"[" } else { &self.0.bytes };
        shown(Sha256::new().chain_update(start).chain_update(b"]"))
    }
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
        let mut list = List::default();
        assert_eq!(List::default().digest(), of_json(&json!([])));
        list.push(&json!(1));
        list.push(&json!({}));
        assert_eq!(list.digest(), of_json(&json!([1, {}])));
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
        let text = canonical(&value);
        let standard = serde_json_canonicalizer::to_vec(&value).expect("canonical");
        assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&standard));
    }

    #[test]
    fn numbers_at_the_edges_have_a_digest() {
        assert_ne!(of_json(&json!([u64::MAX, 1e300])), of_json(&json!([i64::MIN, 1e300])));
    }

    #[test]
    fn what_serializes_has_the_digest_of_its_value() {
        #[derive(Serialize)]
        struct Told {
            z: Option<u8>,
            a: Vec<Kind>,
            #[serde(rename = "\u{1f600}")]
            smile: f64,
            #[serde(rename = "\u{ff5e}")]
            wave: char,
            b: std::collections::BTreeMap<u8, Option<&'static str>>,
        }
        #[derive(Serialize)]
        enum Kind {
            Bare,
            Of(Option<f32>),
            Two(i8, bool),
            Fields { y: (), x: Option<()>, w: u64 },
        }
        let kinds = || vec![Kind::Bare, Kind::Of(Some(1.0)), Kind::Of(None), Kind::Two(-1, true), Kind::Fields { y: (), x: None, w: 7 }];
        let names = || [(10, Some("ten")), (2, Some("two")), (3, None)].into();
        for z in [None, Some(3)] {
            let told = Told { z, a: kinds(), smile: 2.0, wave: '"', b: names() };
            let value = serde_json::to_value(&told).expect("a value");
            assert_eq!(String::from_utf8_lossy(&canonical(&told)), String::from_utf8_lossy(&canonical(&value)));
        }
        let nothing: std::collections::BTreeMap<&str, Option<u8>> = [("a", None), ("b", None)].into();
        assert_eq!(canonical(&nothing), b"{}");
    }
}
