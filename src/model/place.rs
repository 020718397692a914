//! Where something stands in a file.

use std::collections::BTreeMap;

use serde::Serialize;

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A position in a named file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The file, relative to the root that was read, with `/`.
    pub path: String,
    /// Where in it.
    #[serde(flatten)]
    pub position: Position,
}

/// The position of every node of one document, by JSON pointer (RFC 6901; the root is the empty pointer).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, Position>);

impl Places {
    /// The position of the node at `pointer`, else of its nearest ancestor, else the file's start.
    pub fn at(&self, pointer: &str) -> Position {
        let mut pointer = pointer;
        loop {
            if let Some(position) = self.0.get(pointer) {
                return *position;
            }
            match pointer.rfind('/') {
                Some(slash) => pointer = &pointer[..slash],
                None => return Position { line: 1, column: 1 },
            }
        }
    }
}

impl FromIterator<(String, Position)> for Places {
    fn from_iter<I: IntoIterator<Item = (String, Position)>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}
