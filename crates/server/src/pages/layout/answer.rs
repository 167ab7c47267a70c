//! A page as a response: HTML that may load nothing but our own files.
//!
//! Invariant: every page carries the same strict policy; no page is kept by a cache.

use askama::Template;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;

use crate::http::problem::Problem;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

pub(crate) fn page(status: StatusCode, template: &impl Template) -> Result<Response, Problem> {
    let text = template.render().map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let headers: HeaderMap = HEADERS.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    Ok((status, headers, text).into_response())
}

pub(crate) fn ok(template: &impl Template) -> Result<Response, Problem> {
    page(StatusCode::OK, template)
}
