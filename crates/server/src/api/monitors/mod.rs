//! Monitors: what is expected, the pings that say it happened, the badges that show it.

pub(crate) mod badge;
pub(crate) mod ping;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::monitors::MonitorView;
use ordo_api::{Code, Page};
use ordo_engine::Versioned;
use ordo_model::Kind;
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorEvent, MonitorSettings};
use uuid::Builder;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::problem::Problem;

/// A token that nobody can guess: a random UUID, which clients made for other services take too.
fn new_token() -> Result<String, Problem> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(Builder::from_random_bytes(random).into_uuid().to_string())
}

fn view(caller: &Caller, monitor: &Versioned<Monitor>) -> MonitorView {
    MonitorView::of(monitor.id, monitor, caller.sees_credentials(Kind::Monitor))
}

/// Adds a monitor, or gives the one of that name other settings.
pub(crate) async fn create(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Result<Response, Problem> {
    let settings: MonitorSettings = body.parse()?;
    let id = Monitor::id(&settings.name);
    let committed = app.engine.command::<Monitor>(id, MonitorCommand::Add { settings, token: new_token()? }).await?;
    let is_new = committed.events.iter().any(|event| matches!(event, MonitorEvent::MonitorAdded { .. }));
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(view(&caller, &committed.state))).into_response())
}

pub(crate) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    mut params: Params,
) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let found = app.engine.queries().monitors(after.as_ref(), limit).await?;
    let items = found.items.iter().map(|kept| view(&caller, kept)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

pub(crate) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let kept = find(&app, &name).await?;
    let last_said = match kept.pings.iter().rev().find_map(|ping| ping.body) {
        Some(owner) => {
            let chunks = app.engine.queries().store().chunks(owner, 0, 1).await?;
            chunks.first().map(|chunk| String::from_utf8_lossy(&chunk.bytes).into_owned())
        }
        None => None,
    };
    let pings = Some(kept.pings.clone());
    Ok(Json(MonitorView { pings, last_said: Some(last_said), ..view(&caller, &kept) }).into_response())
}

pub(crate) async fn remove(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let committed = app.engine.command::<Monitor>(Monitor::id(&name), MonitorCommand::Remove).await?;
    Ok(Json(view(&caller, &committed.state)).into_response())
}

pub(crate) async fn find(app: &App, name: &str) -> Result<Versioned<Monitor>, Problem> {
    app.engine.queries().object::<Monitor>(Monitor::id(name)).await?.ok_or_else(|| none(name))
}

fn none(name: &str) -> Problem {
    let shown: String = name.chars().take(60).collect();
    Problem::new(Code::MonitorNotFound, format!("there is no monitor {shown:?}"))
}
