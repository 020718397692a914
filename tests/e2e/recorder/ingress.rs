//! Ingresses as ingress-nginx reads them: one beside another with the annotation `canary` takes a part of its traffic.

use serde_json::Value;

use super::backend::Backend;
use super::request::{Request, fits};
use super::view::View;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// Returns where the request goes that the Ingress `name` takes; none when no rule of it does.
pub(crate) fn route(view: &View, name: &str, request: &Request) -> Option<Vec<Backend>> {
    let object = view.get("Ingress", name)?;
    let (host, main) = backend(object, None, request)?;
    // The alternative for the same host and path. Its controller takes one only.
    let mut canaries = view.all("Ingress").map(|(_, other)| other).filter(|other| is_canary(other));
    let Some((canary, service)) = canaries.find_map(|other| Some((other, backend(other, Some(&host), request)?.1))) else {
        return Some(vec![Backend { service: main, subset: None, share: 1.0 }]);
    };
    let share = share_of(canary, request);
    let parts = [(main, 1.0 - share), (service, share)];
    Some(parts.into_iter().filter(|(_, share)| *share > 0.0).map(|(service, share)| Backend { service, subset: None, share }).collect())
}

/// Whether an Ingress is somebody's alternative, and no entry of its own.
pub(crate) fn is_canary(object: &Value) -> bool {
    annotation(object, "canary") == Some("true")
}

/// Paths that its rules name.
pub(crate) fn paths(object: &Value) -> Vec<String> {
    let rules = object["spec"]["rules"].as_array().into_iter().flatten();
    let paths = rules.flat_map(|rule| rule["http"]["paths"].as_array().into_iter().flatten());
    paths.filter_map(|path| path["path"].as_str()).map(str::to_owned).collect()
}

/// The host and Service of the longest path that takes the request.
fn backend(object: &Value, host: Option<&str>, request: &Request) -> Option<(String, String)> {
    let mut best: Option<(usize, String, String)> = None;
    for rule in object["spec"]["rules"].as_array()? {
        let own = rule["host"].as_str().unwrap_or_default();
        if host.is_some_and(|host| host != own) {
            continue;
        }
        for path in rule["http"]["paths"].as_array().into_iter().flatten() {
            let text = path["path"].as_str().unwrap_or("/");
            let takes = if path["pathType"] == "Exact" { request.path == text } else { request.path.starts_with(text) };
            if takes && best.as_ref().is_none_or(|(length, ..)| text.len() > *length) {
                let service = path["backend"]["service"]["name"].as_str().unwrap_or_default();
                best = Some((text.len(), own.to_owned(), service.to_owned()));
            }
        }
    }
    best.map(|(_, host, service)| (host, service))
}

/// Header before cookie before weight.
fn share_of(canary: &Value, request: &Request) -> f64 {
    if let Some(name) = annotation(canary, "canary-by-header")
        && let Some(found) = request.headers.get(&name.to_lowercase())
    {
        let value = annotation(canary, "canary-by-header-value");
        let pattern = annotation(canary, "canary-by-header-pattern");
        match (value, pattern, found.as_str()) {
            (Some(value), _, found) if found == value => return 1.0,
            (None, Some(pattern), found) if fits(pattern, found) => return 1.0,
            (None, None, "always") => return 1.0,
            (None, None, "never") => return 0.0,
            _ => {}
        }
    }
    if let Some(name) = annotation(canary, "canary-by-cookie") {
        match request.cookie(name) {
            Some("always") => return 1.0,
            Some("never") => return 0.0,
            _ => {}
        }
    }
    annotation(canary, "canary-weight").and_then(|weight| weight.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][format!("{PREFIX}{name}")].as_str()
}
