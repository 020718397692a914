//! A document → its objects: one, or those of a `List`.

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
