//! `/ping/…`: something elsewhere gives a sign of life.
//!
//! Invariant: whoever pings has the token of the monitor, or a ping key and its name. Neither is ever logged, and no other
//! token of the API is taken in a path: paths end up in the logs of proxies.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::alerting::monitors::PingHeard;
use ordo_engine::CommitExtras;
use ordo_engine::clock::new_id;
use ordo_model::limits::PING_BODY_MAX_BYTES;
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorSettings, PingTarget, SentPing, read_ping_path};
use ordo_model::{Actor, ActorSource, Role};
use ordo_store::Chunk;
use uuid::Uuid;

use super::new_token;
use crate::app::App;
use crate::auth;
use crate::http::body::Body;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::http::rate::Allowance;
use crate::http::trace::request_span::RequestId;

/// Clients of Healthchecks cut what they send to this length.
const BODY_LIMIT: HeaderName = HeaderName::from_static("ping-body-limit");

/// The monitor that is pinged, and who pings it.
struct FoundMonitor {
    id: Uuid,
    pinger: Actor,
    is_new: bool,
}

pub(crate) async fn receive(
    State(app): State<App>,
    RequestId(request): RequestId,
    uri: Uri,
    mut params: Params,
    body: Body,
) -> Result<Response, Problem> {
    let parts: Vec<&str> = uri.path().trim_start_matches("/ping/").split('/').collect();
    let (target, sent) = read_ping_path(&parts).ok_or_else(unknown)?;
    let sent = SentPing { rid: params.take("rid")?, ..sent };
    let found = match target {
        PingTarget::Token(token) => by_token(&app, token).await?,
        PingTarget::Named { key, name } => {
            let pinger = match holder(&app, key).await? {
                Ok(pinger) => pinger,
                Err(too_many) => return Ok(too_many),
            };
            by_name(&app, pinger, name, params.take_text("create").as_deref() == Some("1")).await?
        }
    };
    keep(&app, FoundMonitor { pinger: found.pinger.with_request(request), ..found }, sent, &body).await
}

fn unknown() -> Problem {
    Problem::new(Code::MonitorNotFound, "no monitor has this token")
}

/// Tokens from before were written without hyphens.
async fn by_token(app: &App, token: Uuid) -> Result<FoundMonitor, Problem> {
    let queries = app.engine.queries();
    let found = match queries.monitor_of_token(&token.hyphenated().to_string()).await? {
        Some(found) => Some(found),
        None => queries.monitor_of_token(&token.simple().to_string()).await?,
    };
    let found = found.ok_or_else(unknown)?;
    // Whoever pings is known by the monitor alone.
    let pinger = Actor::new(found.settings.name.clone(), ActorSource::Ping);
    Ok(FoundMonitor { id: found.id, pinger, is_new: false })
}

/// Whose ping key this is; or the answer to one who pings too often.
async fn holder(app: &App, key: &str) -> Result<Result<Actor, Response>, Problem> {
    let token = auth::find(app, key).await?.filter(|token| token.role == Role::Pinger).ok_or_else(unknown)?;
    let share = app.rates.of_token(token.id);
    Ok(match share.as_ref().and_then(Allowance::refusal) {
        Some(refusal) => Err(refusal),
        None => Ok(Actor::new(token.name.clone(), ActorSource::Ping)),
    })
}

async fn by_name(app: &App, pinger: Actor, name: &str, may_create: bool) -> Result<FoundMonitor, Problem> {
    let id = Monitor::id(name);
    if app.engine.queries().object::<Monitor>(id).await?.is_some() {
        return Ok(FoundMonitor { id, pinger, is_new: false });
    }
    if !may_create {
        return Err(super::none(name));
    }
    let command = MonitorCommand::AddIfMissing { settings: MonitorSettings::of_ping(name), token: new_token()? };
    let committed = app.signed_by(pinger.clone()).engine.command::<Monitor>(id, command).await?;
    Ok(FoundMonitor { id, pinger, is_new: !committed.events.is_empty() })
}

/// The end of what is said is kept: there stands why.
async fn keep(app: &App, found: FoundMonitor, sent: SentPing, body: &Body) -> Result<Response, Problem> {
    let said = &body.bytes[body.bytes.len().saturating_sub(PING_BODY_MAX_BYTES)..];
    let owner = (!said.is_empty()).then(new_id);
    let chunks = owner.map(|owner| Chunk { owner, seq: 0, bytes: said.to_vec() }).into_iter().collect();
    let command = MonitorCommand::Ping(SentPing { body: owner, ..sent });
    let committed = app
        .signed_by(found.pinger)
        .engine
        .command_with::<Monitor>(found.id, command, CommitExtras { chunks, ..CommitExtras::default() })
        .await?;
    let status = if found.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let heard = PingHeard { status: committed.state.status.name().to_owned(), due_at: committed.state.due_at };
    Ok((status, [(BODY_LIMIT, HeaderValue::from(PING_BODY_MAX_BYTES))], Json(heard)).into_response())
}
