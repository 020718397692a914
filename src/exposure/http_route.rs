//! Gateway API's HTTPRoute: the most specific match wins, by path, then method, headers, query parameters, then order.

use serde_json::Value;

use super::answer::{Part, Taken, weight};
use super::condition::{Condition, Value as Text, Verdict};
use super::destination::{self, Port, Reach};
use super::request::{Protocol, Request};
use super::view::View;

/// How specific a match is; more is better.
type Precedence = (bool, usize, bool, usize, usize);

/// The match of a rule that says none.
const EVERYTHING: (Precedence, Option<&str>) = ((false, 1, false, 0, 0), None);

/// Returns what the object does with a request.
pub(super) fn route(view: &View<'_>, object: &Value, request: &Request) -> Taken {
    let rules = object["spec"]["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut best: Option<(Precedence, Option<&str>, usize)> = None;
    for (index, rule) in rules.iter().enumerate() {
        let matches = rule["matches"].as_array().map(Vec::as_slice).unwrap_or_default();
        let entries: Vec<_> = matches.iter().map(|entry| (holds(entry, request), specificity(entry))).collect();
        let candidates = if entries.is_empty() { vec![(Verdict::Yes, EVERYTHING)] } else { entries };
        for (verdict, (precedence, pattern)) in candidates {
            match verdict {
                Verdict::No => continue,
                Verdict::Unknown => {
                    return Taken::NotKnown(format!("whether `/spec/rules/{index}` takes {request} is for the gateway to say"));
                }
                Verdict::Yes => {}
            }
            match best {
                // Where an expression stands among paths, every gateway decides by itself.
                Some((_, known, rule)) if known != pattern && rule != index => {
                    return Taken::NotKnown(format!(
                        "which of `/spec/rules/{rule}` and `/spec/rules/{index}` takes {request} is for the gateway to say"
                    ));
                }
                Some((known, ..)) if precedence <= known => {}
                Some(_) | None => best = Some((precedence, pattern, index)),
            }
        }
    }
    let Some((_, _, index)) = best else { return Taken::Not };
    backends(view, &rules[index], index)
}

/// Returns a request for every match of every rule.
pub(super) fn requests(object: &Value) -> Vec<Request> {
    let mut requests = Vec::new();
    for rule in object["spec"]["rules"].as_array().into_iter().flatten() {
        let matches = rule["matches"].as_array().map(Vec::as_slice).unwrap_or_default();
        requests.extend(matches.iter().map(example));
        if matches.is_empty() {
            requests.push(Request::plain(Protocol::Http));
        }
    }
    requests
}

fn backends(view: &View<'_>, rule: &Value, index: usize) -> Taken {
    let filters = rule["filters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if filters.iter().any(|filter| filter["type"] == "RequestRedirect") {
        return Taken::Not;
    }
    let list = rule["backendRefs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut parts = Vec::new();
    for (position, backend) in list.iter().enumerate() {
        let pointer = format!("/spec/rules/{index}/backendRefs/{position}");
        let weight = match backend.get("weight").filter(|weight| !weight.is_null()) {
            None => Some(1),
            Some(written) => weight(written),
        };
        let Some(weight) = weight else { return Taken::NotKnown(format!("`{pointer}` has a weight that is none")) };
        let name = backend["name"].as_str().unwrap_or_default();
        let (reach, closed) = reach(view, backend, name);
        parts.push(Part { reach, name: name.to_owned(), weight, pointer: format!("{pointer}/name"), closed });
    }
    Taken::To(parts)
}

fn reach(view: &View<'_>, backend: &Value, name: &str) -> (Reach, Option<String>) {
    let kind = backend["kind"].as_str().unwrap_or("Service");
    let group = backend["group"].as_str().unwrap_or_default();
    if backend["namespace"].as_str().is_some_and(|namespace| namespace != view.plan.namespace) {
        return (Reach::Elsewhere, None);
    }
    if kind != "Service" || !group.is_empty() {
        return (Reach::NotKnown(format!("what is behind `{kind}/{name}` is in no file")), None);
    }
    destination::service(view, name, backend["port"].as_u64().map(Port::Number))
}

fn holds(entry: &Value, request: &Request) -> Verdict {
    let path = path(entry).holds(Some(&request.path));
    let method = entry["method"].as_str().map(|method| Condition::Exact(method).holds(request.method.as_ref()));
    let headers = named(entry, "headers").map(|(name, condition)| condition.holds(request.headers.get(&name.to_lowercase())));
    let parameters = named(entry, "queryParams").map(|(name, condition)| condition.holds(request.query.get(name)));
    Verdict::all([path].into_iter().chain(method).chain(headers).chain(parameters))
}

/// How specific a match is, and its expression where the path is one.
fn specificity(entry: &Value) -> (Precedence, Option<&str>) {
    let path = path(entry);
    let (is_exact, length, pattern) = match path {
        Condition::Exact(text) => (true, text.len(), None),
        Condition::Pattern(pattern) => (false, pattern.len(), Some(pattern)),
        Condition::Below(text) | Condition::Prefix(text) => (false, text.len(), None),
        Condition::Present => (false, 1, None),
    };
    let precedence =
        (is_exact, length, entry.get("method").is_some(), named(entry, "headers").count(), named(entry, "queryParams").count());
    (precedence, pattern)
}

fn path(entry: &Value) -> Condition<'_> {
    let value = entry["path"]["value"].as_str().unwrap_or("/");
    match entry["path"]["type"].as_str() {
        Some("Exact") => Condition::Exact(value),
        Some("RegularExpression") => Condition::Pattern(value),
        Some(_) | None => Condition::Below(value),
    }
}

fn named<'a>(entry: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, Condition<'a>)> {
    let list = entry[field].as_array().into_iter().flatten();
    list.map(|named| {
        let value = named["value"].as_str().unwrap_or_default();
        let condition = if named["type"] == "RegularExpression" { Condition::Pattern(value) } else { Condition::Exact(value) };
        (named["name"].as_str().unwrap_or_default(), condition)
    })
}

fn example(entry: &Value) -> Request {
    let mut request = Request::plain(Protocol::Http);
    request.path = path(entry).example();
    request.method = entry["method"].as_str().map(|method| Text::Text(method.to_owned()));
    request.headers.extend(named(entry, "headers").map(|(name, condition)| (name.to_lowercase(), condition.example())));
    request.query.extend(named(entry, "queryParams").map(|(name, condition)| (name.to_owned(), condition.example())));
    request
}
