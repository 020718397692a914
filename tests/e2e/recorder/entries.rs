//! The entries of traffic, the requests that are tried at each, and who answers them.
//!
//! An entry is judged by every path that it ever named: a rule, or a whole object, that goes away takes its requests along.

use std::collections::{BTreeMap, BTreeSet};

use super::request::Request;
use super::service::{Share, answered};
use super::view::{Event, View};
use super::{http_route, ingress, traffic_split, virtual_service};

/// By entry (`VirtualService/shop`) and request. None: nothing takes the request.
pub(crate) type Traffic = BTreeMap<(String, Request), Option<Share>>;

/// The requests of each entry, by kind and name.
pub(crate) type Requests = BTreeMap<(String, String), BTreeSet<Request>>;

/// Kinds that decide where a request goes.
pub(crate) const KINDS: [&str; 5] = ["DestinationRule", "HTTPRoute", "Ingress", "TrafficSplit", "VirtualService"];

/// Returns every entry that there ever was, with a plain request for every path that it ever named and the special ones.
pub(crate) fn requests(events: &[&Event], special: &[Request]) -> Requests {
    let mut requests = Requests::new();
    for event in events {
        let Some(object) = &event.object else { continue };
        let paths = match event.kind.as_str() {
            "VirtualService" => virtual_service::paths(object),
            "HTTPRoute" => http_route::paths(object),
            "Ingress" if !ingress::is_canary(object) => ingress::paths(object),
            "TrafficSplit" => Vec::new(),
            _ => continue,
        };
        let entry = requests.entry((event.kind.clone(), event.name.clone())).or_default();
        entry.insert(Request::plain("/"));
        entry.extend(paths.iter().map(|path| Request::plain(path)));
        entry.extend(special.iter().cloned());
    }
    requests
}

/// Returns who answers each request: by the routes and definitions of `routes`, with the endpoints and pods of `view`.
pub(crate) fn traffic(routes: &View, view: &View, requests: &Requests) -> Traffic {
    let mut traffic = Traffic::new();
    for ((kind, name), requests) in requests {
        for request in requests {
            let backends = routes.get(kind, name).and_then(|object| match kind.as_str() {
                "VirtualService" => virtual_service::route(object, request),
                "HTTPRoute" => http_route::route(object, request),
                "Ingress" => ingress::route(routes, name, request),
                _ => traffic_split::route(object),
            });
            let share = backends.map(|backends| answered(routes, view, &backends));
            traffic.insert((format!("{kind}/{name}"), request.clone()), share);
        }
    }
    traffic
}
