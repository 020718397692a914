//! Bytes → the text of manifests, and what to say of those that are none.

use std::borrow::Cow;

use crate::model::{Finding, Position};

/// Why bytes are no text that manifests are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotText {
    position: Position,
    message: String,
}

/// The text. UTF-8 without a NUL, which no YAML has.
pub(super) fn read(bytes: &[u8]) -> Result<&str, NotText> {
    let start = match std::str::from_utf8(bytes) {
        Ok(text) => match text.find('\0') {
            None => return Ok(text),
            Some(start) => start,
        },
        Err(error) => error.valid_up_to(),
    };
    if wide(bytes).is_some() {
        return Err(NotText { position: Position { line: 1, column: 1 }, message: "it is UTF-16 text".into() });
    }
    let before = String::from_utf8_lossy(&bytes[..start]);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    let position = Position { line: number(before.matches('\n').count()), column: number(last.chars().count()) };
    let message = match bytes.get(start).copied().unwrap_or_default() {
        0 => "a byte 0x00, which no text has".to_owned(),
        byte => format!("the byte 0x{byte:02x} is not UTF-8 text"),
    };
    Err(NotText { position, message })
}

/// What the bytes say as far as can be guessed, to look for names in them.
pub(super) fn guessed(bytes: &[u8]) -> Cow<'_, str> {
    wide(bytes).map_or_else(|| String::from_utf8_lossy(bytes), Cow::Owned)
}

impl NotText {
    /// The finding about the file.
    pub(super) fn finding(&self, path: &str) -> Finding {
        Finding::error("unreadable", format!("this cannot be read: {}", self.message))
            .at(path, self.position)
            .help("save the file as UTF-8")
    }
}

/// What the bytes say if they begin as UTF-16 does.
fn wide(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let units = rest.chunks_exact(2).filter_map(|pair| Some(unit(<[u8; 2]>::try_from(pair).ok()?)));
    Some(char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}
