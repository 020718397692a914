//! What a scalar's text means to kubectl: the rules of YAML 1.1 as Go's yaml.v2 has them.

use serde_json::Value;

use super::number::{self, Numeral};
use super::timestamp::is_timestamp;

/// What a scalar means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    Null,
    Boolean(bool),
    Number(Numeral),
    /// `.inf`, `-.inf`, `.nan` in any of their spellings: no JSON value.
    NotFinite(&'static str),
    /// The text itself, because it looks like a date or a time.
    Timestamp,
    /// The text itself.
    Text,
    /// The content of `!!binary`.
    Decoded(String),
}

impl Meaning {
    /// As a JSON value; none where JSON has no such value.
    pub(super) fn value(self, text: impl FnOnce() -> String) -> Option<Value> {
        match self {
            Self::Null => Some(Value::Null),
            Self::Boolean(boolean) => Some(Value::Bool(boolean)),
            Self::Number(number) => number.value(),
            Self::NotFinite(_) => None,
            Self::Timestamp | Self::Text => Some(Value::String(text())),
            Self::Decoded(decoded) => Some(Value::String(decoded)),
        }
    }

    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "bool",
            Self::Number(Numeral::Signed(_) | Numeral::Unsigned(_)) => "int",
            Self::Number(Numeral::Float(_)) | Self::NotFinite(_) => "float",
            Self::Timestamp => "timestamp",
            Self::Text | Self::Decoded(_) => "str",
        }
    }
}

/// Returns the meaning of a scalar, or why its tag does not fit.
pub(super) fn resolve(text: &str, tag: Option<&str>, is_plain: bool) -> Result<Meaning, String> {
    let Some(tag) = tag else {
        return Ok(if is_plain { plain(text) } else { Meaning::Text });
    };
    let Some(name) = tag.strip_prefix("tag:yaml.org,2002:") else {
        return Ok(Meaning::Text);
    };
    match name {
        "binary" => decoded(text).map(Meaning::Decoded).ok_or_else(|| "`!!binary` with invalid base64".into()),
        "bool" | "float" | "int" | "null" | "timestamp" => {
            // Only with its own tag is a tagged text a time.
            let mut meaning = plain(text);
            if name != "timestamp" && meaning == Meaning::Timestamp {
                meaning = Meaning::Text;
            }
            let is_float_to_be = name == "float" && meaning.tag() == "int";
            if is_float_to_be || meaning.tag() == name {
                Ok(meaning)
            } else {
                Err(format!("`{text}` is `!!{}`, not `!!{name}`", meaning.tag()))
            }
        }
        _ => Ok(Meaning::Text),
    }
}

/// Returns the meaning of a scalar without quotes and without a tag.
pub(super) fn plain(text: &str) -> Meaning {
    match text.as_bytes().first() {
        None | Some(b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => word(text).unwrap_or(Meaning::Text),
        Some(b'.') => word(text).or_else(|| number::parse_fraction(text).map(Meaning::Number)).unwrap_or(Meaning::Text),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            let time = || is_timestamp(text).then_some(Meaning::Timestamp);
            word(text).or_else(time).or_else(|| number::parse(text).map(Meaning::Number)).unwrap_or(Meaning::Text)
        }
        Some(_) => Meaning::Text,
    }
}

fn word(text: &str) -> Option<Meaning> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Meaning::Boolean(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Meaning::Boolean(false),
        ".nan" | ".NaN" | ".NAN" => Meaning::NotFinite(".nan"),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::NotFinite(".inf"),
        "-.inf" | "-.Inf" | "-.INF" => Meaning::NotFinite("-.inf"),
        _ => return None,
    })
}

/// Standard base64 with its padding, line breaks ignored.
fn decoded(text: &str) -> Option<String> {
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    let last = symbols.len().checked_sub(4);
    for (start, group) in symbols.chunks(4).enumerate().map(|(index, group)| (index * 4, group)) {
        let padding = group.iter().rev().take_while(|symbol| **symbol == b'=').count();
        if group.len() != 4 || padding > 2 || (padding > 0 && Some(start) != last) {
            return None;
        }
        let mut bits = 0_u32;
        for symbol in &group[..4 - padding] {
            bits = bits << 6 | u32::from(sextet(*symbol)?);
        }
        bits <<= 6 * padding;
        bytes.extend(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn sextet(symbol: u8) -> Option<u8> {
    match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
