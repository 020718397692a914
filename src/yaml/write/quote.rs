//! How a string is written so that every reader reads that string.

use crate::model::hidden;
use crate::yaml::scalar::{self, Meaning};

/// A way to write a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Returns how to write a string as a value. Only a value may be a literal block.
pub(super) fn value_style(text: &str) -> Style {
    if !is_name(text) && text.contains('\n') && is_fit_for_block(text) { Style::Literal } else { key_style(text) }
}

/// Returns how to write a string on one line.
pub(super) fn key_style(text: &str) -> Style {
    if is_name(text) {
        Style::Plain
    } else if text.chars().any(is_special) || is_read_as_something_else(text) {
        Style::Double
    } else if is_fit_for_plain(text) {
        Style::Plain
    } else {
        Style::Single
    }
}

/// Puts single quotes around.
pub(super) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Puts double quotes around, with escapes.
pub(super) fn double(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if is_special(character) => {
                let code = u32::from(character);
                let escape = match code {
                    ..0x100 => format!("\\x{code:02X}"),
                    0x100..0x10000 => format!("\\u{code:04X}"),
                    0x10000.. => format!("\\U{code:08X}"),
                };
                quoted.push_str(&escape);
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether the text is what most keys and many values are: a word of small and large letters, digits and a few signs, and none of
/// those that mean something else, of which `false` is the longest.
fn is_name(text: &str) -> bool {
    const LONGEST_OTHER: usize = "false".len();
    let is_usual = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b':');
    let [first, .., last] = text.as_bytes() else { return false };
    first.is_ascii_alphabetic()
        && *last != b':'
        && text.as_bytes().iter().all(is_usual)
        && (text.len() > LONGEST_OTHER || scalar::plain(text) == Meaning::Text)
}

/// What only double quotes can say, or what cannot be seen.
fn is_special(character: char) -> bool {
    hidden::is_hidden(character)
}

/// Lines without a blank at their end, and nothing special in them.
fn is_fit_for_block(text: &str) -> bool {
    !text.chars().any(|character| character != '\n' && is_special(character)) && !text.contains(" \n") && !text.ends_with(' ')
}

fn is_fit_for_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return false };
    let second = characters.next();
    let is_indicator = match first {
        '-' | '?' | ':' => second.is_none_or(|second| second == ' ') || (first == '?' && second.is_some()),
        _ => " #,[]{}&*!|>'\"%@`".contains(first),
    };
    let begins_document = text.starts_with("---") || text.starts_with("...");
    let ends_early = text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #");
    !is_indicator && !begins_document && !ends_early
}

/// Whether some reader, of YAML 1.1 or 1.2, takes the bare text for a number, a boolean, nothing, a time or a sign.
fn is_read_as_something_else(text: &str) -> bool {
    scalar::plain(text) != Meaning::Text || matches!(text, "=" | "<<") || is_base_60(text) || is_huge_number(text)
}

/// `12:30:45` is a number of seconds to a reader of YAML 1.1.
fn is_base_60(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let text = text.split_once('.').filter(|(_, fraction)| digits(fraction) || fraction.is_empty()).map_or(text, |(whole, _)| whole);
    let mut parts = text.split(':');
    let is_first = parts.next().is_some_and(digits);
    let mut rest = parts.peekable();
    is_first && rest.peek().is_some() && rest.all(|part| digits(part) && part.len() <= 2 && (part.len() == 1 || part < "60"))
}

/// A number beyond all bounds is a string to kubectl and infinite to others.
fn is_huge_number(text: &str) -> bool {
    text.starts_with(['+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) && text.replace('_', "").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::{is_fit_for_plain, is_name, is_read_as_something_else};

    #[test]
    fn no_name_is_read_as_something_else() {
        for first in ["true", "True", "TRUE", "false", "FALSE", "yes", "null", "Null", "on", "off", "y", "n", "inf", "nan", "e10", "x"] {
            for rest in ["", "s", "--", "...", "/1", "_2", "s1e10", "false", ":", ":1", "::", ":30:45"] {
                let text = format!("{first}{rest}");
                assert!(!is_name(&text) || (!is_read_as_something_else(&text) && is_fit_for_plain(&text)), "{text}");
            }
        }
        for text in ["networking.istio.io/v1", "weight", "name", "registry.example.com/shop:v1"] {
            assert!(is_name(text), "{text}");
        }
        assert!(!is_name("false") && !is_name("on") && !is_name("a: bcdef") && !is_name("key:"));
    }
}
