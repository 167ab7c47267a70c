//! Monitors: what is expected, and the pings that say it happened.

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::monitors::{MonitorView, PingHeard};
use ordo_api::{Code, Page};
use ordo_engine::clock::new_id;
use ordo_engine::{CommitExtras, Versioned};
use ordo_model::limits::PING_BODY_MAX_BYTES;
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorSettings, Signal};
use ordo_model::{Actor, ActorSource, Kind};
use ordo_store::Chunk;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::problem::Problem;
use crate::http::trace::request_span::RequestId;

const TOKEN_BYTES: usize = 16;

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
    let mut random = [0; TOKEN_BYTES];
    getrandom::fill(&mut random).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let id = Monitor::id(&settings.name);
    let committed =
        app.engine.command::<Monitor>(id, MonitorCommand::Add { settings, token: hex::encode(random) }).await?;
    let is_new = committed.state.version == 1 && !committed.events.is_empty();
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

pub(crate) async fn succeeded(
    State(app): State<App>,
    id: RequestId,
    token: Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    ping(&app, id, &token, Signal::Success, &body).await
}

pub(crate) async fn started(
    State(app): State<App>,
    id: RequestId,
    token: Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    ping(&app, id, &token, Signal::Start, &body).await
}

pub(crate) async fn failed(
    State(app): State<App>,
    id: RequestId,
    token: Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    ping(&app, id, &token, Signal::Fail, &body).await
}

/// The end of what is said is kept: there stands why.
async fn ping(
    app: &App,
    RequestId(id): RequestId,
    token: &str,
    signal: Signal,
    body: &Body,
) -> Result<Response, Problem> {
    let unknown = || Problem::new(Code::MonitorNotFound, "no monitor has this token");
    // Nothing that a token cannot be is looked for.
    let is_token = token.len() == 2 * TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_token {
        return Err(unknown());
    }
    let found = app.engine.queries().monitor_of_token(token).await?.ok_or_else(unknown)?;
    let said = &body.bytes[body.bytes.len().saturating_sub(PING_BODY_MAX_BYTES)..];
    let owner = (!said.is_empty()).then(new_id);
    let chunks = owner.map(|owner| Chunk { owner, seq: 0, bytes: said.to_vec() }).into_iter().collect();
    let command = MonitorCommand::Ping { signal, body: owner };
    // Whoever pings is known by the monitor alone.
    let pinger = Actor::new(found.settings.name.clone(), ActorSource::Ping).with_request(id);
    let committed = app
        .signed_by(pinger)
        .engine
        .command_with::<Monitor>(found.id, command, CommitExtras { chunks, ..CommitExtras::default() })
        .await?;
    Ok(Json(PingHeard { status: committed.state.status.name().to_owned(), due_at: committed.state.due_at })
        .into_response())
}
