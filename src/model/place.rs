//! Where something stands in a file.

use schemars::JsonSchema;
use serde::Serialize;

use super::pointer;

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A position in a named file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Place {
    /// The file, relative to the root that was read, with `/`.
    pub path: String,
    /// Where in it.
    #[serde(flatten)]
    pub position: Position,
}

/// The position of every node of one document, by JSON pointer (RFC 6901; the root is the empty pointer).
///
/// Two allocations a document, whatever its size: few positions are ever asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// Parents before their children, children in the order of the file.
    nodes: Vec<Node>,
    /// The keys of all nodes, one after the other.
    keys: String,
}

/// A repository has a million of these, and no file that is read is longer than 32 bits can count.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    position: Position,
    key_position: Position,
    /// Where its key stands in `keys`; none for an item of a list.
    key: Option<(u32, u32)>,
    /// The index after the last node inside this one.
    end: u32,
}

/// A value of a document, or its nearest ancestor that [`Places`] knows. Whoever walks through a document goes from one to the
/// next, instead of from the root each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    index: usize,
    /// Whether it is the value, not an ancestor of it.
    is_itself: bool,
}

impl Places {
    /// The position of the value at `pointer`, else of its nearest ancestor, else the file's start.
    pub fn at(&self, pointer: &str) -> Position {
        self.nearest(pointer).map_or(Position { line: 1, column: 1 }, |node| node.position)
    }

    /// The position of the key at the end of `pointer`; of the value itself where there is no key.
    pub fn key_at(&self, pointer: &str) -> Position {
        self.nearest(pointer).map_or(Position { line: 1, column: 1 }, |node| node.key_position)
    }

    /// Adds a node: an item of a list without a key, a field with one. Nodes inside it follow until `close`.
    pub fn open(&mut self, key: Option<(&str, Position)>, position: Position) -> usize {
        let index = self.nodes.len();
        let start = self.keys.len();
        if let Some((key, _)) = key {
            self.keys.push_str(key);
        }
        let range = key.map(|_| (short(start), short(self.keys.len())));
        let key_position = key.map_or(position, |(_, position)| position);
        self.nodes.push(Node { position, key_position, key: range, end: short(index + 1) });
        index
    }

    /// Ends the node that `open` returned.
    pub fn close(&mut self, index: usize) {
        let end = short(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(index) {
            node.end = end;
        }
    }

    /// Gives back what was taken for nodes that did not come.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.keys.shrink_to_fit();
    }

    /// The positions of the value at `pointer` and of all in it, as those of a document of its own.
    #[must_use]
    pub fn under(&self, pointer: &str) -> Self {
        let first = self.nearest_index(pointer);
        let mut places = Self::default();
        let end = self.nodes.get(first).map_or(first, |node| long(node.end));
        for node in self.nodes.get(first..end).unwrap_or_default() {
            let key = node.key.and_then(|key| self.key(key)).filter(|_| !places.nodes.is_empty());
            let index = places.open(key.map(|key| (key, node.key_position)), node.position);
            if let Some(copy) = places.nodes.get_mut(index) {
                copy.key_position = node.key_position;
                copy.end = node.end - short(first);
            }
        }
        places
    }

    fn key(&self, (start, end): (u32, u32)) -> Option<&str> {
        self.keys.get(long(start)..long(end))
    }

    fn nearest(&self, pointer: &str) -> Option<&Node> {
        self.nodes.get(self.nearest_index(pointer))
    }

    fn nearest_index(&self, pointer: &str) -> usize {
        let mut found = 0;
        for key in pointer::tokens(pointer) {
            match self.child(found, &key) {
                Some(child) => found = child,
                None => break,
            }
        }
        found
    }

    /// The whole document.
    pub fn root(&self) -> Spot {
        Spot { index: 0, is_itself: true }
    }

    /// The field `key` of the map at `spot`.
    #[must_use]
    pub fn field(&self, spot: Spot, key: &str) -> Spot {
        let child = if spot.is_itself { self.child(spot.index, key) } else { None };
        child.map_or(Spot { is_itself: false, ..spot }, |index| Spot { index, is_itself: true })
    }

    /// The items of the list at `spot`, as many as anybody asks for.
    pub fn items(&self, spot: Spot) -> impl Iterator<Item = Spot> {
        let children = spot.is_itself.then(|| self.children(spot.index)).into_iter().flatten();
        let items = children.map(|(index, _)| Spot { index, is_itself: true });
        items.chain(std::iter::repeat(Spot { is_itself: false, ..spot }))
    }

    /// The position of the value at `spot`.
    pub fn position(&self, spot: Spot) -> Position {
        self.nodes.get(spot.index).map_or(Position { line: 1, column: 1 }, |node| node.position)
    }

    /// The position of its key; of the value itself where there is no key.
    pub fn key_position(&self, spot: Spot) -> Position {
        self.nodes.get(spot.index).map_or(Position { line: 1, column: 1 }, |node| node.key_position)
    }

    /// The nodes directly inside one.
    fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Node)> {
        let end = self.nodes.get(parent).map_or(0, |node| long(node.end));
        let mut index = parent + 1;
        std::iter::from_fn(move || {
            let node = self.nodes.get(index).filter(|_| index < end)?;
            Some((std::mem::replace(&mut index, long(node.end)), node))
        })
    }

    /// The last child of that name: the last of two equal keys counts.
    fn child(&self, parent: usize, name: &str) -> Option<usize> {
        let number: Option<usize> = name.parse().ok();
        let is_it = |(item, (_, node)): &(usize, (usize, &Node))| match node.key {
            Some(key) => self.key(key) == Some(name),
            None => number == Some(*item),
        };
        self.children(parent).enumerate().filter(is_it).last().map(|(_, (index, _))| index)
    }
}

fn short(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn long(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(line: u32) -> Position {
        Position { line, column: 1 }
    }

    #[test]
    fn a_node_is_found_by_its_pointer_or_else_its_nearest_ancestor() {
        let mut places = Places::default();
        let root = places.open(None, position(1));
        let list = places.open(Some(("a/b", position(2))), position(3));
        for line in 4..6 {
            let item = places.open(None, position(line));
            places.close(item);
        }
        places.close(list);
        let field = places.open(Some(("c", position(6))), position(7));
        places.close(field);
        places.close(root);

        assert_eq!(places.at(""), position(1));
        assert_eq!(places.at("/a~1b/1"), position(5));
        assert_eq!(places.at("/a~1b/7/x"), position(3));
        assert_eq!(places.key_at("/a~1b"), position(2));
        assert_eq!(places.at("/c"), position(7));
        assert_eq!(places.at("/nothing"), position(1));

        let at = |spot: Spot| places.position(spot);
        let inner = places.field(places.root(), "a/b");
        assert_eq!((at(inner), places.key_position(inner)), (position(3), position(2)));
        assert_eq!(places.items(inner).take(3).map(at).collect::<Vec<_>>(), [position(4), position(5), position(3)]);
        let nowhere = places.field(inner, "x");
        assert_eq!(at(places.field(nowhere, "1")), position(3), "nothing is inside of what is not there");

        let inner = places.under("/a~1b");
        assert_eq!((inner.at(""), inner.at("/1"), inner.at("/c")), (position(3), position(5), position(3)));
    }
}
