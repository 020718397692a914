//! Characters that cannot be seen, or by which a text can pretend to be another one.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Ranges of what is to be made visible, beside control characters: the whole category Cf of Unicode, the ends of lines and
/// paragraphs, letters without a shape, and selectors of variants, which can carry any text.
const RANGES: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character must not be shown as it is. Line ends and tabs are hidden too; who allows them asks for them first.
pub fn is_hidden(character: char) -> bool {
    if character < '\u{ad}' {
        return character.is_control();
    }
    let index = RANGES.partition_point(|(first, _)| *first <= character);
    index.checked_sub(1).is_some_and(|index| character <= RANGES[index].1)
}

/// A value as JSON over several lines, which ends with a line break, and in which nothing is hidden.
pub fn pretty_json(value: &Value) -> String {
    escaped_json(&format!("{value:#}\n")).into_owned()
}

/// A text of JSON that says the same with each hidden character as an escape. Line ends and tabs stay, which stand between values.
fn escaped_json(text: &str) -> Cow<'_, str> {
    let is_shown = |character: char| matches!(character, '\n' | '\t' | '\r') || !is_hidden(character);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_shown(character) {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_are_in_order() {
        assert!(RANGES.windows(2).all(|pair| pair[0].1 < pair[1].0) && RANGES.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn what_cannot_be_seen_is_hidden() {
        for character in "\0\u{1b}\u{7f}\u{85}\u{ad}\u{61c}\u{115f}\u{1160}\u{180e}\u{200b}\u{200d}\u{202e}\u{2066}\u{2069}\u{3164}\u{feff}\u{fff9}\u{ffa0}\u{1d173}\u{e0001}\u{e0020}\u{e007f}\u{e0100}".chars() {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in "a ~\u{a0}\u{e4}\u{2026}\u{6587}\u{1f600}\u{10ffff}".chars() {
            assert!(!is_hidden(character), "{character:?}");
        }
    }

    #[test]
    fn escaped_json_says_the_same() {
        let value = serde_json::json!({"a\u{202e}": "\u{7f}\u{e0041}\n\t\u{61c}b\u{e4}"});
        let text = format!("{value:#}");
        let escaped = escaped_json(&text);
        assert!(escaped.chars().all(|character| character == '\n' || !is_hidden(character)), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).ok(), Some(value));
    }
}
