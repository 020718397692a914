//! A ResourceList as text: its items can be taken out and put in, and all else keeps the bytes that it came with.
//!
//! Tools read scalars in several ways, so an item that is not ours is never written again.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::yaml;

/// A list of objects that a pipeline hands from function to function.
pub(super) struct ResourceList<'a> {
    text: &'a str,
    value: Value,
    /// Where the items stand, when they stand in lines of their own.
    block: Option<Block>,
}

/// The lines of the items, counted from 0.
struct Block {
    /// The first line of each item, then the line after the last one.
    starts: Vec<usize>,
    /// How far the dashes are indented.
    indent: usize,
}

/// Why a text is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// It is not UTF-8.
    #[error("the ResourceList is not UTF-8 text")]
    NotText,
    /// It is no YAML.
    #[error("the ResourceList cannot be read")]
    Yaml(#[source] yaml::ReadError),
    /// It is something else.
    #[error(
        "stdin holds no ResourceList, but {0}\nhelp: this command is called by kpt and kustomize; to read manifests use `rollout render -`"
    )]
    Other(String),
}

impl<'a> ResourceList<'a> {
    /// Reads a list.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ListError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ListError::NotText)?;
        let mut documents = Vec::new();
        for raw in yaml::split(text).map_err(ListError::Yaml)? {
            documents.extend(yaml::read(&raw).map_err(ListError::Yaml)?);
        }
        let document = match <[yaml::Document; 1]>::try_from(documents) {
            Ok([document]) => document,
            Err(documents) => return Err(ListError::Other(format!("{} documents", documents.len()))),
        };
        let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or("an object without `kind`");
        if kind != "ResourceList" {
            return Err(ListError::Other(format!("`{}`", kind.escape_debug())));
        }
        if !matches!(document.value.get("items"), None | Some(Value::Array(_) | Value::Null)) {
            return Err(ListError::Other("one whose `items` are no list".into()));
        }
        let block = Block::of(text, &document);
        Ok(Self { text, value: document.value, block })
    }

    /// The items as they were read.
    pub(super) fn items(&self) -> &[Value] {
        self.value.get("items").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// What the pipeline's author set for this function: the `data` of a ConfigMap, or the `spec` of anything else.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        let config = self.value.get("functionConfig")?;
        let value = config.get("data").and_then(|data| data.get(name)).or_else(|| config.get("spec")?.get(name));
        value.and_then(Value::as_str).filter(|value| !value.is_empty())
    }

    /// The text of an item.
    pub(super) fn item(&self, index: usize) -> String {
        let Some(block) = &self.block else { return self.items().get(index).map(Value::to_string).unwrap_or_default() };
        let mut item = String::new();
        for (number, line) in self.lines(block.starts[index]..block.starts[index + 1]).enumerate() {
            let line = if number == 0 { line.replacen('-', " ", 1) } else { line.to_owned() };
            let width = (block.indent + 2).min(line.len() - line.trim_start_matches(' ').len());
            item.push_str(&line[width..]);
            item.push('\n');
        }
        item
    }

    /// The list with some items gone, new ones at the end, and the results of this function.
    pub(super) fn written(&self, is_gone: &dyn Fn(usize) -> bool, new: &[Value], results: &[Value]) -> String {
        let Some(block) = &self.block else { return self.rewritten(is_gone, new, results) };
        let own: Vec<&str> = self.text.lines().collect();
        let first = block.starts.first().copied().unwrap_or_default();
        let last = block.starts.last().copied().unwrap_or_default();
        let mut text = String::new();
        let mut add = |lines: &[&str]| lines.iter().for_each(|line| _ = writeln!(text, "{line}"));
        add(&without_results(&own[..first]));
        for (index, range) in block.starts.windows(2).enumerate() {
            if !is_gone(index) {
                add(&own[range[0]..range[1]]);
            }
        }
        let indent = " ".repeat(block.indent);
        for item in new {
            for (number, line) in yaml::write(item).lines().enumerate() {
                add(&[&format!("{indent}{} {line}", if number == 0 { "-" } else { " " })]);
            }
        }
        add(&without_results(&own[last..]));
        if !results.is_empty() {
            let results: Map<String, Value> = [("results".to_owned(), Value::from(results.to_vec()))].into_iter().collect();
            text.push_str(&yaml::write(&Value::from(results)));
        }
        text
    }

    /// Items that share lines, as in JSON, are written again.
    fn rewritten(&self, is_gone: &dyn Fn(usize) -> bool, new: &[Value], results: &[Value]) -> String {
        let kept = self.items().iter().enumerate().filter(|(index, _)| !is_gone(*index)).map(|(_, item)| item.clone());
        let mut value = self.value.clone();
        value["items"] = kept.chain(new.iter().cloned()).collect();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("results");
            if !results.is_empty() {
                fields.insert("results".into(), Value::from(results.to_vec()));
            }
        }
        yaml::write(&value)
    }

    fn lines(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = &str> {
        self.text.lines().skip(range.start).take(range.len())
    }
}

impl Block {
    fn of(text: &str, document: &yaml::Document) -> Option<Self> {
        let items = document.value.get("items")?.as_array().filter(|items| !items.is_empty())?;
        let lines: Vec<&str> = text.lines().collect();
        let line_of = |pointer: &str| (document.places.at(pointer).line as usize).checked_sub(1);
        let mut starts = Vec::with_capacity(items.len() + 1);
        let mut indent = None;
        for index in 0..items.len() {
            let line = line_of(&format!("/items/{index}"))?;
            let own = lines.get(line)?;
            let dash = own.len() - own.trim_start_matches(' ').len();
            let is_own = own[dash..].starts_with("- ") && indent.is_none_or(|indent| indent == dash);
            if !is_own || starts.last().is_some_and(|before| *before >= line) {
                return None;
            }
            indent = Some(dash);
            starts.push(line);
        }
        let indent = indent?;
        let is_after = |line: &&str| !line.is_empty() && !line.starts_with(' ') && !line.starts_with('-') && !line.starts_with('#');
        let last = *starts.last()?;
        let end = lines[last..].iter().position(is_after).map_or(lines.len(), |count| last + count);
        starts.push(end);
        Some(Self { starts, indent })
    }
}

/// The lines of other top-level fields than `results`.
fn without_results<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut is_inside = false;
    let is_kept = |line: &&&str| {
        if !line.is_empty() && !line.starts_with([' ', '-', '#']) {
            is_inside = line.starts_with("results:");
        }
        !is_inside
    };
    lines.iter().filter(is_kept).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ListError, ResourceList};

    const LIST: &str = "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- kind: A
  on: yes # ours
  text: |
    - a

    b
-   kind: B
functionConfig:
  data: {output: plans}
results:
- message: old
";

    #[test]
    fn items_that_stay_keep_their_bytes() {
        let list = ResourceList::read(LIST.as_bytes()).expect("a list");
        assert_eq!(list.item(0), "kind: A\non: yes # ours\ntext: |\n  - a\n\n  b\n");
        assert_eq!(list.item(1), "  kind: B\n");
        assert_eq!(list.setting("output"), Some("plans"));
        let written = list.written(&|index| index == 1, &[json!({"kind": "C", "list": [1]})], &[json!({"message": "new"})]);
        let expected = LIST.replace("-   kind: B\n", "- kind: C\n  list:\n  - 1\n").replace("old", "new");
        assert_eq!(written, expected);
    }

    #[test]
    fn a_list_in_json_is_written_again() {
        let list =
            ResourceList::read(br#"{"kind": "ResourceList", "items": [{"kind": "A"}, {"kind": "B"}], "results": []}"#).expect("a list");
        assert_eq!(list.item(0), r#"{"kind":"A"}"#);
        assert_eq!(list.written(&|index| index == 0, &[], &[]), "items:\n- kind: B\nkind: ResourceList\n");
    }

    #[test]
    fn an_empty_list_takes_items() {
        let list = ResourceList::read(b"kind: ResourceList\nitems: []\n").expect("a list");
        assert_eq!(list.written(&|_| false, &[json!({"kind": "A"})], &[]), "items:\n- kind: A\nkind: ResourceList\n");
    }

    #[test]
    fn anything_else_is_refused() {
        let refused = |text: &[u8]| ResourceList::read(text).err();
        assert_eq!(refused(b"kind: Service\n"), Some(ListError::Other("`Service`".into())));
        assert_eq!(refused(b"kind: ResourceList\nitems: 5\n"), Some(ListError::Other("one whose `items` are no list".into())));
        assert_eq!(refused(b""), Some(ListError::Other("0 documents".into())));
        assert_eq!(refused(b"\xff"), Some(ListError::NotText));
        assert!(matches!(refused(b"a: ["), Some(ListError::Yaml(_))));
    }
}
