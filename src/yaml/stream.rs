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
}

impl RawDocument<'_> {
    /// Where the text begins.
    pub fn start(&self) -> Position {
        Position { line: self.first_line, column: self.first_column }
    }
}

/// Cuts a stream into its documents, empty ones included.
///
/// A line that begins with `---` separates, and may hold nothing else but a comment. A stream of JSON objects needs no
/// separator.
pub fn split(text: &str) -> Result<Vec<RawDocument<'_>>, ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut line, mut offset) = (0, 1, 1_u32, 0);
    while offset < text.len() {
        let end = text[offset..].find('\n').map_or(text.len(), |length| offset + length + 1);
        if let Some(rest) = text[offset..end].strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let message = "content on the line of a `---` separator, which kubectl refuses";
                return Err(ReadError::new(Position { line, column: 4 }, message));
            }
            push(&mut documents, &text[start..offset], first_line);
            start = end;
            first_line = line.saturating_add(1);
        }
        offset = end;
        line = line.saturating_add(1);
    }
    push(&mut documents, &text[start..], first_line);
    Ok(documents)
}

fn push<'a>(documents: &mut Vec<RawDocument<'a>>, text: &'a str, first_line: u32) {
    if text.is_empty() {
        return;
    }
    if text.trim_start().starts_with('{') {
        documents.extend(json_objects(text, first_line));
    } else {
        documents.push(RawDocument { text, first_line, first_column: 1 });
    }
}

/// Cuts JSON objects that follow each other. What is not closed or not JSON stays in one piece: the reader says why.
fn json_objects(text: &str, first_line: u32) -> Vec<RawDocument<'_>> {
    let mut objects = Vec::new();
    let (mut start, mut start_line, mut start_column) = (0, first_line, 1);
    let (mut line, mut column) = (first_line, 1_u32);
    let (mut depth, mut is_string, mut is_escaped) = (0_u32, false, false);
    for (offset, character) in text.char_indices() {
        if depth == 0 && !is_string && character == '{' && text[start..offset].trim().is_empty() {
            (start, start_line, start_column) = (offset, line, column);
        }
        column = column.saturating_add(1);
        match character {
            '\n' => {
                line = line.saturating_add(1);
                column = 1;
            }
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            '{' | '[' if !is_string => depth = depth.saturating_add(1),
            '}' | ']' if !is_string => {
                depth = depth.saturating_sub(1);
                let end = offset + 1;
                if depth == 0 && text[end..].trim_start().starts_with('{') {
                    objects.push(RawDocument { text: &text[start..end], first_line: start_line, first_column: start_column });
                    (start, start_line, start_column) = (end, line, column);
                }
            }
            _ => {}
        }
    }
    objects.push(RawDocument { text: &text[start..], first_line: start_line, first_column: start_column });
    objects
}
