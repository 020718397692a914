//! YAML as kubectl reads it and as kubectl writes it.
//!
//! Reading is YAML 1.1 the way Go's yaml.v2 takes it: `0644` is 420 and `on` is true, keys too. Where kustomize (yaml.v3)
//! would read something else there is a remark. Nothing here knows what an object means.

mod compose;
mod construct;
mod guard;
mod json;
mod kustomize;
mod lines;
mod list;
mod number;
mod scalar;
mod stream;
mod timestamp;
mod write;

use serde_json::Value;

pub use list::expand_list;
pub use stream::{RawDocument, split};
pub use write::{write, write_json};

use crate::model::{Places, Position};

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What it says.
    pub value: Value,
    /// Where each value stands in the file. What an alias or a merge brings stands where the alias stands.
    pub places: Places,
    /// What a reader may take otherwise than it was meant, in the order of the file.
    pub remarks: Vec<Remark>,
}

/// Something that was read, and may surprise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The value concerned, as a JSON pointer.
    pub pointer: String,
    /// Where it stands in the file.
    pub position: Position,
    /// What sort of surprise.
    pub kind: RemarkKind,
    /// The same in words: lowercase, no period.
    pub message: String,
}

/// Why a value may surprise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemarkKind {
    /// The key stood in this mapping before; the last one counts. kustomize refuses the file.
    DuplicateKey,
    /// kubectl and kustomize read two different things.
    ReadDifferently {
        /// What kubectl reads, as JSON.
        kubectl: String,
        /// What kustomize reads, as JSON, or that it refuses.
        kustomize: String,
    },
    /// Text after the end of the document (`...`) that kubectl never looks at.
    Unread,
}

/// Why a document could not be read. kubectl refuses it too, or it is beyond our limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", position.line, position.column)]
pub struct ReadError {
    /// Where the reader stopped.
    pub position: Position,
    /// What it did not understand: lowercase, no period.
    pub message: String,
}

impl ReadError {
    fn new(position: Position, message: impl Into<String>) -> Self {
        Self { position, message: message.into() }
    }
}

/// How deep values may be nested, aliases followed.
pub const DEPTH_LIMIT: usize = 512;

/// How many keys and values a document may have. The largest objects that an API server takes have fewer, and each takes some
/// two hundred bytes while it is read, whatever its text takes.
pub const VALUES_LIMIT: usize = 200_000;

/// Returns what a document says, or none for an empty one: blank, comments only, or `null`.
pub fn read(raw: &RawDocument<'_>) -> Result<Option<Document>, ReadError> {
    if raw.text.starts_with(stream::SEPARATOR) {
        return Err(ReadError::new(raw.start(), "a `---` in a stream of JSON objects, which kubectl refuses"));
    }
    let document = match compose::compose(raw).and_then(construct::document) {
        Ok(document) => document,
        Err(error) => Some(json::read(raw).ok_or(error)?),
    };
    Ok(document.filter(|document| !document.value.is_null()))
}

/// Returns what a text of exactly one document says.
pub fn read_value(text: &str) -> Result<Value, ReadError> {
    let mut found = None;
    for raw in split(text)? {
        if let Some(document) = read(&raw)? {
            if found.is_some() {
                return Err(ReadError::new(raw.start(), "a second document, where one is expected"));
            }
            found = Some(document.value);
        }
    }
    found.ok_or_else(|| ReadError::new(Position { line: 1, column: 1 }, "no document, where one is expected"))
}

#[cfg(test)]
mod tests;
