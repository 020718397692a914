//! The fake API server: HTTP on a free port of this machine, as much of Kubernetes' API as an agent uses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures::stream::{self, Stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::store::{KINDS, Key, Refusal, Store, refusal};

/// The server, shared by its connections and the test.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) store: Arc<Mutex<Store>>,
    changed: watch::Sender<u64>,
}

impl Server {
    /// Begins to listen.
    pub(super) async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self { store: Arc::default(), changed: watch::channel(0).0 };
        let shared = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let server = shared.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let server = server.clone();
                        async move { Ok::<_, Infallible>(server.answer(request).await) }
                    });
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        (server, address)
    }

    /// Changes what is stored, and tells watches.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.store.lock().unwrap();
        let result = change(&mut store);
        let version = store.version();
        drop(store);
        self.changed.send_replace(version);
        result
    }

    /// Told whenever something has changed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let is_partial =
            parts.headers.get("accept").is_some_and(|accept| accept.to_str().unwrap_or_default().contains("PartialObjectMetadata"));
        if query.contains("watch=true") || query.contains("watch=1") {
            self.with(|store| store.requests.push(super::store::Request { method: "WATCH".into(), path: path.clone(), is_dry_run: false }));
            return self.watch(&path, &query, is_partial);
        }
        if parts.method != "GET" && self.with(|store| store.hangs(&parts.method, &path)) {
            std::future::pending::<()>().await;
        }
        let answer = self.with(|store| answer(store, parts.method.as_str(), &path, &query, &body, is_partial));
        let (status, value) = match answer {
            Ok(value) => (StatusCode::OK, value),
            Err(Refusal { status, reason, message, details }) => (
                StatusCode::from_u16(status).unwrap(),
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": message, "details": details}),
            ),
        };
        let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
        *response.status_mut() = status;
        response
    }

    fn watch(&self, path: &str, query: &str, is_partial: bool) -> Response<BoxBody<Bytes, Infallible>> {
        let since: u64 = parameter(query, "resourceVersion").and_then(|text| text.parse().ok()).unwrap_or_default();
        Response::new(StreamBody::new(events(self.clone(), path.to_owned(), since, is_partial)).boxed())
    }
}

/// All changes of a collection after a version, for ever.
fn events(
    server: Server,
    path: String,
    since: u64,
    is_partial: bool,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + Sync {
    let receiver = server.changes();
    let collection = path.strip_prefix("/").map(|rest| format!("/{rest}")).unwrap_or_default();
    stream::unfold((server, receiver, since), move |(server, mut receiver, mut since)| {
        let collection = collection.clone();
        async move {
            loop {
                receiver.borrow_and_update();
                let mut text = String::new();
                {
                    let store = server.store.lock().unwrap();
                    for change in store.changes.iter().filter(|change| change.version > since && is_in(&change.key.0, &collection)) {
                        let object = if is_partial { partial(&change.object) } else { change.object.clone() };
                        text.push_str(&json!({"type": change.kind, "object": object}).to_string());
                        text.push('\n');
                    }
                    since = store.version();
                }
                if !text.is_empty() {
                    return Some((Ok(Frame::data(Bytes::from(text))), (server, receiver, since)));
                }
                if receiver.changed().await.is_err() {
                    return None;
                }
            }
        }
    })
}

fn answer(store: &mut Store, method: &str, path: &str, query: &str, body: &Value, is_partial: bool) -> Result<Value, Refusal> {
    let is_dry_run = query.contains("dryRun=All");
    store.requests.push(super::store::Request { method: method.into(), path: path.into(), is_dry_run });
    if let Some(fault) = store.faults.iter_mut().find(|fault| fault.times > 0 && fault.method == method && path.contains(fault.path)) {
        fault.times -= 1;
        return Err(refusal(fault.status, "Fault", "a fault of the test"));
    }
    if path == "/version" {
        return Ok(json!({"gitVersion": "v1.34.4"}));
    }
    if path.ends_with("/selfsubjectaccessreviews") {
        return Ok(review(store, body));
    }
    if path.ends_with("/selfsubjectrulesreviews") {
        return Ok(rules(store));
    }
    if let Some(list) = discovery(store, path) {
        return list;
    }
    let (key, subresource) = locate(path).ok_or_else(|| refusal(404, "NotFound", format!("the server could not find {path}")))?;
    if store.unserved.iter().any(|kind| collection_of(kind).is_some_and(|plural| key.0.ends_with(&format!("/{plural}")))) {
        return Err(refusal(404, "NotFound", "the server could not find the requested resource"));
    }
    let manager = parameter(query, "fieldManager").unwrap_or_else(|| "unknown".into());
    if store.forbidden.contains(format!("{} {}", method.to_lowercase(), key.0.rsplit('/').next().unwrap_or_default()).as_str()) {
        return Err(refusal(403, "Forbidden", format!("cannot {method} {path}")));
    }
    match method {
        "GET" if key.1.is_empty() => Ok(list(store, &key.0, query, is_partial)),
        "GET" => store.get(&key).cloned().ok_or_else(|| refusal(404, "NotFound", format!("{} not found", key.1))),
        "POST" => store.create(&key.0, body.clone(), &manager, is_dry_run),
        "PUT" => store.update(&key, subresource, &manager, is_dry_run, |object| {
            *object = body.clone();
            Ok(())
        }),
        "PATCH" => store.update(&key, subresource, &manager, is_dry_run, |object| {
            let patch: json_patch::Patch =
                serde_json::from_value(body.clone()).map_err(|error| refusal(400, "BadRequest", error.to_string()))?;
            json_patch::patch(object, &patch).map_err(|error| refusal(422, "Invalid", error.to_string()))
        }),
        "DELETE" => store.delete(&key, body.pointer("/preconditions/uid").and_then(Value::as_str)),
        _ => Err(refusal(405, "MethodNotAllowed", method)),
    }
}

fn review(store: &Store, body: &Value) -> Value {
    let attributes = &body["spec"]["resourceAttributes"];
    let text = |field: &str| attributes[field].as_str().unwrap_or_default();
    let is_forbidden = store.forbidden.contains(format!("{} {}", text("verb"), text("resource")).as_str());
    json!({"kind": "SelfSubjectAccessReview", "status": {"allowed": !is_forbidden}})
}

/// All that is not forbidden.
fn rules(store: &Store) -> Value {
    let rule = |verb: &str| {
        let plurals = KINDS.iter().map(|(_, _, plural)| *plural);
        let allowed = plurals.filter(|plural| !store.forbidden.contains(format!("{verb} {plural}").as_str()));
        let resources: Vec<String> = allowed.flat_map(|plural| [plural.to_owned(), format!("{plural}/status")]).collect();
        json!({"verbs": [verb], "apiGroups": ["*"], "resources": resources})
    };
    let rules: Vec<Value> = ["get", "list", "watch", "create", "patch", "update", "delete"].map(rule).into();
    let rules = if store.has_other_rules { Vec::new() } else { rules };
    json!({"kind": "SelfSubjectRulesReview", "status": {"resourceRules": rules, "incomplete": store.has_other_rules}})
}

/// `/apis/apps/v1` and its like.
fn discovery(store: &Store, path: &str) -> Option<Result<Value, Refusal>> {
    let api_version = match path.split('/').collect::<Vec<_>>()[..] {
        ["", "api", version] => version.to_owned(),
        ["", "apis", group, version] => format!("{group}/{version}"),
        _ => return None,
    };
    let served = KINDS.iter().filter(|(version, kind, _)| *version == api_version && !store.unserved.contains(kind));
    let resources: Vec<Value> = served.map(|(_, kind, plural)| json!({"name": plural, "kind": kind, "namespaced": true})).collect();
    if resources.is_empty() {
        return Some(Err(refusal(404, "NotFound", "the server could not find the requested resource")));
    }
    Some(Ok(json!({"kind": "APIResourceList", "groupVersion": api_version, "resources": resources})))
}

fn collection_of(kind: &str) -> Option<&'static str> {
    KINDS.iter().find(|(_, known, _)| *known == kind).map(|(_, _, plural)| *plural)
}

/// The collection, the name if there is one, and the subresource.
fn locate(path: &str) -> Option<(Key, Option<&str>)> {
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.iter().position(|part| KINDS.iter().any(|(_, _, plural)| part == plural))?;
    let (collection, rest) = (parts[..=at].join("/"), &parts[at + 1..]);
    match rest[..] {
        [] => Some(((collection, String::new()), None)),
        [name] => Some(((collection, name.to_owned()), None)),
        [name, subresource] => Some(((collection, name.to_owned()), Some(subresource))),
        _ => None,
    }
}

/// Whether a collection of one namespace belongs to a collection of this namespace, or of all.
fn is_in(stored: &str, asked: &str) -> bool {
    if asked.contains("/namespaces/") || !stored.contains("/namespaces/") {
        return stored == asked;
    }
    let parts: Vec<&str> = stored.split('/').collect();
    let without: Vec<&str> = match parts.iter().position(|part| *part == "namespaces") {
        Some(index) => parts[..index].iter().chain(&parts[index + 2..]).copied().collect(),
        None => parts,
    };
    without.join("/") == asked
}

fn list(store: &Store, collection: &str, query: &str, is_partial: bool) -> Value {
    let selector = parameter(query, "labelSelector").unwrap_or_default();
    let selects = |object: &Value| {
        selector.split(',').filter(|term| !term.is_empty()).all(|term| {
            let labels = &object["metadata"]["labels"];
            match term.split_once('=') {
                Some((key, value)) => labels[key] == value,
                None => !labels[term].is_null(),
            }
        })
    };
    let items: Vec<Value> = store
        .objects
        .iter()
        .filter(|((stored, _), object)| is_in(stored, collection) && selects(object))
        .map(|(_, object)| if is_partial { partial(object) } else { object.clone() })
        .collect();
    // As the API server does: an empty list of metadata is null.
    let items = if is_partial && items.is_empty() { Value::Null } else { items.into() };
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": store.version().to_string()}, "items": items})
}

fn partial(object: &Value) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]})
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?.1;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let pair = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
