//! Pages that make, show and change what surrounds jobs: hooks, monitors, tokens, secrets, subscriptions,
//! channels, escalation chains.
//!
//! Invariant: what a form says is written down as a client of the API would write it, and goes through the same handler:
//! the rules, the refusals and the rights are the API's. A form that is refused comes back as it was typed.

pub(crate) mod channels;
pub(crate) mod escalations;
pub(crate) mod form;
pub(crate) mod hooks;
pub(crate) mod monitors;
pub(crate) mod secrets;
pub(crate) mod subscriptions;
pub(crate) mod tokens;
pub(crate) mod view;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use ordo_api::Code;
use serde_json::Value;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::params::{Cursor, Params};
use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;

pub(crate) const PER_PAGE: usize = 50;

/// Who presses the button, as the handlers of the API want it.
pub(crate) struct Presser(pub(crate) Caller);

impl FromRequestParts<App> for Presser {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Presser, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.map(Presser).ok_or_else(|| Problem::new(Code::Unauthorized, "sign in first"))
    }
}

/// A request to the API in the name of whoever presses the button.
pub(crate) fn signed(ctx: &PageContext) -> Signed {
    Signed(ctx.app.clone())
}

pub(crate) fn body(value: &Value) -> Body {
    Body::json(Bytes::from(value.to_string()))
}

/// Where a page of a list begins.
pub(crate) fn after(params: &mut Params) -> Option<Cursor> {
    params.take_text("after").and_then(|text| text.parse().ok())
}

pub(crate) fn next(ctx: &PageContext, path: &str, cursor: Option<Cursor>) -> Option<String> {
    cursor.map(|cursor| ctx.link(&format!("{path}?after={cursor}")))
}

/// The address that the viewer's browser uses for this server: others can most likely use it too.
pub(crate) fn address(headers: &HeaderMap, base_path: &str) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    let host = text(header::HOST.as_str()).filter(|host| host.bytes().all(is_of_a_host)).unwrap_or("this-server:7070");
    format!("{scheme}://{host}{base_path}")
}

/// Anything else could become a word of its own in the command that is shown.
fn is_of_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_command_names_the_server_as_the_browser_does() {
        let mut headers = HeaderMap::new();
        assert_eq!(address(&headers, ""), "http://this-server:7070");
        headers.insert(header::HOST, HeaderValue::from_static("ordo.example:8443"));
        headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        assert_eq!(address(&headers, "/ops"), "https://ordo.example:8443/ops");
        headers.insert(header::HOST, HeaderValue::from_static("x; rm -rf"));
        assert_eq!(address(&headers, ""), "https://this-server:7070");
    }
}
