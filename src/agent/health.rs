//! `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::metrics::Metrics;

/// Whether the agent can do its work.
#[derive(Debug, Default)]
pub(super) struct Readiness(AtomicBool);

impl Readiness {
    /// Whether the API server has answered, and the agent leads or stands by.
    pub(super) fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Tells that it is so, or no longer.
    pub(super) fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }
}

/// Listens at an address.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>, readiness: Arc<Readiness>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: that passes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (metrics, readiness) = (Arc::clone(&metrics), Arc::clone(&readiness));
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = answer(request.method(), request.uri().path(), &metrics, &readiness);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
            // Whoever asked went away: nobody to tell.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(method: &Method, path: &str, metrics: &Metrics, readiness: &Readiness) -> Response<Full<Bytes>> {
    let (status, kind, text) = match path {
        _ if method != Method::GET && method != Method::HEAD => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".into()),
        "/healthz" => (StatusCode::OK, "text/plain", "ok\n".into()),
        "/readyz" if readiness.is_ready() => (StatusCode::OK, "text/plain", "ok\n".into()),
        "/readyz" => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", "the API server has not answered yet\n".into()),
        "/metrics" => (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics.text()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "there is /healthz, /readyz and /metrics\n".into()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use hyper::{Method, StatusCode};

    use super::super::metrics::Metrics;
    use super::{Readiness, answer};

    #[test]
    fn each_path_has_its_answer() {
        let (metrics, readiness) = (Metrics::default(), Readiness::default());
        let status = |path: &str| answer(&Method::GET, path, &metrics, &readiness).status();
        assert_eq!(status("/healthz"), StatusCode::OK);
        assert_eq!(status("/readyz"), StatusCode::SERVICE_UNAVAILABLE);
        readiness.set(true);
        assert_eq!(status("/readyz"), StatusCode::OK);
        assert_eq!(status("/metrics"), StatusCode::OK);
        assert_eq!(status("/"), StatusCode::NOT_FOUND);
        assert_eq!(answer(&Method::POST, "/healthz", &metrics, &readiness).status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}
