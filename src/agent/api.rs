//! Requests to the API server: one method a verb, as many a second as are allowed, and with the fence before each write.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer;
use super::fence::Fence;
use super::glimpse::Glimpse;
use super::limits::{Lane, LaneCell, Limits};
use super::metrics::Metrics;
use super::reads::Reads;
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
/// How often a request is sent that fails for a passing reason. A write is not sent again here: its plan is tried again.
const TRIES: u32 = 3;
/// The longest that is waited for between. An API server that asks for more is left alone for as long as it asks.
const SHORT: Duration = Duration::from_secs(1);

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
    limits: Arc<Limits>,
    lane: Arc<LaneCell>,
    /// Cached objects, which are not requested again. Absent where no watch invalidates them.
    reads: Option<Arc<Reads>>,
}

struct Call<'a> {
    method: Method,
    /// What is taken for an answer.
    accept: &'static str,
    target: String,
    content_type: &'static str,
    body: Option<&'a Value>,
    writes: bool,
    tries: u32,
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
        Self { client, fence, metrics, limits: Arc::default(), lane: Arc::new(LaneCell::new(Lane::Release)), reads: None }
    }

    /// The same for one plan, which knows what it has read.
    pub(super) fn for_plan(&self, reads: Arc<Reads>) -> Self {
        Self { lane: Arc::new(LaneCell::new(Lane::Look)), reads: Some(reads), ..self.clone() }
    }

    /// The same for the Lease, whose requests never wait for others.
    pub(super) fn for_lease(&self) -> Self {
        Self { lane: Arc::new(LaneCell::new(Lane::Lease)), ..self.clone() }
    }

    /// All is read again from now on.
    pub(super) fn forget_all(&self) {
        if let Some(reads) = &self.reads {
            reads.clear();
        }
    }

    /// What no watch tells of is read again from now on.
    pub(super) fn begin_pass(&self) {
        if let Some(reads) = &self.reads {
            reads.begin_pass();
        }
    }

    /// What the requests from now on are for.
    pub(super) fn set_lane(&self, lane: Lane) {
        self.lane.set(lane);
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
        found(self.call(&read(target, JSON)).await)
    }

    /// Returns the text of the object at a path; `None` if there is none.
    pub(super) async fn text(&self, target: &str) -> Result<Option<Bytes>, Trouble> {
        found(self.answer(&read(target, JSON)).await)
    }

    /// Returns the object at a path as it was read last, where nothing tells that it has changed since.
    pub(super) async fn read(&self, address: &str) -> Result<Option<Value>, Trouble> {
        let Some(reads) = &self.reads else { return self.get(address).await };
        if let Some(known) = reads.object(address) {
            return Ok(known);
        }
        reads.begins(address);
        let object = self.get(address).await?;
        reads.keep(address, object.as_ref());
        Ok(object)
    }

    /// Returns the elements of a list as they were read last, where nothing tells that any has changed since. A list that is judged
    /// beside an object has to be as new: it is read again when the object has another version.
    pub(super) async fn read_list(&self, path: &str, query: &str, beside: Option<&Value>) -> Result<Vec<Value>, Trouble> {
        let Some(reads) = &self.reads else { return self.list(path, query).await };
        let version = beside.and_then(|object| object.pointer("/metadata/resourceVersion")?.as_str()).unwrap_or_default();
        let target = format!("{path}?{query}#{version}");
        if let Some(known) = reads.list(&target) {
            return Ok(known);
        }
        reads.begins(&target);
        let list = self.list(path, query).await?;
        reads.keep_list(&target, &list);
        Ok(list)
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
            let page: Page = match self.call(&read(&target, METADATA_OF_ALL)).await {
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
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let address = format!("{path}/{}", segment(name));
        self.write(Method::POST, &address, format!("{path}?{}", query(mode)), object, mode).await
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
            tries: TRIES,
        };
        self.call(&call).await
    }

    /// Replaces an object whole, fence or not: for the lease that opens the fence.
    pub(super) async fn replace_unfenced(&self, path: &str, object: &Value) -> Result<Value, Trouble> {
        let target = format!("{path}?{}", query(Mode::Real));
        let (content_type, body) = ("application/json", Some(object));
        self.call(&Call { method: Method::PUT, accept: JSON, target, content_type, body, writes: false, tries: 1 }).await
    }

    /// Applies a JSON patch.
    pub(super) async fn patch(&self, path: &str, operations: &[Value], mode: Mode) -> Result<Value, Trouble> {
        let body = Value::Array(operations.to_vec());
        self.write(Method::PATCH, path, format!("{path}?{}", query(mode)), &body, mode).await
    }

    /// Applies a JSON patch to an object of which nothing but the metadata is needed afterwards.
    pub(super) async fn patch_for_metadata(&self, path: &str, operations: &[Value]) -> Result<Glimpse, Trouble> {
        let (target, body) = (format!("{path}?{}", query(Mode::Real)), Value::Array(operations.to_vec()));
        let content_type = "application/json-patch+json";
        self.call(&Call { method: Method::PATCH, accept: METADATA, target, content_type, body: Some(&body), writes: true, tries: 1 }).await
    }

    /// Deletes the object with that uid; done if it is gone. What it owns goes first, or later, as `propagation` says.
    pub(super) async fn delete(&self, path: &str, uid: &str, propagation: &str) -> Result<(), Trouble> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "propagationPolicy": propagation,
        });
        let deleted = self.write(Method::DELETE, path, path.to_owned(), &options, Mode::Real).await;
        if let Some(reads) = &self.reads {
            // What is answered is not always the object.
            reads.forget(path);
        }
        match deleted {
            Ok(_) | Err(Trouble::NotFound(_)) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Writes the object at an address. What it is afterwards, the answer says; after a failure nobody knows.
    async fn write(&self, method: Method, address: &str, target: String, body: &Value, mode: Mode) -> Result<Value, Trouble> {
        let content_type = if method == Method::PATCH { "application/json-patch+json" } else { "application/json" };
        let writes = mode == Mode::Real;
        // A status is answered with its whole object.
        let address = address.strip_suffix("/status").unwrap_or(address);
        if let Some(reads) = self.reads.as_ref().filter(|_| writes) {
            reads.begins(address);
        }
        let answer = self.call(&Call { method, accept: JSON, target, content_type, body: Some(body), writes, tries: 1 }).await;
        if let Some(reads) = &self.reads {
            match &answer {
                Ok(written) if writes => reads.keep(address, Some(written)),
                Ok(_) => {}
                Err(_) => reads.forget(address),
            }
        }
        answer
    }

    /// Sends a request and reads its answer.
    async fn call<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Trouble> {
        serde_json::from_slice(&self.answer(call).await?)
            .map_err(|error| Trouble::Unreachable(format!("the API server's answer is not what was asked for: {error}")))
    }

    /// Sends a request until it succeeds, fails for good, or has failed often enough.
    async fn answer(&self, call: &Call<'_>) -> Result<Bytes, Trouble> {
        let mut tried = 0;
        loop {
            let result = self.once(call).await;
            tried += 1;
            match result {
                Err(trouble) if trouble.is_passing() && tried < call.tries && pause(&trouble, tried) <= SHORT => {
                    self.metrics.retried();
                    tracing::debug!(method = %call.method, target = %call.target, %trouble, tried, "sent again");
                    tokio::time::sleep(pause(&trouble, tried)).await;
                }
                result => return result,
            }
        }
    }

    async fn once(&self, call: &Call<'_>) -> Result<Bytes, Trouble> {
        let body = match call.body {
            Some(value) => serde_json::to_vec(value).map_err(|error| Trouble::Refused(error.to_string()))?,
            None => Vec::new(),
        };
        let mut request = Request::builder().method(call.method.clone()).uri(&call.target).header(ACCEPT, call.accept);
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, call.content_type);
        }
        let request = request.body(Body::from(body)).map_err(|error| Trouble::Refused(error.to_string()))?;
        self.limits.pass(self.lane.get()).await;
        let passage = if call.writes { Some(self.fence.pass().ok_or(Trouble::NotLeader)?) } else { None };
        let end = passage.as_ref().and_then(|passage| passage.end);
        let patience = end.map_or(TIMEOUT, |end| TIMEOUT.min(end.saturating_duration_since(Instant::now())));
        self.metrics.requested(call.method.as_str());
        match tokio::time::timeout(patience, self.exchange(request)).await {
            Ok(result) => result,
            Err(_) => Err(Trouble::Unreachable(format!("the API server gave no answer within {} seconds", patience.as_secs()))),
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Bytes, Trouble> {
        let unreachable = |error: &dyn std::error::Error| Trouble::Unreachable(chain(error));
        let response = self.client.send(request).await.map_err(|error| unreachable(&error))?;
        self.metrics.answered(Instant::now());
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, LONGEST).collect().await.map_err(|error| unreachable(error.as_ref()))?.to_bytes();
        if parts.status.is_success() {
            return Ok(bytes);
        }
        let after = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_secs);
        Err(answer::refusal(parts.status, &bytes, after))
    }
}

fn read<'a>(target: &str, accept: &'static str) -> Call<'a> {
    Call { method: Method::GET, accept, target: target.to_owned(), content_type: "", body: None, writes: false, tries: TRIES }
}

/// What does not exist is an answer.
fn found<T>(answer: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Trouble::NotFound(_)) => Ok(None),
        Err(trouble) => Err(trouble),
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
        return (*after).max(Duration::from_millis(100));
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
