//! What the log says about requests: one line each, under an id that the caller gave or gets.
//!
//! Invariant: the route is told, never the path, the query or a header: these may hold secrets.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use ordo_engine::clock::{Stopwatch, new_id};
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_MAX_BYTES: usize = 128;
/// Asked every few seconds by machines.
const QUIET: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub(crate) async fn request(request: Request, next: Next) -> Response {
    let (watch, id) = (Stopwatch::start(), id_of(&request));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let trace_id = trace_id(request.headers());
    let span = tracing::info_span!("request", request_id = id.to_str().unwrap_or_default(), trace_id);
    let mut response = next.run(request).instrument(span.clone()).await;
    response.headers_mut().insert(REQUEST_ID, id);
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    span.in_scope(|| tell(method.as_str(), route, response.status(), watch.elapsed_micros()));
    response
}

fn tell(method: &str, route: &str, status: StatusCode, micros: u64) {
    let (status, latency_ms) = (status.as_u16(), micros as f64 / 1e3);
    match status {
        // While it starts or stops, 503 is the right answer.
        _ if QUIET.contains(&route) => tracing::trace!(method, route, status, latency_ms, "answered"),
        500.. => tracing::warn!(method, route, status, latency_ms, "answered"),
        _ => tracing::debug!(method, route, status, latency_ms, "answered"),
    }
}

/// The caller's, if it is fit for a log; a new one otherwise.
fn id_of(request: &Request) -> HeaderValue {
    let given = request.headers().get(REQUEST_ID).filter(|id| is_plain(id.as_bytes())).cloned();
    given.unwrap_or_else(|| HeaderValue::try_from(new_id().to_string()).unwrap_or(HeaderValue::from_static("none")))
}

/// The trace the caller is in, by the W3C: `traceparent: 00-<trace id>-<span id>-<flags>`.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let hex = |part: &str, len: usize| part.len() == len && part.bytes().all(|b| b"0123456789abcdef".contains(&b));
    let mut parts = headers.get("traceparent")?.to_str().ok()?.split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let known = hex(version, 2) && version != "ff" && hex(trace, 32) && hex(span, 16);
    (known && trace.bytes().any(|b| b != b'0')).then_some(trace)
}

fn is_plain(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    (1..=REQUEST_ID_MAX_BYTES).contains(&id.len()) && id.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_of_a_caller_is_known_if_it_is_written_as_it_should_be() {
        let read = |text: &'static str| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static("traceparent"), HeaderValue::from_static(text))]);
            trace_id(&headers).map(str::to_owned)
        };
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").as_deref(), Some(trace));
        assert_eq!(read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later").as_deref(), Some(trace));
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-{\"level\":\"error\"}-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
