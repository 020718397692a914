//! From nodes to values: scalars get their meaning, aliases and merges their content, and remarks are made.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compose::{Kind, Node, Nodes};
use super::scalar::{self, Meaning};
use super::{DEPTH_LIMIT, Document, ReadError, Remark, RemarkKind, kustomize};
use crate::model::{Places, Position, pointer::escape};

const REMARKS_LIMIT: usize = 1 << 20;

/// Reads a document from its nodes; none when there are none.
pub(super) fn document(Nodes { nodes, unread }: Nodes) -> Result<Option<Document>, ReadError> {
    if nodes.is_empty() {
        return Ok(None);
    }
    let mut builder = Builder {
        nodes,
        places: Places::default(),
        remarks: Vec::new(),
        remarks_left: REMARKS_LIMIT,
        pointer: String::new(),
        depth: 0,
        aliases: 0,
        effort: Effort::default(),
    };
    let root = builder.open(None, builder.node(0).position);
    let value = builder.value(0)?;
    builder.close(root);
    if let Some(position) = unread {
        let message = "more text after the end of the document, which kubectl does not read".into();
        builder.remarks.push(Remark { pointer: String::new(), position, kind: RemarkKind::Unread, message });
    }
    Ok(Some(Document { value, places: builder.places, remarks: builder.remarks }))
}

struct Builder {
    nodes: Vec<Node>,
    places: Places,
    remarks: Vec<Remark>,
    /// How many bytes the remarks may still take: a hostile text could make each of them long.
    remarks_left: usize,
    /// Where the builder is, as a JSON pointer.
    pointer: String,
    depth: usize,
    /// How many aliases the builder is inside of. There, nothing gets a place or a remark a second time.
    aliases: u32,
    effort: Effort,
}

impl Builder {
    fn value(&mut self, index: usize) -> Result<Value, ReadError> {
        let position = self.node(index).position;
        self.spend(index, position)?;
        match &self.node(index).kind {
            Kind::Scalar { .. } => self.scalar(index),
            Kind::Alias { target, .. } => {
                let target = *target;
                self.within_alias(|builder| builder.value(target))
            }
            Kind::Sequence => {
                self.descend(position)?;
                let mut items = Vec::new();
                let mut child = index + 1;
                while child < self.node(index).end {
                    let length = self.pointer.len();
                    if self.aliases == 0 {
                        push_segment(&mut self.pointer, &items.len().to_string());
                    }
                    let place = self.open(None, self.node(child).position);
                    items.push(self.value(child)?);
                    self.close(place);
                    self.pointer.truncate(length);
                    child = self.node(child).end;
                }
                self.depth -= 1;
                Ok(Value::Array(items))
            }
            Kind::Mapping => {
                let mut map = Map::new();
                self.mapping(index, &mut map, &mut BTreeSet::new())?;
                Ok(Value::Object(map))
            }
        }
    }

    fn scalar(&mut self, index: usize) -> Result<Value, ReadError> {
        let meaning = self.meaning(index)?;
        let position = self.node(index).position;
        let is_written_once = self.aliases == 0;
        let Some(Node { kind: Kind::Scalar { text, tag, is_plain }, is_anchored, .. }) = self.nodes.get_mut(index) else {
            return Ok(Value::Null);
        };
        if is_written_once
            && self.remarks_left > 0
            && let Some(other) = kustomize::value(text, tag.as_deref(), *is_plain, &meaning)
        {
            let kubectl = meaning.clone().value(|| text.clone()).unwrap_or_default().to_string();
            let message = format!("`{text}` is {kubectl} to kubectl and {other} to kustomize");
            let kind = RemarkKind::ReadDifferently { kubectl, kustomize: other };
            self.remarks_left = self.remarks_left.saturating_sub(self.pointer.len() + message.len());
            self.remarks.push(Remark { pointer: self.pointer.clone(), position, kind, message });
        }
        // A text moves out of the tree unless an alias may ask for it again.
        let value = if *is_anchored { meaning.value(|| text.clone()) } else { meaning.value(|| std::mem::take(text)) };
        value.ok_or_else(|| ReadError::new(position, "a number that is not finite, which JSON cannot say"))
    }

    fn meaning(&self, index: usize) -> Result<Meaning, ReadError> {
        let node = self.node(index);
        match &node.kind {
            Kind::Scalar { text, tag, is_plain } => {
                scalar::resolve(text, tag.as_deref(), *is_plain).map_err(|message| ReadError::new(node.position, message))
            }
            Kind::Sequence | Kind::Mapping | Kind::Alias { .. } => Ok(Meaning::Null),
        }
    }

    /// Reads a mapping into `map`. `merged` are the keys there that came by a merge and may be replaced without a word.
    fn mapping(&mut self, index: usize, map: &mut Map<String, Value>, merged: &mut BTreeSet<String>) -> Result<(), ReadError> {
        self.descend(self.node(index).position)?;
        let mut key_index = index + 1;
        while key_index < self.node(index).end {
            let value_index = self.node(key_index).end;
            if self.is_merge(key_index) {
                self.merge(value_index, map, merged)?;
            } else {
                let key = self.key(key_index)?;
                let key_position = self.node(key_index).position;
                let length = self.pointer.len();
                if self.aliases == 0 {
                    push_segment(&mut self.pointer, &key);
                }
                let place = self.open(Some((&key, key_position)), self.node(value_index).position);
                let value = self.value(value_index)?;
                self.close(place);
                let is_expected = merged.remove(&key);
                if map.insert(key, value).is_some() && !is_expected {
                    let message = "a key that stood in this mapping before; the last one counts, and kustomize refuses the file".into();
                    self.remark(key_position, RemarkKind::DuplicateKey, message);
                }
                self.pointer.truncate(length);
            }
            key_index = self.node(value_index).end;
        }
        self.depth -= 1;
        Ok(())
    }

    fn is_merge(&self, index: usize) -> bool {
        match &self.node(index).kind {
            Kind::Scalar { text, tag, is_plain } => text == "<<" && (*is_plain || tag.as_deref() == Some("tag:yaml.org,2002:merge")),
            Kind::Sequence | Kind::Mapping | Kind::Alias { .. } => false,
        }
    }

    /// Merges where the `<<` stands: what it brings replaces what stood before it. Of several, the first wins.
    fn merge(&mut self, index: usize, map: &mut Map<String, Value>, merged: &mut BTreeSet<String>) -> Result<(), ReadError> {
        let position = self.node(index).position;
        let mut sources = Vec::new();
        if let Kind::Sequence = self.node(index).kind {
            let mut child = index + 1;
            while child < self.node(index).end {
                sources.push(child);
                child = self.node(child).end;
            }
        } else {
            sources.push(index);
        }
        for source in sources.into_iter().rev() {
            self.effort.spend(self.aliases > 0, 0, position)?;
            let target = match self.node(source).kind {
                Kind::Alias { target, .. } => target,
                Kind::Scalar { .. } | Kind::Sequence | Kind::Mapping => source,
            };
            if !matches!(self.node(target).kind, Kind::Mapping) {
                return Err(ReadError::new(position, "a merge of what is not a mapping"));
            }
            let mut brought = Map::new();
            self.within_alias(|builder| builder.mapping(target, &mut brought, &mut BTreeSet::new()))?;
            for (key, value) in brought {
                self.bring(key, value, position, map, merged);
            }
        }
        Ok(())
    }

    fn bring(&mut self, key: String, value: Value, position: Position, map: &mut Map<String, Value>, merged: &mut BTreeSet<String>) {
        let place = self.open(Some((&key, position)), position);
        self.close(place);
        let is_silent = self.aliases > 0 || self.remarks_left == 0 || merged.contains(&key);
        if let Some(explicit) = map.get(&key).filter(|explicit| !is_silent && **explicit != value) {
            let (kubectl, kustomize) = (value.to_string(), explicit.to_string());
            let length = self.pointer.len();
            push_segment(&mut self.pointer, &key);
            let message = format!("a merge after the key `{key}` replaces its value for kubectl, not for kustomize");
            self.remark(position, RemarkKind::ReadDifferently { kubectl, kustomize }, message);
            self.pointer.truncate(length);
        }
        merged.insert(key.clone());
        map.insert(key, value);
    }

    fn key(&mut self, index: usize) -> Result<String, ReadError> {
        let position = self.node(index).position;
        self.spend(index, position)?;
        let target = match self.node(index).kind {
            Kind::Alias { target, .. } => {
                self.within_alias(|builder| builder.spend(target, position))?;
                target
            }
            Kind::Scalar { .. } | Kind::Sequence | Kind::Mapping => index,
        };
        let Kind::Scalar { text, tag, is_plain } = &self.node(target).kind else {
            return Err(ReadError::new(position, "a mapping or a list as a key; a template in `{{ }}` looks like one"));
        };
        let meaning = self.meaning(target)?;
        let key = match &meaning {
            Meaning::Null => None,
            Meaning::Boolean(boolean) => Some(boolean.to_string()),
            Meaning::Number(number) => number.key(),
            Meaning::NotFinite(name) => Some((*name).to_owned()),
            Meaning::Timestamp | Meaning::Text => Some(text.clone()),
            Meaning::Decoded(decoded) => Some(decoded.clone()),
        };
        let key = key.ok_or_else(|| ReadError::new(position, format!("the key `{text}`, which is no string")))?;
        if self.aliases == 0
            && let Some(other) = kustomize::key(text, tag.as_deref(), *is_plain, &meaning)
        {
            let kubectl = Value::String(key.clone()).to_string();
            let message = format!("the key `{text}` is {kubectl} to kubectl and {other} to kustomize");
            let kind = RemarkKind::ReadDifferently { kubectl, kustomize: other };
            let length = self.pointer.len();
            push_segment(&mut self.pointer, &key);
            self.remark(position, kind, message);
            self.pointer.truncate(length);
        }
        Ok(key)
    }

    /// Counts a node, and what its text takes.
    fn spend(&mut self, index: usize, position: Position) -> Result<(), ReadError> {
        let length = match &self.node(index).kind {
            Kind::Scalar { text, .. } => text.len(),
            Kind::Sequence | Kind::Mapping | Kind::Alias { .. } => 0,
        };
        self.effort.spend(self.aliases > 0, length, position)
    }

    fn within_alias<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, ReadError>) -> Result<T, ReadError> {
        self.aliases += 1;
        let result = inside(self);
        self.aliases -= 1;
        result
    }

    fn descend(&mut self, position: Position) -> Result<(), ReadError> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(ReadError::new(position, format!("more than {DEPTH_LIMIT} levels of nesting")));
        }
        Ok(())
    }

    fn remark(&mut self, position: Position, kind: RemarkKind, message: String) {
        if self.aliases == 0 && self.remarks_left > 0 {
            self.remarks_left = self.remarks_left.saturating_sub(self.pointer.len() + message.len());
            self.remarks.push(Remark { pointer: self.pointer.clone(), position, kind, message });
        }
    }

    fn open(&mut self, key: Option<(&str, Position)>, position: Position) -> Option<usize> {
        (self.aliases == 0).then(|| self.places.open(key, position))
    }

    fn close(&mut self, place: Option<usize>) {
        if let Some(place) = place {
            self.places.close(place);
        }
    }

    fn node(&self, index: usize) -> &Node {
        &self.nodes[index]
    }
}

fn push_segment(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&escape(key));
}

/// How much was read, and how much of that through aliases: a small text must not become a large value.
#[derive(Default)]
struct Effort {
    all: u64,
    aliased: u64,
    /// The bytes of the texts that came through aliases.
    copied: usize,
}

/// No API server takes an object that is as large.
const COPIES_LIMIT: usize = 4 << 20;

impl Effort {
    /// Counts one step, by the same measure as kubectl: nearly all of a small document may be aliases, a tenth of a large one.
    /// kubectl shares the texts; here each alias has a copy, so these have a limit of their own.
    fn spend(&mut self, is_aliased: bool, length: usize, position: Position) -> Result<(), ReadError> {
        const SMALL: u64 = 400_000;
        const LARGE: u64 = 4_000_000;
        self.all += 1;
        if is_aliased {
            self.aliased += 1;
            self.copied += length;
            if self.copied > COPIES_LIMIT {
                return Err(ReadError::new(position, format!("more than {COPIES_LIMIT} bytes of text through aliases")));
            }
        }
        if self.aliased <= 100 || self.all <= 1000 {
            return Ok(());
        }
        // In hundredths of a percent: 99 % falling to 10 %.
        let allowed = 9900 - 8900 * (self.all.clamp(SMALL, LARGE) - SMALL) / (LARGE - SMALL);
        if self.aliased * 10_000 > self.all * allowed {
            return Err(ReadError::new(position, "too much of the document comes through aliases"));
        }
        Ok(())
    }
}
