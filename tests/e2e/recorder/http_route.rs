//! Gateway API's HTTPRoute: the most specific rule wins, by path, then headers, then query parameters, then order.

use serde_json::Value;

use super::backend::{Backend, shares};
use super::request::{Request, fits};

/// How specific a match is; more is better.
type Precedence = (bool, usize, bool, usize, usize);

/// Returns where the request goes; none when no rule takes it or the rule has no backend.
pub(crate) fn route(object: &Value, request: &Request) -> Option<Vec<Backend>> {
    let mut best: Option<(Precedence, &Value)> = None;
    for rule in object["spec"]["rules"].as_array()? {
        let matched = match rule["matches"].as_array().filter(|entries| !entries.is_empty()) {
            None => Some((false, 1, false, 0, 0)),
            Some(entries) => entries.iter().filter_map(|entry| precedence(entry, request)).max(),
        };
        if let Some(precedence) = matched
            && best.is_none_or(|(former, _)| precedence > former)
        {
            best = Some((precedence, rule));
        }
    }
    let backends = best?.1["backendRefs"].as_array()?;
    let weighted = backends
        .iter()
        .map(|backend| (backend["name"].as_str().unwrap_or_default().to_owned(), None, backend["weight"].as_f64().unwrap_or(1.0)));
    Some(shares(weighted.collect()))
}

/// Paths that its rules name.
pub(crate) fn paths(object: &Value) -> Vec<String> {
    let rules = object["spec"]["rules"].as_array().into_iter().flatten();
    let matches = rules.flat_map(|rule| rule["matches"].as_array().into_iter().flatten());
    matches.filter_map(|entry| entry["path"]["value"].as_str()).map(str::to_owned).collect()
}

fn precedence(entry: &Value, request: &Request) -> Option<Precedence> {
    let path = entry["path"]["value"].as_str().unwrap_or("/");
    let exact = match entry["path"]["type"].as_str().unwrap_or("PathPrefix") {
        "Exact" => (request.path == path).then_some(true)?,
        "PathPrefix" => is_below(&request.path, path).then_some(false)?,
        _ => fits(path, &request.path).then_some(false)?,
    };
    let method = entry["method"].as_str();
    if method.is_some_and(|method| method != "GET") {
        return None;
    }
    let headers = conditions(&entry["headers"], |name| request.headers.get(&name.to_lowercase()))?;
    let parameters = conditions(&entry["queryParams"], |name| request.query.get(name))?;
    Some((exact, path.len(), method.is_some(), headers, parameters))
}

/// Whether the path is the prefix or lies below it, by whole segments.
fn is_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// How many conditions there are, when all of them are met.
fn conditions<'a>(list: &Value, value: impl Fn(&str) -> Option<&'a String>) -> Option<usize> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_met = |condition: &Value| {
        let wanted = condition["value"].as_str().unwrap_or_default();
        let found = value(condition["name"].as_str().unwrap_or_default());
        found.is_some_and(|found| match condition["type"].as_str() {
            Some("RegularExpression") => fits(wanted, found),
            _ => found == wanted,
        })
    };
    list.iter().all(is_met).then_some(list.len())
}
