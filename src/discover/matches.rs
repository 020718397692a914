//! Which requests a step means, and what it changes in their headers.

use serde_json::Value;

use super::fields::{self, no_hint};
use super::node::Node;
use crate::model::{Finding, HeaderModifier, HeaderValue, Match, MatchKind, NamedMatch, PathKind, PathMatch, Traffic};

const MOST_MATCHES: usize = 16;
const MOST_CONDITIONS: usize = 16;
const LONGEST_NAME: usize = 256;
const LONGEST_HEADER: usize = 4096;
const LONGEST_PARAMETER: usize = 1024;
const LONGEST_PATH: usize = 1024;

/// What an element of `matches` may hold.
pub(super) const ALL: &[&str] = &["path", "headers", "queryParams"];
/// What it may hold in v1alpha1.
pub(super) const HEADERS_ONLY: &[&str] = &["headers"];

/// The step's matches; `known` says which conditions its API version has.
pub(super) fn read(step: &Node<'_>, known: &[&str], findings: &mut Vec<Finding>) -> Vec<Match> {
    let elements = step.list("matches", findings);
    if let (Some(list), true) = (step.child("matches"), known == ALL && elements.len() > MOST_MATCHES) {
        let message = format!("a step has at most {MOST_MATCHES} matches, not {}", elements.len());
        findings.push(list.error("matches-too-many", message).help("one regular expression can stand for several values"));
    }
    let most = if known == ALL { MOST_MATCHES } else { elements.len() };
    elements.iter().take(most).filter_map(|element| one(element, known, findings)).collect()
}

fn one(element: &Node<'_>, known: &[&str], findings: &mut Vec<Finding>) -> Option<Match> {
    let hint: fields::Hint = if known == ALL { flat_header } else { newer_conditions };
    if !element.is_map("matches", known, hint, findings) {
        return None;
    }
    let path = if known == ALL { path(element, findings) } else { None };
    let headers = named(element, "headers", LONGEST_HEADER, known == ALL, findings);
    let query_params = if known == ALL { named(element, "queryParams", LONGEST_PARAMETER, true, findings) } else { Vec::new() };
    if element.value.as_object().is_some_and(serde_json::Map::is_empty) {
        let finding = element.warning("match-empty", "a match without conditions takes every request");
        findings.push(finding.help("name a header: `headers: [{name: version, value: canary}]`"));
    }
    Some(Match { path, headers, query_params })
}

fn flat_header(field: &str, _: &Value) -> Option<String> {
    matches!(field, "name" | "value" | "type").then(|| "conditions stand in a list: `headers: [{name: version, value: canary}]`".to_owned())
}

fn newer_conditions(field: &str, value: &Value) -> Option<String> {
    if matches!(field, "path" | "queryParams") {
        return Some(format!("`{field}` needs `apiVersion: rollouts.kruise.io/v1beta1`"));
    }
    flat_header(field, value)
}

fn path(element: &Node<'_>, findings: &mut Vec<Finding>) -> Option<PathMatch> {
    let node = element.map("path", &["type", "value"], no_hint, findings)?;
    let kind = match node.text("type", findings) {
        None | Some("PathPrefix") => PathKind::PathPrefix,
        Some("Exact") => PathKind::Exact,
        Some("RegularExpression") => PathKind::RegularExpression,
        Some(other) => {
            let kinds = ["Exact", "PathPrefix", "RegularExpression"];
            findings.push(wrong_type(&node, other, &kinds));
            return None;
        }
    };
    let value = node.text("value", findings).unwrap_or("/");
    if let Some(fault) = path_fault(kind, value) {
        let at = node.child("value").unwrap_or(node);
        findings.push(at.error("path-invalid", format!("a path {fault}: `{value}`")));
        return None;
    }
    Some(PathMatch { kind, value: value.to_owned() })
}

/// What the Gateway API forbids in a path.
fn path_fault(kind: PathKind, value: &str) -> Option<&'static str> {
    if value.chars().count() > LONGEST_PATH {
        return Some("has at most 1024 characters");
    }
    if kind == PathKind::RegularExpression {
        return None;
    }
    if !value.starts_with('/') {
        return Some("starts with `/`");
    }
    for (part, fault) in [
        ("//", "must not contain `//`"),
        ("/./", "must not contain `/./`"),
        ("/../", "must not contain `/../`"),
        ("%2f", "must not contain `%2f`"),
        ("%2F", "must not contain `%2F`"),
        ("#", "must not contain `#`"),
    ] {
        if value.contains(part) {
            return Some(fault);
        }
    }
    if value.ends_with("/..") || value.ends_with("/.") {
        return Some("must not end with `/.` or `/..`");
    }
    (!is_path_text(value.as_bytes())).then_some("has letters, digits, `-._~!$&'()*+,;=:@` and `%` with two hexadecimal digits only")
}

fn is_path_text(mut bytes: &[u8]) -> bool {
    loop {
        match bytes {
            [] => return true,
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => bytes = rest,
            [byte, rest @ ..] if byte.is_ascii_alphanumeric() || b"-/._~!$&'()*+,;=:@".contains(byte) => bytes = rest,
            _ => return false,
        }
    }
}

/// In v1beta1 a name stands for one condition only: `is_keyed`.
fn named(element: &Node<'_>, key: &str, longest: usize, is_keyed: bool, findings: &mut Vec<Finding>) -> Vec<NamedMatch> {
    let elements = limited(element, key, findings);
    let mut read: Vec<NamedMatch> = Vec::new();
    for node in elements {
        if !node.is_map(key, &["type", "name", "value"], no_hint, findings) {
            continue;
        }
        let kind = match node.text("type", findings) {
            None | Some("Exact") => MatchKind::Exact,
            Some("RegularExpression") => MatchKind::RegularExpression,
            Some(other) => {
                findings.push(wrong_type(&node, other, &["Exact", "RegularExpression"]));
                continue;
            }
        };
        let Some(header) = header(&node, longest, findings) else { continue };
        // The names of headers are the same in small and capital letters.
        let is_same = |name: &str| name == header.name || (key == "headers" && name.eq_ignore_ascii_case(&header.name));
        if is_keyed && read.iter().any(|earlier| is_same(&earlier.name)) {
            findings.push(twice(&node, key, &header.name));
        }
        read.push(NamedMatch { kind, name: header.name, value: header.value });
    }
    read
}

fn limited<'a>(node: &Node<'a>, key: &str, findings: &mut Vec<Finding>) -> Vec<Node<'a>> {
    let mut elements = node.list(key, findings);
    if let (Some(list), true) = (node.child(key), elements.len() > MOST_CONDITIONS) {
        findings.push(list.error("conditions-too-many", format!("`{key}` has at most {MOST_CONDITIONS} elements, not {}", elements.len())));
        elements.truncate(MOST_CONDITIONS);
    }
    elements
}

fn wrong_type(node: &Node<'_>, written: &str, kinds: &[&str]) -> Finding {
    let at = node.child("type").unwrap_or_else(|| node.clone());
    let listed: Vec<_> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let finding = at.error("match-type", format!("`type` is {}, not `{written}`", listed.join(" or ")));
    let lower = written.to_lowercase();
    let meant = if lower.starts_with("reg") { Some("RegularExpression") } else { fields::nearest(written, kinds) };
    match meant {
        Some(kind) => finding.help(format!("did you mean `{kind}`?")),
        None => finding,
    }
}

fn twice(node: &Node<'_>, key: &str, name: &str) -> Finding {
    let at = node.child("name").unwrap_or_else(|| node.clone());
    at.error("name-twice", format!("`{key}` names `{name}` twice"))
        .help("all conditions of a match must hold; write a second match for the other value")
}

fn header(node: &Node<'_>, longest: usize, findings: &mut Vec<Finding>) -> Option<HeaderValue> {
    let name = node.needed_text("name", "header-name", "`name: version`", findings);
    let value = node.needed_text("value", "header-value", "`value: canary`", findings);
    let (name, value) = (name?, value?);
    if let Some(fault) = name_fault(name) {
        let at = node.child("name")?;
        findings.push(at.error("header-name", fault));
        return None;
    }
    if value.chars().count() > longest {
        let at = node.child("value")?;
        findings.push(at.error("header-value", format!("a value has at most {longest} characters, not {}", value.chars().count())));
        return None;
    }
    if let Some(control) = value.chars().find(|sign| sign.is_control() && *sign != '\t') {
        let at = node.child("value")?;
        let message = format!("a value has no control characters and no line ends: `{}` is in it", control.escape_default());
        findings.push(at.error("header-value", message).help("take it out; a value in quotes or of one plain line has none at its end"));
        return None;
    }
    Some(HeaderValue { name: name.to_owned(), value: value.to_owned() })
}

fn name_fault(name: &str) -> Option<String> {
    if name.len() > LONGEST_NAME {
        return Some(format!("a name has at most {LONGEST_NAME} characters, not {}", name.len()));
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (!name.bytes().all(is_token)).then(|| format!("a name has letters, digits and `!#$%&'*+-.^_|~` only: `{name}`"))
}

/// What the step changes in the headers of requests that reach the new version, by routes that lead there in this step.
pub(super) fn header_modifier(step: &Node<'_>, traffic: &Traffic, findings: &mut Vec<Finding>) -> Option<HeaderModifier> {
    let node = step.map("requestHeaderModifier", &["set", "add", "remove"], no_hint, findings)?;
    let modifier =
        HeaderModifier { set: values(&node, "set", findings), add: values(&node, "add", findings), remove: removed(&node, findings) };
    if modifier == HeaderModifier::default() {
        return None;
    }
    // Traffic that cannot be understood is a finding already.
    let is_tried = ["traffic", "weight"].iter().any(|key| step.child(key).is_some())
        || step.child("matches").is_some_and(|matches| matches.elements().next().is_some());
    if !traffic.is_split() && !is_tried {
        let message = "`requestHeaderModifier` does nothing here: without traffic the step leaves all routes as they are written";
        let finding = node.warning("header-modifier-unused", message);
        findings.push(finding.help("give the step traffic or `matches`, or take `requestHeaderModifier` out"));
    }
    Some(modifier)
}

fn values(modifier: &Node<'_>, key: &str, findings: &mut Vec<Finding>) -> Vec<HeaderValue> {
    let mut read: Vec<HeaderValue> = Vec::new();
    for node in limited(modifier, key, findings) {
        if !node.is_map(key, &["name", "value"], no_hint, findings) {
            continue;
        }
        let Some(header) = header(&node, LONGEST_HEADER, findings) else { continue };
        if read.iter().any(|earlier| earlier.name == header.name) {
            let at = node.child("name").unwrap_or_else(|| node.clone());
            findings.push(at.error("name-twice", format!("`{key}` names `{}` twice", header.name)));
        }
        read.push(header);
    }
    read
}

fn removed(modifier: &Node<'_>, findings: &mut Vec<Finding>) -> Vec<String> {
    let mut read: Vec<String> = Vec::new();
    for node in limited(modifier, "remove", findings) {
        match node.value.as_str() {
            Some(name) if read.iter().any(|earlier| earlier == name) => {
                findings.push(node.error("name-twice", format!("`remove` names `{name}` twice")));
            }
            Some(name) => read.push(name.to_owned()),
            None => findings.push(node.error("field-type", format!("`remove` lists header names, not {}", node.written()))),
        }
    }
    read
}
