//! Numbers as Go's `strconv` takes them, and as Go's JSON gives them on.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// What a number's text means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Numeral {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Numeral {
    /// As a JSON value: a whole float is an integer. None for what JSON cannot say.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Signed(integer) => Some(integer.into()),
            Self::Unsigned(integer) => Some(integer.into()),
            Self::Float(float) => float_value(float),
        }
    }

    /// As a key of a JSON object. None for an integer beyond 63 bits.
    pub(super) fn key(self) -> Option<String> {
        match self {
            Self::Signed(integer) => Some(integer.to_string()),
            Self::Unsigned(_) => None,
            Self::Float(float) => Some(float_key(float)),
        }
    }
}

/// A float as a key has 32 bits: kubectl's reader prints it as such, with an exponent below 1e-4 and from 1e6 on.
fn float_key(float: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "what kubectl does")]
    let float = float as f32;
    if float.is_infinite() {
        return if float > 0.0 { ".inf".into() } else { "-.inf".into() };
    }
    if float == 0.0 || (1e-4..1e6).contains(&float.abs()) {
        return format!("{float}");
    }
    let scientific = format!("{float:e}");
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => scientific,
    }
}

/// Reads what begins with a digit or a sign: an integer of any base, or a float.
pub(super) fn parse(text: &str) -> Option<Numeral> {
    let text = &without_underscores(text);
    signed(text).or_else(|| unsigned(text)).or_else(|| decimal(text)).or_else(|| late_binary(text))
}

/// Reads what begins with a point. Here an underscore has to stand between two digits.
pub(super) fn parse_fraction(text: &str) -> Option<Numeral> {
    let is_misplaced = |window: &[u8]| match window {
        [before, b'_', after] => !before.is_ascii_digit() || !after.is_ascii_digit(),
        _ => false,
    };
    if text.ends_with('_') || text.as_bytes().windows(3).any(is_misplaced) {
        return None;
    }
    decimal(&without_underscores(text))
}

fn without_underscores(text: &str) -> Cow<'_, str> {
    if text.contains('_') { text.replace('_', "").into() } else { text.into() }
}

fn signed(text: &str) -> Option<Numeral> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = i128::from(magnitude(digits)?);
    i64::try_from(if is_negative { -magnitude } else { magnitude }).ok().map(Numeral::Signed)
}

fn unsigned(text: &str) -> Option<Numeral> {
    magnitude(text).map(Numeral::Unsigned)
}

/// An integer without a sign. A leading zero means octal, so `08` is none; `0x` without a digit is none.
fn magnitude(text: &str) -> Option<u64> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0'] => return Some(0),
        [b'0', ..] => (8, &text[1..]),
        _ => (10, text),
    };
    // The standard library would take a second sign.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A decimal float. One too large for 64 bits is none: it stays text.
fn decimal(text: &str) -> Option<Numeral> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_digit = !whole.is_empty() || !fraction.is_empty();
    let is_exponent = |part: &str| {
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        !digits.is_empty() && are_digits(digits)
    };
    if !has_digit || !are_digits(whole) || !are_digits(fraction) || !exponent.is_none_or(is_exponent) {
        return None;
    }
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Numeral::Float)
}

/// A sign between `0b` and the digits passes in Go: a second, later attempt at binary has no rule against it.
fn late_binary(text: &str) -> Option<Numeral> {
    i64::from_str_radix(text.strip_prefix("0b")?, 2).ok().map(Numeral::Signed)
}

fn float_value(float: f64) -> Option<Value> {
    if !float.is_finite() {
        return None;
    }
    if float.fract() == 0.0 && float.abs() < 1e21 && !(float == 0.0 && float.is_sign_negative()) {
        // The shortest digits that mean this float, filled up with zeros: what Go's JSON prints and reads back.
        let digits = format!("{float}");
        if let Ok(integer) = digits.parse::<i64>() {
            return Some(integer.into());
        }
        if let Ok(integer) = digits.parse::<u64>() {
            return Some(integer.into());
        }
    }
    Number::from_f64(float).map(Value::Number)
}
