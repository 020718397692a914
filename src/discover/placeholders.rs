//! Placeholders that Flux fills in when it applies manifests (`postBuild`): `${NAME}`, `${NAME:=default}`.
//!
//! Plans are exempt from it, so that what was reviewed is what is applied: a placeholder in a plan would reach the cluster.

use serde_json::Value;

use crate::model::{Finding, Source, pointer};

/// So many placeholders of one object are reported one by one: the remedy is the same for all.
const MOST: usize = 8;

/// Fields whose text is a program's own: shells know `${NAME}` too.
const SHELL: [&str; 7] = ["annotations", "args", "command", "env", "exec", "lifecycle", "managedFields"];

/// The findings about the placeholders of an object.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    search(source.manifest.value(), String::new(), &mut found);
    found.into_iter().map(|(pointer, placeholder)| finding(source, &pointer, &placeholder)).collect()
}

fn finding(source: &Source, pointer: &str, placeholder: &str) -> Finding {
    let message = format!("`{placeholder}` is a placeholder, which a plan would bring into the cluster as it stands");
    Finding::error("placeholder", message)
        .at(&source.path, source.places.at(pointer))
        .about(&source.object)
        .help("fill it in first: `kustomize build FOLDER | flux envsubst --strict | rollout render -`")
}

fn search(value: &Value, at: String, found: &mut Vec<(String, String)>) {
    if found.len() == MOST {
        return;
    }
    match value {
        Value::String(text) => found.extend(placeholder(text).map(|placeholder| (at, placeholder.to_owned()))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                search(item, format!("{at}/{index}"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !SHELL.contains(&key.as_str())) {
                search(value, format!("{at}/{}", pointer::escape(key)), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first placeholder of a text: a name in braces, perhaps with what to do without a value. `$${NAME}` is an escaped one.
fn placeholder(text: &str) -> Option<&str> {
    text.match_indices("${").find_map(|(start, opening)| {
        let inner = &text[start + opening.len()..];
        let length = inner.find('}')?;
        let name = inner[..length].split([':', '=', '-', '?', '+', '/', '#', '%', '^', ',']).next()?;
        let is_letter = |sign: char| sign.is_ascii_alphabetic() || sign == '_';
        let is_name = name.starts_with(is_letter) && name.chars().all(|sign| is_letter(sign) || sign.is_ascii_digit());
        let is_escaped = text[..start].ends_with('$');
        (is_name && !is_escaped).then(|| &text[start..=start + opening.len() + length])
    })
}

#[cfg(test)]
mod tests {
    use super::placeholder;

    #[test]
    fn a_placeholder_is_a_name_in_braces() {
        for (text, expected) in [
            ("ghcr.io/${GITHUB_OWNER}/shop:1", Some("${GITHUB_OWNER}")),
            ("${tag:=unset}", Some("${tag:=unset}")),
            ("${tag:-1.0}", Some("${tag:-1.0}")),
            ("$(HOME)", None),
            ("$${HOME}", None),
            ("https://x/${1}", None),
            ("${}", None),
            ("${open", None),
            ("$x", None),
        ] {
            assert_eq!(placeholder(text), expected, "{text}");
        }
    }
}
