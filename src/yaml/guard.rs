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
    let tags = text.match_indices('!').map(|(offset, _)| offset).filter(|offset| ends_in_comma(&text[*offset..]));
    let tags: BTreeSet<usize> = tags.collect();
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
        match token {
            Err(error) => return Some(error),
            Ok(token) => match token.data {
                TokenData::FlowSequenceStart | TokenData::FlowMappingStart => depth += 1,
                TokenData::FlowSequenceEnd | TokenData::FlowMappingEnd => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        if depth > DEPTH_LIMIT + LOOK_AHEAD {
            return None;
        }
    }
    None
}

fn ends_in_comma(tag: &str) -> bool {
    let word = tag.split(|character: char| character.is_whitespace()).next().unwrap_or_default();
    match word.strip_prefix("!<") {
        Some(verbatim) => verbatim.split_once('>').is_some_and(|(_, rest)| rest.starts_with(',')),
        None => word.contains(','),
    }
}
