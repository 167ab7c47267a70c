//! Headers that restrict what browsers do with an answer.
//!
//! Invariant: a page may use only what comes from this server, run no script written into it, and stand in no frame;
//! nothing that is answered is kept anywhere unless the answer says so.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const ALWAYS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Not `no-referrer`: beyond loopback and without TLS a browser would send the forms of our own pages with
    // `Origin: null`, which nobody can tell from a stranger's.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const PAGE: [(HeaderName, &str); 2] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

pub(crate) async fn put_on<F: Future<Output = Response>>(
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response {
    let mut response = next(request).await;
    let headers = response.headers_mut();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (is_page, is_stream) = (kind.starts_with("text/html"), kind.starts_with("text/event-stream"));
    for (name, value) in ALWAYS.into_iter().chain(PAGE.into_iter().filter(|_| is_page)) {
        // A badge is there for the pages of others, and says so.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if is_stream {
        // nginx buffers an answer unless this header forbids it.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
