//! `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::metrics::Metrics;

/// An API server that has not answered for so long is not expected to answer the next request.
pub(super) const SILENCE: Duration = Duration::from_mins(1);

/// Why the agent cannot do its work; `None` where it can, be it that another one leads.
fn hindrance(metrics: &Metrics) -> Option<&'static str> {
    match metrics.unanswered() {
        None => Some("the API server has not answered yet\n"),
        Some(time) if time > SILENCE => Some("the API server has not answered for more than a minute\n"),
        Some(_) if metrics.is_blind() => Some("RolloutPlans may not be listed: apply what `rollout manifests` prints\n"),
        Some(_) => None,
    }
}

/// Listens at an address.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers until it is dropped.
pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: that passes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = answer(request.method(), request.uri().path(), &metrics);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
            // Whoever asked went away: nobody to tell.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(method: &Method, path: &str, metrics: &Metrics) -> Response<Full<Bytes>> {
    let (status, kind, text) = match path {
        _ if method != Method::GET && method != Method::HEAD => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".into()),
        "/healthz" => (StatusCode::OK, "text/plain", "ok\n".into()),
        "/readyz" => match hindrance(metrics) {
            None => (StatusCode::OK, "text/plain", "ok\n".into()),
            Some(words) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", words.into()),
        },
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

    use tokio::time::Instant;

    use super::super::metrics::Metrics;
    use super::{SILENCE, answer};

    #[test]
    fn each_path_has_its_answer() {
        let metrics = Metrics::default();
        let status = |path: &str| answer(&Method::GET, path, &metrics).status();
        assert_eq!(status("/healthz"), StatusCode::OK);
        assert_eq!(status("/metrics"), StatusCode::OK);
        assert_eq!(status("/"), StatusCode::NOT_FOUND);
        assert_eq!(answer(&Method::POST, "/healthz", &metrics).status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[test]
    fn an_agent_is_ready_while_the_api_server_answers_and_lets_it_see_plans() {
        let metrics = Metrics::default();
        let status = || answer(&Method::GET, "/readyz", &metrics).status();
        assert_eq!(status(), StatusCode::SERVICE_UNAVAILABLE);
        metrics.answered(Instant::now());
        assert_eq!(status(), StatusCode::OK);
        metrics.set_blind(true);
        assert_eq!(status(), StatusCode::SERVICE_UNAVAILABLE);
        metrics.set_blind(false);
        metrics.answered(Instant::now().checked_sub(SILENCE * 2).unwrap());
        assert_eq!(status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
