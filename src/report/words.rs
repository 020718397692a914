//! The small words of all reports: plurals, escapes, colors.

use std::borrow::Cow;
use std::fmt::Display;

use anstyle::Style;

use crate::model::hidden;

/// Whether text is colored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colors {
    /// Plain text.
    Never,
    /// With ANSI escapes.
    Always,
}

impl Colors {
    /// The text in a style, or as it is.
    pub fn paint(self, style: Style, text: impl Display) -> String {
        match self {
            Self::Never => text.to_string(),
            Self::Always => format!("{style}{text}{style:#}"),
        }
    }
}

/// `1 object`, `2 objects`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {}", plural(noun)),
    }
}

fn plural(noun: &str) -> String {
    match noun.as_bytes() {
        [.., before, b'y'] if !b"aeiou".contains(before) => format!("{}ies", &noun[..noun.len() - 1]),
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// The text with every character that could move a cursor, color a line or turn the writing direction made visible, and with
/// what a workflow of GitHub obeys anywhere in a line. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Most texts are plain, and long: a look at the bytes is enough.
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    let is_plain = text.bytes().fold(true, |all, byte| all & is_plain(byte)) || !text.contains(is_hidden);
    if is_plain {
        return if text.contains(COMMAND) { Cow::Owned(text.replace(COMMAND, DISARMED)) } else { Cow::Borrowed(text) };
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(if shown.contains(COMMAND) { shown.replace(COMMAND, DISARMED) } else { shown })
}

/// With what a command to GitHub begins wherever it stands, and the same as nothing but text.
const COMMAND: &str = "##[";
const DISARMED: &str = "#\\u{23}[";

/// The text with every line made none that a workflow of GitHub would take for a command for how it begins, such as with the
/// name of a file.
pub(super) fn uncommanding(text: &str) -> String {
    let one = |line: &str| if line.trim_start().starts_with("::") { line.replacen("::", ":\\u{3a}", 1) } else { line.to_owned() };
    text.split_inclusive('\n').map(one).collect()
}

/// The same, on one line.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', " ")
}

/// What is to be made visible; line ends and tabs are not.
fn is_hidden(character: char) -> bool {
    !matches!(character, '\n' | '\t') && hidden::is_hidden(character)
}

#[cfg(test)]
mod tests {
    use super::{count, visible};

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        assert_eq!(count(1, "object"), "1 object");
        assert_eq!(count(0, "object"), "0 objects");
        assert_eq!(count(2, "gateway"), "2 gateways");
        assert_eq!(count(2, "entry"), "2 entries");
        assert_eq!(count(2, "match"), "2 matches");
    }

    #[test]
    fn a_manifest_cannot_color_a_terminal_or_turn_its_text_around() {
        assert_eq!(visible("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(visible("a\rb\u{202e}c"), "a\\u{d}b\\u{202e}c");
        assert_eq!(visible("\u{61c}\u{ad}\u{3164}\u{e0041}"), "\\u{61c}\\u{ad}\\u{3164}\\u{e0041}");
        assert_eq!(visible("line\n\tline ä"), "line\n\tline ä");
        assert_eq!(visible("a ##[error]b"), "a #\\u{23}[error]b");
        assert_eq!(visible("\r###[error]b"), "\\u{d}##\\u{23}[error]b");
    }
}
