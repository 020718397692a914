//! From events to a tree of nodes in the order of the text, each with its place.
//!
//! Scalars stay text and aliases stay names of other nodes: nothing grows here.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufReader;

use libyaml_safer::{Encoding, Error, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};

use super::{DEPTH_LIMIT, RawDocument, ReadError, VALUES_LIMIT, guard, lines};
use crate::model::Position;

/// The nodes of one document, parents before children; none for an empty text.
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    /// Where more text begins after the document's end.
    pub(super) unread: Option<Position>,
}

/// A node and where it stands.
pub(super) struct Node {
    pub(super) position: Position,
    pub(super) kind: Kind,
    /// The index after the last node inside this one.
    pub(super) end: usize,
    /// It has brackets or braces.
    pub(super) is_flow: bool,
    /// An alias may ask for it again, alone or with what is around it.
    pub(super) is_anchored: bool,
}

/// What a node is.
pub(super) enum Kind {
    Scalar { text: String, tag: Option<String>, is_plain: bool },
    Sequence,
    Mapping,
    Alias { target: usize },
}

/// Reads the nodes of a document's text.
pub(super) fn compose(raw: &RawDocument<'_>) -> Result<Nodes, ReadError> {
    lines::read(raw).map_or_else(|| parsed(raw), Ok)
}

/// The same by the event parser, whatever the text is.
pub(super) fn parsed(raw: &RawDocument<'_>) -> Result<Nodes, ReadError> {
    let text = ended(raw.text.strip_prefix('\u{feff}').unwrap_or(raw.text));
    let by_offset = |offset: usize| {
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        shifted(raw, line, before[line_start..].chars().count())
    };
    guard::refuse_control_characters(&text, by_offset)?;
    guard::refuse_tags_and_escapes(&text, by_offset)?;

    let at = |mark: Mark| shifted(raw, index(mark.line), index(mark.column));
    let failure = |error: &Error| {
        let position = error.problem_mark().map_or(raw.start(), at);
        let message = error.context().map_or_else(|| error.problem().into(), |context| format!("{}, {context}", error.problem()));
        ReadError::new(position, message)
    };
    let mut parser = Parser::new();
    parser.set_encoding(Encoding::Utf8);
    parser.set_input(BufReader::with_capacity(text.len().clamp(16, 8192), text.as_bytes()));

    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut anchors: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        let event = parser.parse().map_err(|error| failure(&error))?;
        let position = at(event.start_mark);
        let mut is_flow = false;
        let (kind, anchor, is_collection) = match event.data {
            EventData::StreamStart { .. } => continue,
            EventData::DocumentStart { version_directive, tag_directives, .. } => {
                if version_directive.is_some() || !tag_directives.is_empty() {
                    return Err(ReadError::new(position, "a `%` directive, which kubectl cuts from its document"));
                }
                continue;
            }
            EventData::StreamEnd => return Ok(Nodes { nodes, unread: None }),
            EventData::DocumentEnd { .. } => {
                let unread = match parser.parse() {
                    Ok(event) if event.data == EventData::StreamEnd => None,
                    Ok(event) => Some(at(event.start_mark)),
                    Err(error) => Some(error.problem_mark().map_or(raw.start(), at)),
                };
                return Ok(Nodes { nodes, unread });
            }
            EventData::SequenceEnd | EventData::MappingEnd => {
                let end = nodes.len();
                if let Some(node) = open.pop().and_then(|node| nodes.get_mut(node)) {
                    node.end = end;
                }
                continue;
            }
            EventData::Alias { anchor } => match anchors.get(&anchor) {
                None => return Err(ReadError::new(position, format!("the alias `*{anchor}` of an anchor that is not there"))),
                Some(target) if open.contains(target) => {
                    return Err(ReadError::new(position, format!("the anchor `&{anchor}` contains itself")));
                }
                Some(target) => (Kind::Alias { target: *target }, None, false),
            },
            EventData::Scalar { anchor, tag, value, plain_implicit, style, .. } => {
                let is_in_brackets = open.last().and_then(|parent| nodes.get(*parent)).is_some_and(|parent| parent.is_flow);
                if is_in_brackets && style == ScalarStyle::Plain && value.contains('?') {
                    let message = "a `?` inside brackets without quotes, which kubectl refuses";
                    return Err(ReadError::new(position, message));
                }
                (Kind::Scalar { text: value, tag, is_plain: plain_implicit }, anchor, false)
            }
            EventData::SequenceStart { anchor, style, .. } => {
                is_flow = style == SequenceStyle::Flow;
                (Kind::Sequence, anchor, true)
            }
            EventData::MappingStart { anchor, style, .. } => {
                is_flow = style == MappingStyle::Flow;
                (Kind::Mapping, anchor, true)
            }
        };
        let node = nodes.len();
        if node >= VALUES_LIMIT {
            return Err(ReadError::new(position, format!("more than {VALUES_LIMIT} keys and values in one document")));
        }
        let is_inside_anchor = open.last().and_then(|parent| nodes.get(*parent)).is_some_and(|parent| parent.is_anchored);
        nodes.push(Node { position, kind, end: node + 1, is_flow, is_anchored: anchor.is_some() || is_inside_anchor });
        if is_collection {
            if open.len() >= DEPTH_LIMIT {
                return Err(ReadError::new(position, format!("more than {DEPTH_LIMIT} levels of nesting")));
            }
            open.push(node);
        }
        if let Some(anchor) = anchor {
            anchors.insert(anchor, node);
        }
    }
}

/// kubectl gives every line its end before it parses; so does this.
fn ended(text: &str) -> Cow<'_, str> {
    if text.ends_with('\n') { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n")) }
}

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A line and a column of the text, counted from 0, as a position in the file.
pub(super) fn shifted(raw: &RawDocument<'_>, line: usize, column: usize) -> Position {
    let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let first_column = if line == 0 { raw.first_column } else { 1 };
    Position { line: raw.first_line.saturating_add(count(line)), column: first_column.saturating_add(count(column)) }
}
