//! References to objects, as Rollouts write them.

use super::node::Node;
use crate::model::{Code, Finding, Reference};

/// The object that a map with `apiVersion`, `kind` and `name` names; all three are needed.
pub(super) fn read(node: &Node<'_>, code: Code, findings: &mut Vec<Finding>) -> Option<Reference> {
    let api_version = node.needed_text("apiVersion", code, "a reference has `apiVersion`, `kind` and `name`", findings);
    let kind = node.needed_text("kind", code, "a reference has `apiVersion`, `kind` and `name`", findings);
    let name = node.needed_text("name", code, "a reference has `apiVersion`, `kind` and `name`", findings);
    let reference = Reference { api_version: api_version?.into(), kind: kind?.into(), name: name?.into() };
    if reference.api_version.matches('/').count() > 1 || reference.api_version.starts_with('/') || reference.api_version.ends_with('/') {
        let at = node.child("apiVersion")?;
        findings.push(at.error(code, format!("`apiVersion` is `group/version`, not `{}`", reference.api_version)));
        return None;
    }
    for (key, text) in [("kind", &reference.kind), ("name", &reference.name)] {
        if text.contains(['/', '@']) || text.chars().any(char::is_whitespace) || text.len() > 253 {
            let at = node.child(key)?;
            findings.push(at.error(code, format!("`{key}` cannot be {}", at.written())));
            return None;
        }
    }
    Some(reference)
}
