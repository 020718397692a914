//! A document → its objects: one, or those of a `List`.

use serde_json::Value;

use super::rollout;
use crate::model::{Finding, Manifest, Position, Source};
use crate::yaml::{self, Document, Remark, RemarkKind};

/// The objects of a document, each with its own positions and remarks. What is no object gives none.
pub(super) fn sources(document: Document, path: &str, namespace: &str) -> Vec<Source> {
    let remark = |pointer: &str| -> Vec<Finding> {
        let inside = document
            .remarks
            .iter()
            .filter(|remark| remark.pointer.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        inside.map(|remark| finding(remark, path)).collect()
    };
    let mut read = Vec::new();
    for (pointer, value) in yaml::expand_list(document.value) {
        let Ok(manifest) = Manifest::try_from(value) else { continue };
        let object = manifest.object_ref(namespace);
        let places = if pointer.is_empty() { document.places.clone() } else { document.places.under(&pointer) };
        let remarks: Vec<_> = remark(&pointer).into_iter().map(|finding| finding.about(&object)).collect();
        read.push(Source { manifest, object, path: path.to_owned(), places, remarks });
    }
    read
}

/// The Rollouts of a document that have no name, and so no plan.
pub(super) fn nameless(document: &Document, path: &str) -> Vec<Finding> {
    let value = &document.value;
    if !value.get("items").is_some_and(Value::is_array) {
        return nameless_rollout(value, document.places.at(""), path).into_iter().collect();
    }
    let items = yaml::expand_list(value.clone());
    items.iter().filter_map(|(pointer, item)| nameless_rollout(item, document.places.at(pointer), path)).collect()
}

fn nameless_rollout(value: &Value, position: Position, path: &str) -> Option<Finding> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let group = text("/apiVersion")?.split('/').next()?;
    if text("/kind") != Some("Rollout") || group != rollout::GROUP || text("/metadata/name").is_some() {
        return None;
    }
    let finding = match (value.pointer("/metadata/name"), text("/metadata/generateName")) {
        (None | Some(Value::Null), Some(prefix)) => {
            Finding::error("rollout-nameless", format!("a Rollout with `generateName: {prefix}` has another name each time it is created"))
        }
        (Some(written), _) if !written.is_null() && written != "" => {
            Finding::error("rollout-nameless", format!("the name of a Rollout is a text, not {written}"))
                .help("put `metadata.name` in quotes")
        }
        (None | Some(_), _) => Finding::error("rollout-nameless", "a Rollout needs a name: `metadata.name` is missing"),
    };
    let finding = if finding.help.is_none() { finding.help("write `metadata.name`: its plan is found by it") } else { finding };
    Some(finding.at(path, position))
}

/// Where a second object begins in a document that says twice of which kind it is.
pub(super) fn second_object(document: &Document) -> Option<Position> {
    let twice = |remark: &&Remark| remark.kind == RemarkKind::DuplicateKey;
    let mut remarks = document.remarks.iter().filter(twice);
    let is_joined = document.remarks.iter().filter(twice).any(|remark| remark.pointer == "/kind");
    remarks.find(|remark| is_joined && remark.pointer.rfind('/') == Some(0)).map(|remark| remark.position)
}

fn finding(remark: &Remark, path: &str) -> Finding {
    let finding = match &remark.kind {
        RemarkKind::DuplicateKey => {
            Finding::warning("yaml-duplicate-key", &remark.message).help("the last one counts; take the others away")
        }
        RemarkKind::ReadDifferently { .. } => {
            Finding::warning("yaml-read-differently", &remark.message).help("put the value in quotes if it is a text")
        }
        RemarkKind::Unread => Finding::warning("yaml-unread", &remark.message).help("separate documents with `---`"),
    };
    finding.at(path, remark.position)
}
