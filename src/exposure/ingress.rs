//! Ingresses as ingress-nginx reads them: a second one with the annotation `canary` takes a part of the first one's requests.

use serde_json::Value;

use super::answer::{Part, Taken};
use super::condition::{Condition, Value as Text, Verdict};
use super::destination::{self, Port};
use super::request::{Protocol, Request};
use super::view::View;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// Annotations by which paths become expressions.
const EXPRESSIONS: [&str; 2] = ["use-regex", "rewrite-target"];

/// Where a request is sent: host, path and Service, and where that stands.
struct Location<'a> {
    host: &'a str,
    path: &'a str,
    service: &'a str,
    port: Option<&'a Value>,
    pointer: String,
}

/// What the second Ingress decides about a request.
enum Amount {
    /// So much of so much.
    Of(u64, u64),
    /// It cannot be told.
    Unknown,
}

/// Returns what the object does with a request, with the help of its alternative.
pub(super) fn route(view: &View<'_>, object: &Value, request: &Request) -> Taken {
    if EXPRESSIONS.iter().any(|name| annotation(object, name).is_some_and(|value| value != "false")) {
        return Taken::NotKnown("paths of this Ingress are expressions".to_owned());
    }
    let Some(main) = location(object, request) else { return Taken::Not };
    let part = |location: &Location<'_>, weight| {
        let (reach, closed) = destination::service(view, location.service, location.port.map(Port::Any));
        Part { reach, name: location.service.to_owned(), weight, pointer: location.pointer.clone(), closed }
    };
    // The alternative for the same host and path. The controller takes one only.
    let canaries = view.all("networking.k8s.io", "Ingress").map(|named| named.found.value).filter(|other| is_canary(other));
    let same = |other| {
        let locations: Vec<_> = locations(other).collect();
        locations.into_iter().find(|location| location.host == main.host && location.path == main.path).map(|location| (other, location))
    };
    let mut alternatives = canaries.filter_map(same);
    let Some((canary, alternative)) = alternatives.next() else { return Taken::To(vec![part(&main, 100)]) };
    if alternatives.next().is_some() {
        return Taken::NotKnown("which of two canary Ingresses counts is for nginx to say".to_owned());
    }
    match part_of(canary, request) {
        Amount::Of(weight, total) => Taken::To(vec![part(&main, total.saturating_sub(weight)), part(&alternative, weight.min(total))]),
        Amount::Unknown => Taken::NotKnown(format!("whether the canary Ingress takes {request} is for nginx to say")),
    }
}

/// Returns a request for every path of every host, and for every header and cookie of the alternative.
pub(super) fn requests(view: &View<'_>, object: &Value) -> Vec<Request> {
    let mut requests: Vec<Request> = locations(object).map(|location| plain(&location)).collect();
    for canary in view.all("networking.k8s.io", "Ingress").map(|named| named.found.value).filter(|other| is_canary(other)) {
        let header = annotation(canary, "canary-by-header").map(|name| {
            let value = match (annotation(canary, "canary-by-header-value"), annotation(canary, "canary-by-header-pattern")) {
                (Some(value), _) => Condition::Exact(value),
                (None, Some(pattern)) => Condition::Pattern(pattern),
                (None, None) => Condition::Exact("always"),
            };
            (name.to_lowercase(), value.example())
        });
        let cookie = annotation(canary, "canary-by-cookie").map(|name| (name.to_owned(), "always".to_owned()));
        for location in locations(canary) {
            let mut with_header = plain(&location);
            with_header.headers.extend(header.clone());
            let mut with_cookie = plain(&location);
            with_cookie.cookies.extend(cookie.clone());
            requests.extend([with_header, with_cookie]);
        }
    }
    requests
}

fn plain(location: &Location<'_>) -> Request {
    let mut request = Request::plain(Protocol::Http);
    request.host = (!location.host.is_empty()).then(|| Text::Text(location.host.to_owned()));
    request.path = Text::Text(location.path.to_owned());
    request
}

fn is_canary(object: &Value) -> bool {
    annotation(object, "canary") == Some("true")
}

/// The location of the longest path that takes the request; a path that must be exact is longer than its prefix.
fn location<'a>(object: &'a Value, request: &Request) -> Option<Location<'a>> {
    let host = match &request.host {
        Some(Text::Text(host)) => host.as_str(),
        Some(Text::Fitting(_)) | None => "",
    };
    let rules = rules(object);
    let is_taken = |location: &Location<'_>, is_exact: bool| {
        let condition = if is_exact { Condition::Exact(location.path) } else { Condition::Below(location.path) };
        location.host == host && condition.holds(Some(&request.path)) == Verdict::Yes
    };
    let taken = rules.filter(|(location, is_exact)| is_taken(location, *is_exact));
    let mut best: Option<(usize, bool, Location<'a>)> = None;
    for (location, is_exact) in taken {
        let rank = (location.path.len(), is_exact);
        if best.as_ref().is_none_or(|(length, exact, _)| rank > (*length, *exact)) {
            best = Some((rank.0, rank.1, location));
        }
    }
    best.map(|(.., location)| location)
}

fn locations(object: &Value) -> impl Iterator<Item = Location<'_>> {
    rules(object).map(|(location, _)| location)
}

/// Every path of every host, and whether it must be exact.
fn rules(object: &Value) -> impl Iterator<Item = (Location<'_>, bool)> {
    let rules = object["spec"]["rules"].as_array().into_iter().flatten().enumerate();
    rules.flat_map(|(index, rule)| {
        let host = rule["host"].as_str().unwrap_or_default();
        rule["http"]["paths"].as_array().into_iter().flatten().enumerate().map(move |(position, path)| {
            let service = path["backend"]["service"]["name"].as_str().or(path["backend"]["serviceName"].as_str()).unwrap_or_default();
            let port = &path["backend"]["service"]["port"];
            let port = port.get("number").or_else(|| port.get("name")).or_else(|| path["backend"].get("servicePort"));
            let pointer = format!("/spec/rules/{index}/http/paths/{position}/backend");
            (Location { host, path: path["path"].as_str().unwrap_or("/"), service, port, pointer }, path["pathType"] == "Exact")
        })
    })
}

/// Header before cookie before weight.
fn part_of(canary: &Value, request: &Request) -> Amount {
    if let Some(name) = annotation(canary, "canary-by-header")
        && let Some(found) = request.headers.get(&name.to_lowercase())
    {
        let value = annotation(canary, "canary-by-header-value").map(Condition::Exact);
        let wanted = value.or_else(|| annotation(canary, "canary-by-header-pattern").map(Condition::Pattern));
        match wanted.unwrap_or(Condition::Exact("always")).holds(Some(found)) {
            Verdict::Yes => return Amount::Of(1, 1),
            Verdict::Unknown => return Amount::Unknown,
            Verdict::No if wanted.is_none() && *found == Text::Text("never".to_owned()) => return Amount::Of(0, 1),
            Verdict::No => {}
        }
    }
    if let Some(name) = annotation(canary, "canary-by-cookie") {
        match request.cookies.get(name).map(String::as_str) {
            Some("always") => return Amount::Of(1, 1),
            Some("never") => return Amount::Of(0, 1),
            Some(_) | None => {}
        }
    }
    let number = |name, default| match annotation(canary, name) {
        None => Some(default),
        Some(text) => text.parse::<u32>().ok(),
    };
    match (number("canary-weight", 0), number("canary-weight-total", 100)) {
        (Some(weight), Some(total)) if total > 0 => Amount::Of(u64::from(weight), u64::from(total)),
        _ => Amount::Unknown,
    }
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][format!("{PREFIX}{name}")].as_str()
}
