//! `/badge/…`: how a monitor is, for a page of somebody else.
//!
//! Invariant: without the right key a monitor is not there. A badge says how it is and nothing more, and is not kept by
//! those who carry it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::monitors::BadgeJson;
use ordo_model::monitor::{BadgeStatus, Monitor};
use serde_json::json;
use subtle::ConstantTimeEq;

use crate::app::App;
use crate::http::problem::Problem;

/// So that a page of another site may show it, and GitHub's proxy asks again each time.
const HEADERS: [(HeaderName, &str); 2] = [
    (header::CACHE_CONTROL, "no-cache, max-age=0"),
    (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
];

pub(crate) async fn show(
    State(app): State<App>,
    Path((name, file)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (key, form) = file.rsplit_once('.').ok_or_else(|| super::none(&name))?;
    let found = app.engine.queries().object::<Monitor>(Monitor::id(&name)).await?;
    let fits = |monitor: &Monitor| bool::from(monitor.badge_key().as_bytes().ct_eq(key.as_bytes()));
    let monitor = found.filter(|monitor| fits(monitor)).ok_or_else(|| super::none(&name))?;
    let status = monitor.badge_status(app.now());
    let answer = match form {
        "svg" => ([(header::CONTENT_TYPE, "image/svg+xml")], svg(&name, status)).into_response(),
        "json" => Json(as_json(status)).into_response(),
        "shields" => Json(shields(&name, status)).into_response(),
        _ => return Err(super::none(&name)),
    };
    Ok((HEADERS, answer).into_response())
}

fn as_json(status: BadgeStatus) -> BadgeJson {
    BadgeJson {
        status: status.name().to_owned(),
        total: 1,
        grace: u32::from(status == BadgeStatus::Late),
        down: u32::from(status == BadgeStatus::Down),
    }
}

/// As shields.io reads it from an endpoint.
fn shields(name: &str, status: BadgeStatus) -> serde_json::Value {
    let color = match status {
        BadgeStatus::Up => "success",
        BadgeStatus::Late => "important",
        BadgeStatus::Down => "critical",
    };
    json!({ "schemaVersion": 1, "label": name, "message": status.name(), "color": color })
}

/// Two boxes, as wide as their texts are likely to be. A name is letters, digits, '.', '_' and '-': nothing to escape.
fn svg(name: &str, status: BadgeStatus) -> String {
    const CHAR_WIDTH: usize = 7;
    const PADDING: usize = 10;
    let message = status.name();
    let color = match status {
        BadgeStatus::Up => "#2f7d32",
        BadgeStatus::Late => "#a15c00",
        BadgeStatus::Down => "#c62828",
    };
    let left = name.len() * CHAR_WIDTH + PADDING;
    let right = message.len() * CHAR_WIDTH + PADDING;
    let (width, left_middle, right_middle) = (left + right, left / 2, left + right / 2);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {message}">
<title>{name}: {message}</title>
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{color}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left_middle}" y="14">{name}</text>
<text x="{right_middle}" y="14">{message}</text>
</g>
</svg>
"##
    )
}
