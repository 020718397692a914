//! The five settings of an Argo CD Application.

use serde_json::{Value, json};

use super::settings::Setting;

/// Sync options without which ignored fields are written or shown as different.
pub(super) const RESPECT: &str = "RespectIgnoreDifferences=true";
pub(super) const OTHER_OPTIONS: [&str; 2] = ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"];
/// The annotation of the Application, and what it has to hold.
pub(super) const COMPARE: &str = "argocd.argoproj.io/compare-options";
pub(super) const SERVER_SIDE_DIFF: &str = "ServerSideDiff=true";

/// The part of an Application, or of an ApplicationSet's template, that leaves alone what a plan changes.
pub fn block(settings: &[Setting]) -> Value {
    let one = |setting: &Setting| {
        json!({
            "group": setting.group,
            "kind": setting.kind,
            "name": setting.name,
            "namespace": setting.namespace,
            "jsonPointers": setting.paths,
        })
    };
    json!({
        "metadata": {"annotations": {COMPARE: SERVER_SIDE_DIFF}},
        "spec": {
            "ignoreDifferences": settings.iter().map(one).collect::<Vec<_>>(),
            "syncPolicy": {"syncOptions": [RESPECT, OTHER_OPTIONS[0], OTHER_OPTIONS[1]]},
        },
    })
}

/// Whether an entry's field speaks of `text`: equal, or a glob for group and kind; absent ones speak of everything but for the group.
pub(super) fn speaks_of(entry: &Value, field: &str, text: &str) -> bool {
    match (field, entry.get(field).and_then(Value::as_str)) {
        ("group", None) => text.is_empty(),
        (_, None | Some("*")) | ("name" | "namespace", Some("")) => true,
        (_, Some(written)) => written == text,
    }
}

/// A jq expression as a JSON pointer, where it is a plain path: `.spec.rules` is `/spec/rules`.
pub(super) fn pointer_of(expression: &str) -> Option<String> {
    let path = expression.trim().strip_prefix('.')?;
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    path.split('.').all(is_plain).then(|| format!("/{}", path.replace('.', "/")))
}
