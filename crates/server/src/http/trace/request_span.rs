//! A request as a span for a collector of traces, and the trace that goes on with what the request brings about.
//!
//! Invariant: the route is recorded, never the path, the query or a header: these may hold secrets.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use ordo_engine::clock::new_id;
use ordo_engine::trace::{Sampling, TARGET};
use ordo_model::TraceParent;
use tracing::field::Empty;
use tracing::{Level, Span};

/// What a request is known by: put into its extensions once, so that it costs one allocation.
#[derive(Debug, Clone)]
pub(crate) struct RequestMark {
    /// As in the log, and in the header of the answer.
    pub(crate) id: HeaderValue,
    pub(crate) trace: CallerTrace,
}

/// What the log and the events call the request.
pub(crate) fn request_id(extensions: &Extensions) -> Option<String> {
    extensions.get::<RequestMark>().and_then(|mark| mark.id.to_str().ok()).map(str::to_owned)
}

/// The same, for a handler.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestId, Infallible> {
        Ok(RequestId(request_id(&parts.extensions)))
    }
}

/// The trace a request came with: what it asks for belongs to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerTrace(pub(crate) Option<TraceParent>);

impl CallerTrace {
    pub(crate) fn of(headers: &HeaderMap) -> CallerTrace {
        let written = headers.get("traceparent").and_then(|value| value.to_str().ok());
        CallerTrace(written.and_then(|text| text.parse().ok()))
    }

    /// The same trace, with the request's own span before what follows, if there is one.
    pub(crate) fn through(self, span: &RequestSpan) -> CallerTrace {
        CallerTrace(self.0.map(|caller| TraceParent { span_id: span.id.unwrap_or(caller.span_id), ..caller }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CallerTrace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<CallerTrace, Infallible> {
        Ok(parts.extensions.get::<RequestMark>().map_or(CallerTrace(None), |mark| mark.trace))
    }
}

/// Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestSpan {
    span: Span,
    id: Option<u64>,
}

impl RequestSpan {
    pub(crate) fn begin(
        method: &str,
        route: &str,
        request_id: &str,
        caller: CallerTrace,
        sampling: Sampling,
    ) -> RequestSpan {
        let none = RequestSpan { span: Span::none(), id: None };
        if !tracing::span_enabled!(target: TARGET, Level::INFO) {
            return none;
        }
        // The upper bits of the lower half say which kind of UUID it is: neither id is ever zero.
        let (new_trace, (_, span_id)) = (new_id().as_u128(), new_id().as_u64_pair());
        let trace_id = caller.0.map_or(new_trace, |caller| caller.trace_id);
        if !caller.0.map_or_else(|| sampling.takes(trace_id), |caller| caller.sampled) {
            return none;
        }
        let span = tracing::info_span!(
            target: TARGET,
            parent: None,
            "request",
            otel.name = %format_args!("{method} {route}"),
            otel.kind = "server",
            otel.status_code = Empty,
            trace_id,
            span_id,
            parent_span_id = caller.0.map(|caller| caller.span_id),
            http.request.method = method,
            http.route = route,
            http.response.status_code = Empty,
            ordo.request_id = request_id,
        );
        RequestSpan { span, id: Some(span_id) }
    }

    pub(crate) fn end(self, status: StatusCode) {
        self.span.record("http.response.status_code", status.as_u16());
        if status.is_server_error() {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}
