//! The YAML that most people write most of the time, read by its lines: maps and lists in block style, scalars on one line.
//!
//! Ten times as fast as the event parser, and never of another opinion: whatever is not plain to see is left to it.

use super::compose::{Kind, Node, Nodes, shifted};
use super::{RawDocument, VALUES_LIMIT};
use crate::model::Position;

/// More levels than anybody writes by hand.
const DEPTH: usize = 64;

/// The longest key; the parser looks no further than 1024 characters.
const LONGEST_KEY: usize = 256;

/// The nodes of a document, as the event parser would find them. None: it has to be asked.
pub(super) fn read(raw: &RawDocument<'_>) -> Option<Nodes> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    if raw.is_json || !raw.text.as_bytes().iter().all(is_plain) {
        return None;
    }
    let mut reader =
        Reader { raw, line: 0, nodes: Vec::with_capacity((raw.text.len() / 12).min(VALUES_LIMIT)), open: Vec::new(), awaited: None };
    for (number, line) in raw.text.split('\n').enumerate() {
        let content = line.trim_start_matches(' ');
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        reader.line = number;
        reader.entry(line.len() - content.len(), content)?;
        // What is wrong with that many is for the parser to say.
        if reader.nodes.len() > VALUES_LIMIT {
            return None;
        }
    }
    while !reader.open.is_empty() {
        reader.close();
    }
    (!reader.nodes.is_empty()).then_some(Nodes { nodes: reader.nodes, unread: None })
}

struct Reader<'a, 'b> {
    raw: &'a RawDocument<'b>,
    line: usize,
    nodes: Vec<Node>,
    /// The collections around the line, the outermost first.
    open: Vec<Open>,
    /// Where the value of the last key would stand, if it has none yet. It is one of the innermost map.
    awaited: Option<Position>,
}

#[derive(Clone, Copy)]
struct Open {
    is_list: bool,
    indent: usize,
    node: usize,
}

impl Reader<'_, '_> {
    /// One line's content, which begins at a column counted from 0.
    fn entry(&mut self, column: usize, content: &str) -> Option<()> {
        let item = item(content);
        self.leave(column, item.is_some())?;
        if let Some(item) = item {
            return self.item(column, content, item);
        }
        self.enter(false, column)?;
        self.member(column, content)
    }

    /// Closes what ends before this line.
    fn leave(&mut self, column: usize, is_item: bool) -> Option<()> {
        while let Some(top) = self.open.last() {
            // A list may stand at the column of its key.
            let is_value = self.awaited.is_some() && (column > top.indent || (column == top.indent && is_item && !top.is_list));
            if is_value {
                return Some(());
            }
            if column > top.indent {
                return None;
            }
            if column == top.indent && top.is_list == is_item {
                self.fill();
                return Some(());
            }
            self.close();
        }
        // The first line; any other would begin a second value.
        self.nodes.is_empty().then_some(())
    }

    /// The collection at a column: the one that is open there, or a new one.
    fn enter(&mut self, is_list: bool, column: usize) -> Option<()> {
        let is_open = self.open.last().is_some_and(|top| top.indent == column && top.is_list == is_list) && self.awaited.is_none();
        if !is_open {
            if self.open.len() >= DEPTH {
                return None;
            }
            self.awaited = None;
            self.open.push(Open { is_list, indent: column, node: self.nodes.len() });
            self.push(column, if is_list { Kind::Sequence } else { Kind::Mapping });
        }
        Some(())
    }

    /// An item of a list: `- ` and what follows.
    fn item(&mut self, column: usize, content: &str, item: &str) -> Option<()> {
        self.enter(true, column)?;
        let inner = column + content.len() - item.len();
        if item.is_empty() || item.starts_with('#') {
            return None;
        }
        // What is inside of the item begins beyond its column, where nothing is open.
        if let Some(next) = self::item(item) {
            return self.item(inner, item, next);
        }
        if key(item).is_some() {
            self.enter(false, inner)?;
            return self.member(inner, item);
        }
        self.scalar(inner, item)
    }

    /// A key and its value, if that stands on the line.
    fn member(&mut self, column: usize, content: &str) -> Option<()> {
        let (key, rest) = key(content)?;
        self.push(column, Kind::Scalar { text: key.to_owned(), tag: None, is_plain: true });
        let value = rest.trim_start_matches(' ');
        if value.is_empty() || (value.starts_with('#') && rest.starts_with(' ')) {
            self.awaited = Some(self.at(column + key.len() + 1));
            return Some(());
        }
        self.scalar(column + content.len() - value.len(), value)
    }

    /// A scalar that ends with its line, or an empty collection.
    fn scalar(&mut self, column: usize, content: &str) -> Option<()> {
        let first = *content.as_bytes().first()?;
        if matches!(first, b'"' | b'\'') {
            let quote = char::from(first);
            let (text, rest) = content[1..].split_once(quote)?;
            if !is_end(rest) || (quote == '"' && text.contains('\\')) {
                return None;
            }
            self.push(column, Kind::Scalar { text: text.to_owned(), tag: None, is_plain: false });
            return Some(());
        }
        for (brackets, kind) in [("{}", Kind::Mapping), ("[]", Kind::Sequence)] {
            if let Some(rest) = content.strip_prefix(brackets) {
                if !is_end(rest) {
                    return None;
                }
                self.push(column, kind);
                self.nodes.last_mut()?.is_flow = true;
                return Some(());
            }
        }
        let text = content.find(" #").map_or(content, |end| &content[..end]).trim_end_matches(' ');
        let is_plain = match first {
            b'0'..=b'9'
            | b'A'..=b'Z'
            | b'a'..=b'z'
            | b'/'
            | b'.'
            | b'_'
            | b'+'
            | b'$'
            | b'('
            | b'<'
            | b'='
            | b'~'
            | b'^'
            | b';'
            | b'\\' => true,
            b'-' => text.as_bytes().get(1).is_some_and(|next| *next != b' '),
            _ => false,
        };
        if !is_plain || text.ends_with(':') || text.contains(": ") || text.starts_with("---") || text.starts_with("...") {
            return None;
        }
        self.push(column, Kind::Scalar { text: text.to_owned(), tag: None, is_plain: true });
        Some(())
    }

    /// Ends the innermost collection.
    fn close(&mut self) {
        self.fill();
        if let Some(Open { node, .. }) = self.open.pop() {
            let end = self.nodes.len();
            if let Some(node) = self.nodes.get_mut(node) {
                node.end = end;
            }
        }
    }

    /// The value that did not come is empty.
    fn fill(&mut self) {
        if let Some(position) = self.awaited.take() {
            self.add(position, Kind::Scalar { text: String::new(), tag: None, is_plain: true });
        }
    }

    fn push(&mut self, column: usize, kind: Kind) {
        self.add(self.at(column), kind);
    }

    fn add(&mut self, position: Position, kind: Kind) {
        let end = self.nodes.len() + 1;
        self.nodes.push(Node { position, kind, end, is_flow: false, is_anchored: false });
    }

    fn at(&self, column: usize) -> Position {
        shifted(self.raw, self.line, column)
    }
}

/// What follows the dash of a list's item.
fn item(content: &str) -> Option<&str> {
    let rest = content.strip_prefix('-')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim_start_matches(' '))
}

/// A key without quotes, and what follows its colon.
fn key(content: &str) -> Option<(&str, &str)> {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
    let length = content.bytes().position(|byte| !is_inner(&byte))?;
    let (key, rest) = content.split_at(length);
    let rest = rest.strip_prefix(':')?;
    let is_key = !key.starts_with('-') && (1..=LONGEST_KEY).contains(&length) && (rest.is_empty() || rest.starts_with(' '));
    is_key.then_some((key, rest))
}

/// Whether nothing follows, or a comment.
fn is_end(rest: &str) -> bool {
    let content = rest.trim_start_matches(' ');
    content.is_empty() || (content.starts_with('#') && content.len() < rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{compose, split};
    use super::*;

    fn shown(nodes: &Nodes) -> Vec<String> {
        let kind = |node: &Node| match &node.kind {
            Kind::Scalar { text, tag, is_plain } => format!("{text:?} {tag:?} {is_plain}"),
            Kind::Sequence => "list".to_owned(),
            Kind::Mapping => "map".to_owned(),
            Kind::Alias { target } => format!("alias {target}"),
        };
        let node = |node: &Node| {
            let Node { position, end, is_flow, is_anchored, .. } = node;
            format!("{}:{} {} to {end} {is_flow} {is_anchored}", position.line, position.column, kind(node))
        };
        let unread = nodes.unread.map(|position| format!("unread at {position:?}"));
        nodes.nodes.iter().map(node).chain(unread).collect()
    }

    /// Returns whether it was read by its lines; what was is what the parser reads.
    #[track_caller]
    fn is_read(text: &str) -> bool {
        let mut is_read = true;
        for raw in split(text).unwrap_or_default() {
            match read(&raw) {
                Some(nodes) => {
                    let parsed = compose::parsed(&raw).map_err(|error| error.to_string());
                    assert_eq!(Ok(shown(&nodes)), parsed.map(|nodes| shown(&nodes)), "{text}");
                }
                None => is_read = false,
            }
        }
        is_read
    }

    #[test]
    fn manifests_are_read_by_their_lines() {
        for text in [
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop # ours\n  labels: {}\nspec:\n  ports:\n  - port: 80\n    name: 'http'\n  - port: 81\n",
            "---\n# c\n\na:\n    - b: 1\n      c:\n        - d\n    -   e: \"x y\"   # z\n        f: -1\n\nlast:\n",
            "a:\nb:\n- c\n-   - d\n    - e\n  # f\n- g:\n  h: 0644\nargs: []\nimage: registry.example.com:5000/shop:1.0@sha256\n",
            "- a: https://example.com/#anchor\n  b: --flag={x}\n- c\n",
            "  a: 1\n  b:\n    c: 2",
        ] {
            assert!(is_read(text), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_to_see_is_left_to_the_parser() {
        for text in [
            "a: |\n  text\n",
            "a: &b c\n",
            "a: *b\n",
            "a: !!str 1\n",
            "a: {b: c}\n",
            "a: [b]\n",
            "a: b\n  c\n",
            "a: \"b\\n\"\n",
            "a: 'b''c'\n",
            "a: \"b\nc\"\n",
            "a: b: c\n",
            "a:\n  b\n",
            "<<: *a\n",
            "? a\n: b\n",
            "\"a\": b\n",
            "a : b\n",
            "a: ä\n",
            "a:\tb\n",
            "a: b\r\n",
            "a: 1\n b: 2\n",
            "a:\n    b: 1\n  c: 2\n",
            "- a\nb: c\n",
            "a: b\n- c\n",
            "-\n  a: b\n",
            "a\n",
            "a: @b\n",
            "a: - b\n",
            "{\"a\": 1}",
            "",
            "# c\n",
        ] {
            assert!(split(text).unwrap().is_empty() || !is_read(text), "{text}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let members = ["a:", "b: 1", "c: x y", "d: 'q'", "e: \"q\" # c", "f: {}", "g: []", "key/x.y-z: -1", "h:   # c", "i: a:b #c"];
        let items = ["- a", "- b: 1", "- c:", "-   d: e", "- - f", "- {}", "- 'g'", "-", "- - - h: 1", "- i: # c"];
        let odd = [
            "",
            "# c",
            "   ",
            "x",
            "? a",
            ": b",
            "a: b: c",
            "a: b:",
            "j: |",
            "k: >-",
            "l: &m n",
            "<<: *m",
            "o: !!int 1",
            "p: [a",
            "q: \"r",
            "...",
            "a: -",
            "a: - b",
            "a: #b",
            "a:#b",
            "'a': b",
            "a: b#c",
            "a: %b",
            "a: ... ",
            "a: --- b",
            "- --- b",
            "- ...",
            "a: 'b' c",
            "a: 'b'#c",
            "a: {}x",
            "a: []#",
            "- -a",
            "-a: b",
            "-- a",
            ".: .",
            "/: /",
            "a: ~",
            "a: <b",
            "a: =",
            "a: \\b",
            "a: (b",
            "a: ;",
            "a: ^",
        ];
        let of = |lines: &[&'static str]| prop::sample::select(lines.to_vec()).prop_map(str::to_owned);
        let content = prop_oneof![8 => of(&members), 6 => of(&items), 2 => of(&odd), 1 => "[ -~]{0,12}"];
        (0..7_usize, content).prop_map(|(indent, content)| format!("{}{content}", " ".repeat(indent)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_parser_is_of_the_same_opinion(lines in prop::collection::vec(line(), 0..8)) {
            is_read(&lines.join("\n"));
        }

        #[test]
        fn so_it_is_where_columns_fit(lines in prop::collection::vec((0..4_usize, line()), 0..10)) {
            let text: Vec<String> = lines.iter().map(|(indent, line)| format!("{}{}", " ".repeat(indent * 2), line.trim_start())).collect();
            is_read(&text.join("\n"));
        }
    }
}
