//! Requests to the API server: one method a verb, with retries, and with the fence before each write.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answer;
use super::fence::Fence;
use super::glimpse::Glimpse;
use super::metrics::Metrics;
use super::trouble::Trouble;

/// The name under which we write.
pub(super) const MANAGER: &str = "rollout-agent";

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The longest answer that is read.
const LONGEST: usize = 64 * 1024 * 1024;
/// How many objects one answer lists of which only the metadata is asked for.
const PAGE: usize = 100;
/// What is accepted of an object.
const JSON: &str = "application/json";
/// What is accepted where only the metadata is wanted.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// The same, of a list.
const METADATA_OF_ALL: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// How often a request is sent that fails for a passing reason.
const TRIES: u32 = 5;

/// Whether a write is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is.
    Real,
    /// The answer tells what it would do.
    DryRun,
}

/// The API server.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    fence: Arc<Fence>,
    metrics: Arc<Metrics>,
}

struct Call<'a> {
    method: Method,
    /// What is taken for an answer.
    accept: &'static str,
    target: String,
    content_type: &'static str,
    body: Option<&'a Value>,
    writes: bool,
}

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    /// Of an empty list of metadata the API server says null.
    items: Option<Vec<Glimpse>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl Api {
    /// The API server behind `client`. Writes pass through `fence`.
    pub(super) fn new(client: Client, fence: Arc<Fence>, metrics: Arc<Metrics>) -> Self {
        Self { client, fence, metrics }
    }

    /// The client, for watches.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether a write would be sent now.
    pub(super) fn may_write(&self) -> bool {
        self.fence.is_open()
    }

    /// Returns the object or list at a path, with its query; `None` if there is none.
    pub(super) async fn get(&self, target: &str) -> Result<Option<Value>, Trouble> {
        let call = Call { method: Method::GET, accept: JSON, target: target.to_owned(), content_type: "", body: None, writes: false };
        match self.call(&call).await {
            Ok(value) => Ok(Some(value)),
            Err(Trouble::NotFound(_)) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Returns the elements of a list, page by page. A resource that does not exist has none.
    pub(super) async fn list(&self, path: &str, query: &str) -> Result<Vec<Value>, Trouble> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let target = format!("{path}?limit=200{query}{next}");
            let Some(mut page) = self.get(&target).await? else { return Ok(all) };
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                all.extend(items);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
                Some(token) => next = format!("&continue={}", segment(token)),
                None => return Ok(all),
            }
        }
    }

    /// Returns what `take` wants of the metadata of a list's elements, page by page, reading nothing else of them. A resource
    /// that does not exist has none.
    pub(super) async fn glimpses<T>(&self, path: &str, query: &str, take: fn(ObjectMeta) -> Option<T>) -> Result<Vec<T>, Trouble> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let target = format!("{path}?limit={PAGE}{query}{next}");
            let call = Call { method: Method::GET, accept: METADATA_OF_ALL, target, content_type: "", body: None, writes: false };
            let page: Page = match self.call(&call).await {
                Err(Trouble::NotFound(_)) => return Ok(all),
                result => result?,
            };
            all.extend(page.items.into_iter().flatten().filter_map(|item| take(item.metadata)));
            match page.metadata.next.filter(|token| !token.is_empty()) {
                Some(token) => next = format!("&continue={}", segment(&token)),
                None => return Ok(all),
            }
        }
    }

    /// Makes an object.
    pub(super) async fn create(&self, path: &str, object: &Value, mode: Mode) -> Result<Value, Trouble> {
        self.write(Method::POST, format!("{path}?{}", query(mode)), "application/json", object, mode).await
    }

    /// Makes an object fence or not, once more if need be: one that only asks or tells, an access review or an event, and the
    /// lease, before there is one.
    pub(super) async fn ask(&self, path: &str, object: &Value) -> Result<Value, Trouble> {
        let call = Call {
            method: Method::POST,
            accept: JSON,
            target: path.to_owned(),
            content_type: "application/json",
            body: Some(object),
            writes: false,
        };
        self.call(&call).await
    }

    /// Replaces an object whole, fence or not: for the lease that opens the fence.
    pub(super) async fn replace_unfenced(&self, path: &str, object: &Value) -> Result<Value, Trouble> {
        let target = format!("{path}?{}", query(Mode::Real));
        self.once(&Call { method: Method::PUT, accept: JSON, target, content_type: "application/json", body: Some(object), writes: false })
            .await
    }

    /// Applies a JSON patch.
    pub(super) async fn patch(&self, path: &str, operations: &[Value], mode: Mode) -> Result<Value, Trouble> {
        let body = Value::Array(operations.to_vec());
        self.write(Method::PATCH, format!("{path}?{}", query(mode)), "application/json-patch+json", &body, mode).await
    }

    /// Applies a JSON patch to an object of which nothing but the metadata is needed afterwards.
    pub(super) async fn patch_for_metadata(&self, path: &str, operations: &[Value]) -> Result<Glimpse, Trouble> {
        let (target, body) = (format!("{path}?{}", query(Mode::Real)), Value::Array(operations.to_vec()));
        let content_type = "application/json-patch+json";
        self.call(&Call { method: Method::PATCH, accept: METADATA, target, content_type, body: Some(&body), writes: true }).await
    }

    /// Deletes the object with that uid; done if it is gone. What it owns goes first, or later, as `propagation` says.
    pub(super) async fn delete(&self, path: &str, uid: &str, propagation: &str) -> Result<(), Trouble> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "propagationPolicy": propagation,
        });
        match self.write(Method::DELETE, path.to_owned(), "application/json", &options, Mode::Real).await {
            Ok(_) | Err(Trouble::NotFound(_)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    async fn write(&self, method: Method, target: String, content_type: &'static str, body: &Value, mode: Mode) -> Result<Value, Trouble> {
        self.call(&Call { method, accept: JSON, target, content_type, body: Some(body), writes: mode == Mode::Real }).await
    }

    /// Sends a request until it succeeds, fails for good, or has failed often enough. Every request of ours may be sent twice: a
    /// patch names the resource version, a deletion the uid, and what is made exists then.
    async fn call<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Trouble> {
        let mut tried = 0;
        loop {
            let result = self.once(call).await;
            tried += 1;
            match result {
                Err(trouble) if trouble.is_passing() && tried < TRIES => {
                    self.metrics.retried();
                    tracing::debug!(method = %call.method, target = %call.target, %trouble, tried, "sent again");
                    tokio::time::sleep(pause(&trouble, tried)).await;
                }
                result => return result,
            }
        }
    }

    async fn once<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Trouble> {
        let body = match call.body {
            Some(value) => serde_json::to_vec(value).map_err(|error| Trouble::Refused(error.to_string()))?,
            None => Vec::new(),
        };
        let mut request = Request::builder().method(call.method.clone()).uri(&call.target).header(ACCEPT, call.accept);
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, call.content_type);
        }
        let request = request.body(Body::from(body)).map_err(|error| Trouble::Refused(error.to_string()))?;
        if call.writes && !self.fence.is_open() {
            return Err(Trouble::NotLeader);
        }
        self.metrics.requested(call.method.as_str());
        match tokio::time::timeout(TIMEOUT, self.exchange(request)).await {
            Ok(result) => result,
            Err(_) => Err(Trouble::Unreachable(format!("the API server gave no answer within {} seconds", TIMEOUT.as_secs()))),
        }
    }

    async fn exchange<T: DeserializeOwned>(&self, request: Request<Body>) -> Result<T, Trouble> {
        let unreachable = |error: &dyn std::error::Error| Trouble::Unreachable(chain(error));
        let response = self.client.send(request).await.map_err(|error| unreachable(&error))?;
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, LONGEST).collect().await.map_err(|error| unreachable(error.as_ref()))?.to_bytes();
        if parts.status.is_success() {
            return serde_json::from_slice(&bytes)
                .map_err(|error| Trouble::Unreachable(format!("the API server's answer is not what was asked for: {error}")));
        }
        let after = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
        Err(answer::refusal(parts.status, &bytes, after))
    }
}

/// One part of a path, or a value in a query.
pub(super) fn segment(text: &str) -> String {
    use std::fmt::Write as _;

    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn query(mode: Mode) -> String {
    let dry_run = match mode {
        Mode::Real => "",
        Mode::DryRun => "&dryRun=All",
    };
    format!("fieldManager={MANAGER}{dry_run}")
}

/// How long to wait before the next try: as asked, or twice as long each time.
fn pause(trouble: &Trouble, tried: u32) -> Duration {
    if let Trouble::Busy { after: Some(after), .. } = trouble {
        return (*after).clamp(Duration::from_millis(100), Duration::from_secs(30));
    }
    Duration::from_millis(100) * 2_u32.pow(tried.min(6))
}

/// An error with everything that caused it.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn a_part_of_a_path_cannot_leave_its_place() {
        assert_eq!(segment("shop-1.prod"), "shop-1.prod");
        assert_eq!(segment("a/../b?c=d&e"), "a%2F..%2Fb%3Fc%3Dd%26e");
    }
}
