//! What the log says about requests: one line each, under an id that the caller gave or gets.
//!
//! Invariant: the route is recorded, never the path, the query or a header: these may hold secrets.

pub(crate) mod request_span;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use ordo_engine::clock::{Stopwatch, new_id};
use tracing::Instrument;

use crate::app::App;
use request_span::{CallerTrace, RequestMark, RequestSpan};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_MAX_BYTES: usize = 128;
/// Asked every few seconds by machines.
const QUIET: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub(crate) async fn request<F: Future<Output = Response>>(
    app: &App,
    mut request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response {
    let (watch, id) = (Stopwatch::start(), id_of(&request));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let (request_id, caller) = (id.to_str().unwrap_or_default(), CallerTrace::of(request.headers()));
    let request_span = (!QUIET.contains(&route))
        .then(|| RequestSpan::begin(method.as_str(), route, request_id, caller, app.engine.sampling()));
    let trace = request_span.as_ref().map_or(caller, |span| caller.through(span));
    request.extensions_mut().insert(RequestMark { id: id.clone(), trace });
    // Not below debug: a span costs more than the rest of this, and what fails is logged with the request's id below.
    let trace_id = caller.0.map(|caller| format!("{:032x}", caller.trace_id));
    let span = tracing::debug_span!("request", request_id, trace_id);
    let mut response = next(request).instrument(span.clone()).await;
    if let Some(request_span) = request_span {
        request_span.end(response.status());
    }
    span.in_scope(|| log(method.as_str(), route, response.status(), watch.elapsed_micros(), request_id));
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn log(method: &str, route: &str, status: StatusCode, micros: u64, request_id: &str) {
    let (status, latency_ms) = (status.as_u16(), micros as f64 / 1e3);
    match status {
        // While it starts or stops, 503 is the right answer.
        _ if QUIET.contains(&route) => tracing::trace!(method, route, status, latency_ms, "answered"),
        500.. => tracing::warn!(method, route, status, latency_ms, request_id, "answered"),
        _ => tracing::debug!(method, route, status, latency_ms, "answered"),
    }
}

/// The caller's, if it is fit for a log; a new one otherwise.
fn id_of(request: &Request) -> HeaderValue {
    let given = request.headers().get(REQUEST_ID).filter(|id| is_plain(id.as_bytes())).cloned();
    given.unwrap_or_else(|| HeaderValue::try_from(new_id().to_string()).unwrap_or(HeaderValue::from_static("none")))
}

fn is_plain(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    (1..=REQUEST_ID_MAX_BYTES).contains(&id.len()) && id.iter().all(plain)
}
