//! A stream of documents, cut the way kubectl cuts it: by lines, before anything is parsed.

use super::ReadError;
use crate::model::Position;

/// The text of one document, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDocument<'a> {
    /// The text, without the separator lines around it.
    pub text: &'a str,
    /// The line of the file on which the text begins, counted from 1.
    pub first_line: u32,
    /// The column in which the text begins; 1 unless JSON objects share a line.
    pub first_column: u32,
    /// The whole stream is JSON, so escapes and characters that YAML refuses pass.
    pub is_json: bool,
}

impl RawDocument<'_> {
    /// Where the text begins.
    pub fn start(&self) -> Position {
        Position { line: self.first_line, column: self.first_column }
    }
}

/// Cuts a stream into its documents, empty ones included.
///
/// A line that begins with `---` separates, and may hold nothing else but a comment. A stream that begins with `{` is one
/// of JSON objects, which need no separator and allow none: what follows a `---` there is a document that cannot be read.
pub fn split(text: &str) -> Result<Vec<RawDocument<'_>>, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        return Ok(json_objects(text));
    }
    if !text.is_empty() && !text.starts_with(SEPARATOR) && !text.contains("\n---") {
        return Ok(vec![RawDocument { text, first_line: 1, first_column: 1, is_json: false }]);
    }
    let mut documents = Vec::new();
    let mut push = |text, first_line| documents.push(RawDocument { text, first_line, first_column: 1, is_json: false });
    let (mut start, mut first_line, mut line, mut offset) = (0, 1, 1_u32, 0);
    while offset < text.len() {
        let end = text[offset..].find('\n').map_or(text.len(), |length| offset + length + 1);
        if let Some(rest) = text[offset..end].strip_prefix(SEPARATOR) {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let message = "content on the line of a `---` separator, which kubectl refuses";
                return Err(ReadError::new(Position { line, column: 4 }, message));
            }
            if start < offset {
                push(&text[start..offset], first_line);
            }
            start = end;
            first_line = line.saturating_add(1);
        }
        offset = end;
        line = line.saturating_add(1);
    }
    if start < text.len() {
        push(&text[start..], first_line);
    }
    Ok(documents)
}

pub(super) const SEPARATOR: &str = "---";

/// Cuts JSON objects that follow each other. What is no JSON stays with the object before it: the reader says why.
fn json_objects(text: &str) -> Vec<RawDocument<'_>> {
    let mut objects = Vec::new();
    let mut start = Position { line: 1, column: 1 };
    let mut here = start;
    let mut start_offset = 0;
    let (mut depth, mut is_begun, mut is_string, mut is_escaped) = (0_u32, false, false, false);
    for (offset, character) in text.char_indices() {
        let begins = (character == '{' && !is_string) || (here.column == 1 && is_begun && text[offset..].starts_with(SEPARATOR));
        if depth == 0 && begins {
            if is_begun {
                objects.push((start_offset, offset, start));
            }
            (start_offset, start, is_begun) = (offset, here, true);
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' if depth > 0 => is_string = !is_string,
            '{' | '[' if !is_string => depth = depth.saturating_add(1),
            '}' | ']' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && text[start_offset..].starts_with(SEPARATOR) {
            break;
        }
        here = match character {
            '\n' => Position { line: here.line.saturating_add(1), column: 1 },
            _ => Position { column: here.column.saturating_add(1), ..here },
        };
    }
    objects.push((start_offset, text.len(), start));
    let raw = |(from, to, start): (usize, usize, Position)| RawDocument {
        text: &text[from..to],
        first_line: start.line,
        first_column: start.column,
        is_json: true,
    };
    objects.into_iter().map(raw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &[(&str, u32, u32)]) {
        let documents = split(text).unwrap();
        let found: Vec<_> = documents.iter().map(|raw| (raw.text, raw.first_line, raw.first_column)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_of_three_dashes_separate() {
        case("a: 1\n---\nb: 2\n--- # c\r\nd: 3", &[("a: 1\n", 1, 1), ("b: 2\n", 3, 1), ("d: 3", 5, 1)]);
        case("---\n---  \na: |\n  ---\n", &[("a: |\n  ---\n", 3, 1)]);
        case("\u{feff}---\na: 1\n---", &[("a: 1\n", 2, 1)]);
        case("", &[]);
    }

    #[test]
    fn content_beside_a_separator_is_an_error() {
        let error = split("a: 1\n--- {b: 2}\n").unwrap_err();
        assert_eq!(error.position, Position { line: 2, column: 4 });
    }

    #[test]
    fn json_objects_follow_each_other() {
        case("{\"a\": \"}{\\\"\"}{\"b\": [{}]}\n{}\n", &[("{\"a\": \"}{\\\"\"}", 1, 1), ("{\"b\": [{}]}\n", 1, 14), ("{}\n", 2, 1)]);
        case(" {\"a\": [", &[("{\"a\": [", 1, 2)]);
    }

    #[test]
    fn json_objects_allow_no_separator() {
        case("{}\n---\n{}\n{}", &[("{}\n", 1, 1), ("---\n{}\n{}", 2, 1)]);
    }
}
