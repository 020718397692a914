//! Istio's VirtualService: the first rule that matches wins.

use serde_json::Value;

use super::answer::{Part, Taken, weight};
use super::condition::{Condition, Value as Text, Verdict};
use super::destination::{self, Port};
use super::request::{Protocol, Request};
use super::view::View;

/// The lists of rules.
const LISTS: [(Protocol, &str); 3] = [(Protocol::Http, "http"), (Protocol::Tls, "tls"), (Protocol::Tcp, "tcp")];

/// Conditions with texts of their own.
const MAPS: [&str; 3] = ["headers", "queryParams", "withoutHeaders"];

/// Parts of a match that ask nothing.
const SILENT: [&str; 3] = ["name", "statPrefix", "ignoreUriCase"];

/// Returns what the object does with a request.
pub(super) fn route(view: &View<'_>, object: &Value, request: &Request) -> Taken {
    let list = LISTS.iter().find(|(protocol, _)| *protocol == request.protocol).map_or("http", |(_, list)| list);
    let rules = object["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        match takes(rule, request) {
            Verdict::Yes => return destinations(view, rule, &format!("/spec/{list}/{index}")),
            Verdict::No => {}
            Verdict::Unknown => return Taken::NotKnown(format!("whether `/spec/{list}/{index}` takes {request} is for Istio to say")),
        }
    }
    Taken::Not
}

/// Returns a request for every match of every rule.
pub(super) fn requests(object: &Value) -> Vec<Request> {
    let mut requests = Vec::new();
    for (protocol, list) in LISTS {
        for rule in object["spec"][list].as_array().into_iter().flatten() {
            let matches = rule["match"].as_array().map(Vec::as_slice).unwrap_or_default();
            requests.extend(matches.iter().map(|entry| example(protocol, entry)));
            if matches.is_empty() {
                requests.push(Request::plain(protocol));
            }
        }
    }
    requests
}

/// Returns every subset that a destination names, with its host.
pub(super) fn subsets(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let rules = LISTS.iter().flat_map(|(_, list)| object["spec"][list].as_array().into_iter().flatten());
    let routes = rules.flat_map(|rule| rule["route"].as_array().into_iter().flatten());
    routes.filter_map(|route| Some((route["destination"]["host"].as_str()?, route["destination"]["subset"].as_str()?)))
}

fn destinations(view: &View<'_>, rule: &Value, pointer: &str) -> Taken {
    if rule.get("delegate").is_some() {
        return Taken::NotKnown(format!("`{pointer}` delegates to another VirtualService"));
    }
    let Some(route) = rule["route"].as_array() else { return Taken::Not };
    if aborts_all(rule) {
        return Taken::Not;
    }
    let mut parts = Vec::new();
    for (index, entry) in route.iter().enumerate() {
        let weight = match entry.get("weight") {
            // What stands alone gets everything.
            _ if route.len() == 1 => Some(1),
            None => Some(0),
            Some(written) => weight(written),
        };
        let Some(weight) = weight else { return Taken::NotKnown(format!("`{pointer}/route/{index}` has a weight that is none")) };
        let host = entry["destination"]["host"].as_str().unwrap_or_default();
        let subset = entry["destination"]["subset"].as_str();
        let port = entry["destination"]["port"]["number"].as_u64().map(Port::Number);
        let (reach, closed) = destination::host(view, host, subset, port);
        parts.push(Part {
            reach,
            name: subset.map_or_else(|| host.to_owned(), |subset| format!("{host} subset {subset}")),
            weight: if route.len() == 1 { 100 } else { weight },
            pointer: format!("{pointer}/route/{index}/destination/host"),
            closed,
        });
    }
    Taken::To(parts)
}

/// Whether the proxy answers each request with an error. Where a part is aborted, the rest is divided as it is written.
fn aborts_all(rule: &Value) -> bool {
    let abort = &rule["fault"]["abort"];
    abort["percentage"]["value"].as_f64().or_else(|| abort["percent"].as_f64()).is_some_and(|percent| percent >= 100.0)
}

fn takes(rule: &Value, request: &Request) -> Verdict {
    match rule["match"].as_array().filter(|entries| !entries.is_empty()) {
        None => Verdict::Yes,
        Some(entries) => Verdict::any(entries.iter().map(|entry| holds(entry, request))),
    }
}

fn holds(entry: &Value, request: &Request) -> Verdict {
    let Some(fields) = entry.as_object() else { return Verdict::Unknown };
    let is_case_ignored = entry["ignoreUriCase"] == true;
    Verdict::all(fields.iter().filter(|(field, _)| !SILENT.contains(&field.as_str())).map(|(field, value)| match field.as_str() {
        "uri" if is_case_ignored => ignoring_case(value, &request.path),
        "uri" => condition(value).holds(Some(&request.path)),
        "method" => condition(value).holds(request.method.as_ref()),
        "authority" => condition(value).holds(request.host.as_ref()),
        "headers" => each(value, |name| request.headers.get(&name.to_lowercase())),
        "queryParams" => each(value, |name| request.query.get(name)),
        "withoutHeaders" => {
            let unwanted = value.as_object().into_iter().flatten();
            Verdict::any(unwanted.map(|(name, value)| condition(value).holds(request.headers.get(&name.to_lowercase())))).inverted()
        }
        _ => match request.facts.get(field) {
            None => Verdict::No,
            Some(fact) if *fact == written(value) => Verdict::Yes,
            Some(_) => Verdict::Unknown,
        },
    }))
}

/// A part of a match as it is written, in one line.
fn written(value: &Value) -> String {
    value.to_string()
}

fn each<'a>(conditions: &Value, text: impl Fn(&str) -> Option<&'a Text>) -> Verdict {
    Verdict::all(conditions.as_object().into_iter().flatten().map(|(name, value)| condition(value).holds(text(name))))
}

fn ignoring_case(value: &Value, path: &Text) -> Verdict {
    let lower = match path {
        Text::Text(text) => Text::Text(text.to_lowercase()),
        Text::Fitting(_) => return condition(value).holds(Some(path)),
    };
    let lowered = |text: &str| text.to_lowercase();
    match condition(value) {
        Condition::Exact(wanted) => Condition::Exact(&lowered(wanted)).holds(Some(&lower)),
        Condition::Prefix(wanted) => Condition::Prefix(&lowered(wanted)).holds(Some(&lower)),
        other @ (Condition::Below(_) | Condition::Pattern(_) | Condition::Present) => other.holds(Some(path)),
    }
}

/// A condition with none of the three asks for presence only.
fn condition(value: &Value) -> Condition<'_> {
    if let Some(exact) = value["exact"].as_str() {
        Condition::Exact(exact)
    } else if let Some(prefix) = value["prefix"].as_str() {
        Condition::Prefix(prefix)
    } else if let Some(pattern) = value["regex"].as_str() {
        Condition::Pattern(pattern)
    } else {
        Condition::Present
    }
}

fn example(protocol: Protocol, entry: &Value) -> Request {
    let mut request = Request::plain(protocol);
    for (field, value) in entry.as_object().into_iter().flatten().filter(|(field, _)| !SILENT.contains(&field.as_str())) {
        match field.as_str() {
            "uri" => request.path = condition(value).example(),
            "method" => request.method = Some(condition(value).example()),
            "authority" => request.host = Some(condition(value).example()),
            map if MAPS.contains(&map) => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    match map {
                        "headers" => request.headers.insert(name.to_lowercase(), condition(value).example()),
                        "queryParams" => request.query.insert(name.clone(), condition(value).example()),
                        // A request has no header that nobody asks for.
                        _ => None,
                    };
                }
            }
            _ => {
                request.facts.insert(field.clone(), written(value));
            }
        }
    }
    request
}
