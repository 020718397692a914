//! What has to hold before a text may meet the event parser.
//!
//! The parser panics where a tag in a flow collection ends in a comma and where the text ends in the middle of a line, and
//! says nothing of the place of a forbidden character.

use std::collections::BTreeSet;

use libyaml_safer::{Encoding, Error, Scanner, TokenData};

use super::{DEPTH_LIMIT, ReadError};
use crate::model::Position;

/// How many characters the parser may be ahead of what it gives.
const LOOK_AHEAD: usize = 2048;

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

/// Refuses a tag that ends in a comma, as in `[!a, b]`, and the escape `\/`, which kubectl does not know.
///
/// kubectl takes such a comma for a part of the tag; nobody means that. Only a scanner can tell a tag from an exclamation
/// mark in a string, and this one panics on such a tag. So it scans the text with something in place of each suspicious
/// character that is an error there and nowhere else: where it then complains, there was one.
pub(super) fn refuse_tags_and_escapes(text: &str, position: impl Fn(usize) -> Position) -> Result<(), ReadError> {
    let tags = if text.contains('!') { suspicious_tags(text) } else { BTreeSet::new() };
    let escapes: BTreeSet<usize> = text.match_indices("\\/").map(|(offset, _)| offset).collect();
    if tags.is_empty() && escapes.is_empty() {
        return Ok(());
    }
    let mut bytes = text.as_bytes().to_vec();
    let no_token = tags.iter().map(|offset| (*offset, b'`'));
    let no_escape = escapes.iter().map(|offset| (offset + 1, b'q'));
    for (offset, replacement) in no_token.chain(no_escape) {
        if let Some(byte) = bytes.get_mut(offset) {
            *byte = replacement;
        }
    }
    let mut input = bytes.as_slice();
    let mut scanner = Scanner::new();
    scanner.set_encoding(Encoding::Utf8);
    scanner.set_input_string(&mut input);
    // Any other error is one that the parser will meet too.
    let error = first_error(scanner);
    let offset = error.and_then(|error| error.problem_mark()).and_then(|mark| usize::try_from(mark.index).ok());
    match offset {
        Some(offset) if tags.contains(&offset) => Err(ReadError::new(position(offset), "a tag that ends in a comma")),
        Some(offset) if escapes.contains(&offset) => Err(ReadError::new(position(offset), "the escape `\\/`, which kubectl does not know")),
        _ => Ok(()),
    }
}

/// The scanner takes time in the square of the nesting, so this stops where the parser will have stopped.
fn first_error(scanner: Scanner<&mut &[u8]>) -> Option<Error> {
    let mut depth = 0_usize;
    for token in scanner {
        let data = match token {
            Err(error) => return Some(error),
            Ok(token) => token.data,
        };
        if matches!(data, TokenData::FlowSequenceStart | TokenData::FlowMappingStart) {
            depth += 1;
        } else if matches!(data, TokenData::FlowSequenceEnd | TokenData::FlowMappingEnd) {
            depth = depth.saturating_sub(1);
        }
        if depth > DEPTH_LIMIT + LOOK_AHEAD {
            return None;
        }
    }
    None
}

/// Where an exclamation mark stands before a comma in the same word; for `!<…>` before one right after a `>`.
fn suspicious_tags(text: &str) -> BTreeSet<usize> {
    let mut tags = BTreeSet::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        if let Some(comma) = word.rfind(',').filter(|_| word.contains('!')) {
            let after_verbatim = word.rfind(">,");
            for (offset, _) in word[..comma].match_indices('!') {
                let is_verbatim = word[offset..].starts_with("!<");
                if !is_verbatim || after_verbatim.is_some_and(|end| offset < end) {
                    tags.insert(start + offset);
                }
            }
        }
        start += word.len();
    }
    tags
}
