//! One node of an object that a user wrote: its value, and how to say what is wrong with it.

use serde_json::Value;

use super::fields;
use crate::model::{Code, Finding, Place, Source, Spot};

/// A node with its place. Findings about it stand at its exact position.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    source: &'a Source,
    spot: Spot,
    /// What was written.
    pub(super) value: &'a Value,
}

impl<'a> Node<'a> {
    /// The whole object.
    pub(super) fn root(source: &'a Source) -> Self {
        Self { source, spot: source.places.root(), value: source.manifest.value() }
    }

    /// The member `key`; absent when it is missing or null, which clusters do not tell apart.
    pub(super) fn child(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { source: self.source, spot: self.source.places.field(self.spot, key), value })
    }

    /// The elements of a list; none for anything else.
    pub(super) fn elements(&self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().map_or(&[][..], Vec::as_slice);
        items.iter().zip(self.source.places.items(self.spot)).map(|(value, spot)| Self { source: self.source, spot, value })
    }

    /// Where it stands.
    pub(super) fn place(&self) -> Place {
        Place { path: self.source.path.clone(), position: self.source.places.position(self.spot) }
    }

    /// An error at the key of this node.
    pub(super) fn error_at_key(&self, code: Code, message: impl Into<String>) -> Finding {
        let position = self.source.places.key_position(self.spot);
        self.error(code, message).at(&self.source.path, position)
    }

    /// An error at this node.
    pub(super) fn error(&self, code: Code, message: impl Into<String>) -> Finding {
        self.here(Finding::error(code, message))
    }

    /// A warning at this node.
    pub(super) fn warning(&self, code: Code, message: impl Into<String>) -> Finding {
        self.here(Finding::warning(code, message))
    }

    /// What was written, short enough for a line.
    pub(super) fn written(&self) -> String {
        shortened(&self.value.to_string())
    }

    /// The member `key` as a map with no other fields than `known`; `elsewhere` knows what users mean by others.
    pub(super) fn map(&self, key: &str, known: &[&str], elsewhere: fields::Hint, findings: &mut Vec<Finding>) -> Option<Self> {
        let child = self.child(key)?;
        child.is_map(key, known, elsewhere, findings).then_some(child)
    }

    /// Whether this node, called `name`, is a map; other fields than `known` are findings.
    pub(super) fn is_map(&self, name: &str, known: &[&str], elsewhere: fields::Hint, findings: &mut Vec<Finding>) -> bool {
        if !self.value.is_object() {
            findings.push(self.error("field-type", format!("`{name}` is a map, not {}", self.written())));
            return false;
        }
        fields::unknown(self, known, elsewhere, findings);
        true
    }

    /// The elements of the list `key`.
    pub(super) fn list(&self, key: &str, findings: &mut Vec<Finding>) -> Vec<Self> {
        let Some(child) = self.child(key) else { return Vec::new() };
        if !child.value.is_array() {
            findings.push(child.error("field-type", format!("`{key}` is a list, not {}", child.written())));
        }
        child.elements().collect()
    }

    /// The text `key`.
    pub(super) fn text(&self, key: &str, findings: &mut Vec<Finding>) -> Option<&'a str> {
        let child = self.child(key)?;
        let text = child.value.as_str();
        if text.is_none() {
            let finding = child.error("field-type", format!("`{key}` is a text, not {}", child.written()));
            findings.push(if child.value.is_object() || child.value.is_array() { finding } else { finding.help("put it in quotes") });
        }
        text
    }

    /// The text `key`, which must be there and not be empty.
    pub(super) fn needed_text(&self, key: &str, code: Code, help: &str, findings: &mut Vec<Finding>) -> Option<&'a str> {
        match self.child(key) {
            None => findings.push(self.error(code, format!("`{key}` is missing")).help(help)),
            Some(child) if child.value == "" => findings.push(child.error(code, format!("`{key}` is empty")).help(help)),
            Some(_) => return self.text(key, findings),
        }
        None
    }

    /// The truth value `key`; false when absent.
    pub(super) fn flag(&self, key: &str, findings: &mut Vec<Finding>) -> bool {
        let Some(child) = self.child(key) else { return false };
        child.value.as_bool().unwrap_or_else(|| {
            let finding = child.error("field-type", format!("`{key}` is true or false, not {}", child.written()));
            findings.push(finding.help(format!("`{key}: true`, without quotes")));
            false
        })
    }

    /// The whole number `key`, as far as a field of 32 bits can hold it.
    pub(super) fn integer(&self, key: &str, findings: &mut Vec<Finding>) -> Option<i64> {
        let child = self.child(key)?;
        let number = child.value.as_i64().filter(|number| i32::try_from(*number).is_ok());
        if number.is_none() {
            let finding = child.error("field-type", format!("`{key}` is a whole number, not {}", child.written()));
            let meant = child.value.as_str().and_then(meant);
            findings.push(meant.map_or_else(|| finding.clone(), |meant| finding.clone().help(format!("`{key}: {meant}`"))));
        }
        number
    }

    fn here(&self, finding: Finding) -> Finding {
        let place = self.place();
        finding.at(&place.path, place.position).about(format!("Rollout {}/{}", self.source.object.namespace, self.source.object.name))
    }
}

/// The whole number that somebody meant by `20%` or, in seconds, by `5m`.
fn meant(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" | "%" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|number| i32::try_from(*number).is_ok())
}

fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}
