//! Stands between the agent and the API server: sees every request, and may refuse one or swallow its answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::http::{HeaderValue, Request, Response};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::cluster::runtime;

/// One request, as far as a rule looks at it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `GET`, `PATCH`…
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    /// The body, when it is JSON.
    pub(crate) body: Value,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on, and so does the answer.
    Pass,
    /// It is refused with this status.
    Refuse(u16),
    /// It goes on, and the answer never comes.
    Swallow,
}

/// Decides about each request.
type Rule = Box<dyn FnMut(&Seen) -> Verdict + Send>;

/// A running proxy; it ends with the value.
pub(crate) struct Proxy {
    /// `http://127.0.0.1:port`.
    pub(crate) address: String,
    rule: Arc<Mutex<Rule>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Seen {
    /// Whether it may change anything.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET" && !self.path.contains("dryRun=All") && !self.path.contains("selfsubject") && !self.path.contains("/leases")
    }
}

impl Proxy {
    /// Starts one for the server of a kubeconfig. Everything passes.
    pub(crate) fn start(kubeconfig: &Path) -> Result<Self, String> {
        let rule: Arc<Mutex<Rule>> = Arc::new(Mutex::new(Box::new(|_| Verdict::Pass)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, started) = channel();
        let thread = thread::spawn({
            let (rule, seen, stop, kubeconfig) = (Arc::clone(&rule), Arc::clone(&seen), Arc::clone(&stop), kubeconfig.to_owned());
            move || {
                let served = runtime().and_then(|runtime| runtime.block_on(serve(&kubeconfig, rule, seen, &stop, &ready)));
                if let Err(error) = served {
                    let _ = ready.send(Err(error));
                }
            }
        });
        let address: SocketAddr = started.recv().map_err(|error| error.to_string())??;
        Ok(Self { address: format!("http://{address}"), rule, seen, stop, thread: Some(thread) })
    }

    /// Decides from now on with this.
    pub(crate) fn rule(&self, rule: impl FnMut(&Seen) -> Verdict + Send + 'static) {
        *self.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// All requests up to now.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    kubeconfig: &Path,
    rule: Arc<Mutex<Rule>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: &AtomicBool,
    ready: &std::sync::mpsc::Sender<Result<SocketAddr, String>>,
) -> Result<(), String> {
    // The server and its authority only: whoever asks brings a token along.
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(|error| error.to_string())?;
    config.auth_info = kube::config::AuthInfo::default();
    let client = Client::try_from(config).map_err(|error| error.to_string())?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let _ = ready.send(listener.local_addr().map_err(|error| error.to_string()));
    while !stop.load(Ordering::Relaxed) {
        let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::from_millis(100), listener.accept()).await else { continue };
        let (client, rule, seen) = (client.clone(), Arc::clone(&rule), Arc::clone(&seen));
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(client.clone(), Arc::clone(&rule), Arc::clone(&seen), request));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
    Ok(())
}

async fn answer(
    client: Client,
    rule: Arc<Mutex<Rule>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(refusal(400)) };
    let body = body.to_bytes();
    let path = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let now = Seen { method: parts.method.to_string(), path: path.clone(), body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(now.clone());
    let verdict = rule.lock().unwrap_or_else(PoisonError::into_inner)(&now);
    if let Verdict::Refuse(code) = verdict {
        return Ok(refusal(code));
    }
    let mut onward = Request::builder().method(parts.method).uri(path);
    for name in ["accept", "authorization", "content-type"] {
        if let Some(value) = parts.headers.get(name) {
            onward = onward.header(name, value);
        }
    }
    let Ok(onward) = onward.body(Body::from(body)) else { return Ok(refusal(400)) };
    let answered = client.send(onward).await.unwrap_or_else(|_| refusal(503));
    if verdict == Verdict::Swallow {
        std::future::pending::<()>().await;
    }
    Ok(answered)
}

/// What an API server says when it refuses.
fn refusal(code: u16) -> Response<Body> {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "BadRequest",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "refused on purpose", "reason": reason, "code": code});
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = hyper::http::StatusCode::from_u16(code).unwrap_or(hyper::http::StatusCode::BAD_REQUEST);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    if code == 429 {
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    response
}
