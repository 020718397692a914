//! An object as it waits for the Rollouts that name it: known by its name, its content in little space.
//!
//! A repository has thousands, of which a few are looked into at a time: as trees of maps they would take ten times as much.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Map, Number, Value};

use super::{Finding, Links, Manifest, ObjectRef, Places, Reference, Source};

/// One object of a repository, and where it stands, but for its content.
#[derive(Debug)]
pub struct Stored {
    /// Its name in a cluster, with the environment's namespace where the file says none.
    pub object: ObjectRef,
    /// The file, relative to the root, with `/`.
    pub path: String,
    /// The positions of its nodes in the file.
    pub places: Places,
    /// What a reader of the file should know, should a plan use the object.
    pub remarks: Vec<Finding>,
    /// What its `spec.scaleTargetRef` names; the API version is empty where it says none. KEDA means a Deployment by default.
    pub scales: Option<Reference>,
    /// What its `spec.host` names.
    pub host: Option<String>,
    /// How it is connected to others by labels and names.
    pub links: Links,
    content: Packed,
    /// The object, while somebody has it.
    open: Mutex<Weak<Source>>,
}

impl Stored {
    /// Puts an object away.
    pub fn new(source: Source) -> Self {
        let Source { manifest, object, path, mut places, remarks } = source;
        places.shrink();
        let scales = scaled(&manifest);
        let host = manifest.at("/spec/host").and_then(Value::as_str).map(str::to_owned);
        let links = Links::of(&object, &manifest);
        Self { object, path, places, remarks, scales, host, links, content: Packed::of(manifest.value()), open: Mutex::default() }
    }

    /// The whole object: that of somebody who has it now, else a new one.
    pub fn source(&self) -> Arc<Source> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.upgrade().unwrap_or_else(|| {
            let source = Arc::new(self.unpacked());
            *open = Arc::downgrade(&source);
            source
        })
    }

    /// Whether both have the same content, wherever they stand.
    pub fn is_same_manifest(&self, other: &Self) -> bool {
        self.content == other.content
    }

    fn unpacked(&self) -> Source {
        let (object, path, places, remarks) = (self.object.clone(), self.path.clone(), self.places.clone(), self.remarks.clone());
        Source { manifest: Manifest::known(self.content.value()), object, path, places, remarks }
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        (&self.object, &self.path, &self.places, &self.remarks) == (&other.object, &other.path, &other.places, &other.remarks)
            && self.is_same_manifest(other)
    }
}

fn scaled(manifest: &Manifest) -> Option<Reference> {
    let target = manifest.at("/spec/scaleTargetRef")?;
    let text = |field: &str| target.get(field).and_then(Value::as_str).map(str::to_owned);
    let default = (manifest.group() == "keda.sh").then(|| "Deployment".to_owned());
    Some(Reference { api_version: text("apiVersion").unwrap_or_default(), kind: text("kind").or(default)?, name: text("name")? })
}

/// A value as a row of its nodes, each before those inside it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Packed {
    nodes: Box<[Node]>,
    /// The texts and keys, one after the other.
    texts: Box<str>,
    numbers: Box<[Number]>,
}

/// Lengths and counts fit: no text that is read is longer than 32 bits can count.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Null,
    Boolean(bool),
    /// The next of the numbers.
    Number,
    /// The next text, of this many bytes.
    Text(u32),
    /// The next this many nodes.
    List(u32),
    /// The next this many pairs of a text and a node.
    Map(u32),
}

impl Packed {
    fn of(value: &Value) -> Self {
        let (mut nodes, mut texts, mut numbers) = (Vec::new(), String::new(), Vec::new());
        pack(value, &mut nodes, &mut texts, &mut numbers);
        Self { nodes: nodes.into(), texts: texts.into(), numbers: numbers.into() }
    }

    fn value(&self) -> Value {
        Reader { nodes: self.nodes.iter(), texts: &self.texts, numbers: self.numbers.iter() }.value()
    }
}

fn pack(value: &Value, nodes: &mut Vec<Node>, texts: &mut String, numbers: &mut Vec<Number>) {
    match value {
        Value::Null => nodes.push(Node::Null),
        Value::Bool(boolean) => nodes.push(Node::Boolean(*boolean)),
        Value::Number(number) => {
            nodes.push(Node::Number);
            numbers.push(number.clone());
        }
        Value::String(text) => pack_text(text, nodes, texts),
        Value::Array(items) => {
            nodes.push(Node::List(short(items.len())));
            for item in items {
                pack(item, nodes, texts, numbers);
            }
        }
        Value::Object(map) => {
            nodes.push(Node::Map(short(map.len())));
            for (key, value) in map {
                pack_text(key, nodes, texts);
                pack(value, nodes, texts, numbers);
            }
        }
    }
}

fn pack_text(text: &str, nodes: &mut Vec<Node>, texts: &mut String) {
    nodes.push(Node::Text(short(text.len())));
    texts.push_str(text);
}

fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What is left to read.
struct Reader<'a> {
    nodes: std::slice::Iter<'a, Node>,
    texts: &'a str,
    numbers: std::slice::Iter<'a, Number>,
}

impl Reader<'_> {
    fn value(&mut self) -> Value {
        match self.nodes.next().copied().unwrap_or(Node::Null) {
            Node::Null => Value::Null,
            Node::Boolean(boolean) => Value::Bool(boolean),
            Node::Number => self.numbers.next().cloned().map_or(Value::Null, Value::Number),
            Node::Text(length) => Value::String(self.text(length)),
            Node::List(count) => Value::Array((0..count).map(|_| self.value()).collect()),
            Node::Map(count) => {
                let mut map = Map::new();
                for _ in 0..count {
                    let Some(Node::Text(length)) = self.nodes.next().copied() else { break };
                    let key = self.text(length);
                    map.insert(key, self.value());
                }
                Value::Object(map)
            }
        }
    }

    fn text(&mut self, length: u32) -> String {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (text, rest) = self.texts.split_at_checked(length).unwrap_or((self.texts, ""));
        self.texts = rest;
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(value: Value) -> Stored {
        let manifest = Manifest::try_from(value).unwrap();
        let object = manifest.object_ref("prod");
        Stored::new(Source { manifest, object, path: "a.yaml".into(), places: Places::default(), remarks: Vec::new() })
    }

    #[test]
    fn an_object_comes_back_as_it_was() {
        let value = json!({
            "apiVersion": "v1", "kind": "Any", "metadata": {"name": "a", "labels": {}, "ä": "ö\u{1f600}"},
            "spec": {"list": [[], [1, -1, 1.5, u64::MAX, i64::MIN, 1e300], null, true, false, "", {"": ""}]},
        });
        let stored = stored(value.clone());
        assert_eq!(*stored.source().manifest.value(), value);
        assert_eq!((stored.source().path.as_str(), stored.source().object.name.as_str()), ("a.yaml", "a"));
    }

    #[test]
    fn those_who_look_at_the_same_time_share_the_object() {
        let stored = stored(json!({"apiVersion": "v1", "kind": "Any", "metadata": {"name": "a"}}));
        let (one, other) = (stored.source(), stored.source());
        assert!(Arc::ptr_eq(&one, &other));
        drop((one, other));
        assert!(stored.open.lock().unwrap().upgrade().is_none());
    }

    #[test]
    fn a_number_is_not_its_text_nor_another_number() {
        let of = |value: Value| stored(json!({"apiVersion": "v1", "kind": "Any", "metadata": {"name": "a"}, "spec": value}));
        assert!(of(json!({"a": 1})).is_same_manifest(&of(json!({"a": 1}))));
        for other in [json!({"a": "1"}), json!({"a": 2}), json!({"a": 1.0}), json!({"b": 1}), json!({"a": 1, "b": 1}), json!([1])] {
            assert!(!of(json!({"a": 1})).is_same_manifest(&of(other.clone())), "{other}");
        }
    }

    #[test]
    fn what_is_scaled_is_known_without_looking() {
        let target = json!({"kind": "Deployment", "name": "shop"});
        let object = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {"scaleTargetRef": target}});
        let scales = stored(object).scales.unwrap();
        assert_eq!((scales.api_version.as_str(), scales.kind.as_str(), scales.name.as_str()), ("", "Deployment", "shop"));
    }
}
