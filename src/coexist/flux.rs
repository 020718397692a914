//! `spec.ignore` of a Flux Kustomization (kustomize-controller 1.9.0 or newer).

use serde_json::{Value, json};

use super::settings::Setting;

/// The part of a Kustomization that leaves alone what a plan changes. Names are regular expressions, so they are anchored.
pub fn block(settings: &[Setting]) -> Value {
    let one = |setting: &Setting| {
        let mut target = json!({"kind": setting.kind, "name": anchored(&setting.name), "namespace": anchored(&setting.namespace)});
        // An empty group would be any group.
        if setting.group.is_empty() {
            target["version"] = setting.version.clone().into();
        } else {
            target["group"] = setting.group.clone().into();
        }
        json!({"paths": setting.paths, "target": target})
    };
    json!({"spec": {"ignore": settings.iter().map(one).collect::<Vec<_>>()}})
}

fn anchored(name: &str) -> String {
    format!("^{}$", name.replace('.', "\\."))
}

/// Whether a target's field speaks of `text`; absent and empty ones speak of everything.
pub(super) fn speaks_of(target: &Value, field: &str, text: &str) -> bool {
    let pattern = target.get(field).and_then(Value::as_str).unwrap_or_default();
    pattern.is_empty()
        || literal(pattern).is_none_or(|(literal, at_start, at_end)| match (at_start, at_end) {
            (true, true) => literal == text,
            (true, false) => text.starts_with(&literal),
            (false, true) => text.ends_with(&literal),
            (false, false) => text.contains(&literal),
        })
}

/// Whether a pattern can match more names than one.
pub(super) fn is_unanchored(pattern: &str) -> bool {
    literal(pattern).is_some_and(|(_, at_start, at_end)| !(at_start && at_end))
}

/// The text that a pattern stands for, and whether it is held to the start and to the end. None: it is a real expression.
fn literal(pattern: &str) -> Option<(String, bool, bool)> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let is_at_start = inner.len() != pattern.len();
    let stripped = inner.strip_suffix('$').unwrap_or(inner);
    let is_at_end = stripped.len() != inner.len();
    let plain = stripped.replace("\\.", ".").replace("\\-", "-");
    let is_plain = plain.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_'));
    is_plain.then_some((plain, is_at_start, is_at_end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_unanchored, speaks_of};

    #[test]
    fn a_pattern_speaks_of_what_it_matches() {
        let speaks = |pattern: &str, name: &str| speaks_of(&json!({"name": pattern}), "name", name);
        assert!(speaks("^app$", "app") && !speaks("^app$", "my-app"));
        assert!(speaks("app", "my-app-2") && !speaks("app$", "app-2") && !speaks("^app", "my-app"));
        assert!(speaks("", "anything") && speaks("^(app|web)$", "who knows"));
        assert!(speaks("^a\\.b$", "a.b"));
    }

    #[test]
    fn a_plain_name_matches_more_than_itself() {
        assert!(is_unanchored("app") && is_unanchored("^app") && is_unanchored("app$"));
        assert!(!is_unanchored("^app$") && !is_unanchored("^(app|web)$"));
    }
}
