//! What has to hold before a text may meet the event parser.
//!
//! The parser panics where a tag in a flow collection ends in a comma and where the text ends in the middle of a line, and
//! says nothing of the place of a forbidden character.

use libyaml_safer::Scanner;

use super::ReadError;
use crate::model::Position;

/// Refuses characters that no YAML text may hold.
pub(super) fn refuse_control_characters(text: &str, position: impl Fn(usize) -> Position) -> Result<(), ReadError> {
    let bytes = text.as_bytes();
    let suspicious = bytes.iter().enumerate().filter(|(_, byte)| match byte {
        b'\t' | b'\n' | b'\r' => false,
        0..=0x1f | 0x7f | 0xc2 | 0xef => true,
        _ => false,
    });
    for (offset, _) in suspicious {
        let Some(character) = text[offset..].chars().next() else { continue };
        let is_forbidden = (character.is_control() && character != '\u{85}') || matches!(character, '\u{fffe}' | '\u{ffff}');
        if is_forbidden {
            let message = format!("the control character U+{:04X}, which YAML does not allow", u32::from(character));
            return Err(ReadError::new(position(offset), message));
        }
    }
    Ok(())
}

/// Refuses a tag that ends in a comma, as in `[!a, b]`. kubectl takes the comma for a part of the tag; nobody means that.
///
/// Only a scanner can tell a tag from an exclamation mark in a string, and this one panics on such a tag. So it scans the
/// text with a character in place of each suspicious mark that no token can begin with: where it then complains, a tag was.
pub(super) fn refuse_comma_after_tag(text: &str, position: impl Fn(usize) -> Position) -> Result<(), ReadError> {
    let suspicious: Vec<usize> =
        text.match_indices('!').map(|(offset, _)| offset).filter(|offset| ends_in_comma(&text[*offset..])).collect();
    if suspicious.is_empty() {
        return Ok(());
    }
    let mut bytes = text.as_bytes().to_vec();
    for offset in &suspicious {
        if let Some(byte) = bytes.get_mut(*offset) {
            *byte = b'`';
        }
    }
    let mut input = bytes.as_slice();
    let mut scanner = Scanner::new();
    scanner.set_encoding(libyaml_safer::Encoding::Utf8);
    scanner.set_input_string(&mut input);
    for token in scanner {
        if let Err(error) = token {
            let offset = error.problem_mark().map(|mark| usize::try_from(mark.index).unwrap_or(usize::MAX));
            return match offset.filter(|offset| suspicious.binary_search(offset).is_ok()) {
                Some(offset) => Err(ReadError::new(position(offset), "a tag that ends in a comma")),
                // The parser will stop there too, and say why.
                None => Ok(()),
            };
        }
    }
    Ok(())
}

fn ends_in_comma(tag: &str) -> bool {
    let word = tag.split(|character: char| character.is_whitespace()).next().unwrap_or_default();
    match word.strip_prefix("!<") {
        Some(verbatim) => verbatim.split_once('>').is_some_and(|(_, rest)| rest.starts_with(',')),
        None => word.contains(','),
    }
}
