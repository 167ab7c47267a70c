//! Executors that dial in: register, let themselves be heard, fetch work, leave.
//!
//! Invariant: small enough for curl. Nothing here connects to anybody: whoever wants work comes and asks.

pub(crate) mod reports;

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ordo_engine::SubmitError;
use ordo_engine::executors::{Handed, Leaving, Listed, NotThere, Polled};
use ordo_engine::tool::Payload;
use ordo_model::executor::{ExecutorRefusal, Offer};
use ordo_model::job::Definition;
use ordo_model::limits::{HEARTBEAT, LEASE, POLL_MAX, REPORTS_MAX};
use ordo_model::{Millis, RunId, Timestamp, Token};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::idempotency;
use crate::http::params::List;
use crate::http::path::{Name, Named};
use crate::http::peer::Peer;
use crate::http::problem::{Problem, of_submit};

/// How many runs one heartbeat may name.
const BEAT_RUNS_MAX: usize = REPORTS_MAX;
/// How many attempts a poll brings unless told.
const POLL_DEFAULT: usize = 1;

/// One generation of an executor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutorId(pub(crate) Uuid);

impl std::str::FromStr for ExecutorId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<ExecutorId, uuid::Error> {
        text.parse().map(ExecutorId)
    }
}

impl Name for ExecutorId {
    fn missing(_: &str) -> Problem {
        not_there(NotThere)
    }
}

pub(crate) fn not_there(error: NotThere) -> Problem {
    Problem::new(Code::ExecutorNotFound, error.to_string())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterForm {
    name: String,
    #[serde(default = "default_group")]
    group: String,
    tools: BTreeSet<String>,
    #[serde(default = "default_capacity")]
    capacity: u32,
    version: Option<String>,
}

fn default_group() -> String {
    Definition::DEFAULT_GROUP.to_owned()
}

fn default_capacity() -> u32 {
    16
}

pub(crate) async fn register(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let RegisterForm { name, group, tools, capacity, version } = body.parse()?;
    if name == app.node.name {
        let message = "is the name of this node's own executor: choose another";
        return Err(Problem::field(Code::InvalidBody, "name", message));
    }
    let offer = Offer { name, group, tools, capacity, version };
    let id = app.engine.register_executor(offer).await.map_err(refused)?;
    let told = json!({ "id": id, "heartbeat_ms": HEARTBEAT.ms(), "lease_ms": LEASE.ms() });
    Ok((StatusCode::CREATED, Json(told)).into_response())
}

fn refused(error: SubmitError<ExecutorRefusal>) -> Problem {
    of_submit(error, |refusal| match refusal {
        ExecutorRefusal::Invalid { field, message } => Problem::field(Code::InvalidBody, field, message),
        ExecutorRefusal::NoSuchExecutor | ExecutorRefusal::Exists => not_there(NotThere),
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BeatForm {
    runs: Vec<HeldForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeldForm {
    run_id: RunId,
    token: Token,
}

pub(crate) async fn heartbeat(
    State(app): State<App>,
    Named(ExecutorId(id)): Named<ExecutorId>,
    body: Body,
) -> Result<Response, Problem> {
    let BeatForm { runs } = body.parse_or_default()?;
    if runs.len() > BEAT_RUNS_MAX {
        return Err(Problem::field(Code::InvalidBody, "runs", format!("names more than {BEAT_RUNS_MAX} runs")));
    }
    let runs: Vec<(RunId, Token)> = runs.into_iter().map(|held| (held.run_id, held.token)).collect();
    let beat = app.engine.heartbeat(id, &runs).await.map_err(not_there)?;
    let mut told = json!({ "cancel": beat.cancel, "lost": beat.lost });
    say_drain(&mut told, beat.drain);
    Ok(Json(told).into_response())
}

/// Said only when it is so: `drain` asks the executor to finish what it has and leave.
fn say_drain(told: &mut Value, drain: bool) {
    if drain {
        told["drain"] = Value::Bool(true);
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PollForm {
    max: Option<usize>,
    wait_ms: u64,
}

/// A handed-out attempt on the wire. `payload` is what a webhook brought, for runs that one caused.
#[derive(Debug, Serialize)]
struct HandedJson {
    run_id: RunId,
    job_id: ordo_model::JobId,
    label: String,
    attempt: u32,
    token: Token,
    scheduled_for: Option<Timestamp>,
    timeout: Millis,
    tool_name: String,
    tool_input: Value,
    payload: Option<Value>,
    /// The trace context of the attempt (W3C), to be handed on to what it calls.
    traceparent: String,
    shard: Option<Value>,
}

impl From<Handed> for HandedJson {
    fn from(Handed { assignment: handed, payload, traceparent }: Handed) -> HandedJson {
        HandedJson {
            run_id: handed.run_id,
            job_id: handed.job_id,
            label: handed.label,
            attempt: handed.attempt,
            token: handed.token,
            scheduled_for: handed.scheduled_for,
            timeout: handed.timeout,
            tool_name: handed.tool_name,
            tool_input: handed.tool_input,
            payload: payload.as_ref().map(payload_json),
            traceparent: traceparent.to_string(),
            shard: handed.shard.map(|shard| json!({ "index": shard.index, "total": shard.total })),
        }
    }
}

/// What came, as it came: as text if it is one, in base64 otherwise.
fn payload_json(payload: &Payload) -> Value {
    let (body, encoding) = match std::str::from_utf8(&payload.body) {
        Ok(text) => (text.to_owned(), "text"),
        Err(_) => (BASE64_STANDARD.encode(&payload.body), "base64"),
    };
    let Payload { hook, delivery, headers, .. } = payload;
    json!({ "hook": hook, "delivery": delivery, "headers": headers, "body": body, "encoding": encoding })
}

pub(crate) async fn poll(
    State(app): State<App>,
    Named(ExecutorId(id)): Named<ExecutorId>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Result<Response, Problem> {
    let PollForm { max, wait_ms } = body.parse_or_default()?;
    let max = max.unwrap_or(POLL_DEFAULT);
    if !(1..=POLL_MAX).contains(&max) {
        return Err(Problem::field(Code::InvalidBody, "max", format!("must be between 1 and {POLL_MAX}")));
    }
    let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
    let polled = tokio::select! {
        // Nothing is taken once the server goes down: what is taken must be told.
        biased;
        () = closing.cancelled() => Ok(Polled::default()),
        polled = app.engine.poll(id, max, Millis::from_ms(wait_ms)) => polled,
    };
    let Polled { handed, drain } = polled.map_err(not_there)?;
    let runs: Vec<HandedJson> = handed.into_iter().map(HandedJson::from).collect();
    let mut told = json!({ "runs": runs });
    say_drain(&mut told, drain);
    Ok(Json(told).into_response())
}

/// `POST /v1/executors/{id}/drain`: somebody else asks it to go.
pub(crate) async fn drain(
    State(app): State<App>,
    Named(ExecutorId(id)): Named<ExecutorId>,
) -> Result<Response, Problem> {
    let running = app.engine.drain_executor(id).await.map_err(not_there)?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "state": "draining", "running": running }))).into_response())
}

pub(crate) async fn leave(
    State(app): State<App>,
    Named(ExecutorId(id)): Named<ExecutorId>,
) -> Result<Response, Problem> {
    let told = match app.engine.leave(id).await.map_err(not_there)? {
        Leaving::Left => json!({ "state": "left", "running": 0 }),
        Leaving::Draining { running } => json!({ "state": "draining", "running": running }),
    };
    Ok(Json(told).into_response())
}

pub(crate) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let items: Vec<Value> =
        std::iter::once(own(&app).await).chain(app.engine.executors().await?.iter().map(listed)).collect();
    Ok(Json(List { items, next_cursor: None }).into_response())
}

fn listed(listed: &Listed) -> Value {
    let offer = &listed.executor.offer;
    json!({
        "id": listed.id,
        "name": offer.name,
        "group": offer.group,
        "tools": offer.tools,
        "capacity": offer.capacity,
        "version": offer.version,
        "state": listed.executor.presence.name(),
        "running": listed.running,
        "registered_at": listed.executor.registered_at,
        "seen_at": listed.heard_at,
        "in_process": false,
    })
}

/// The executor inside this server: always there.
async fn own(app: &App) -> Value {
    let load = app.engine.load().await;
    let running: usize = load.pools.iter().map(|(_, running, _)| running).sum();
    json!({
        "id": app.engine.me().generation,
        "name": app.engine.me().executor,
        "group": app.engine.group(),
        "tools": app.engine.tools().keys().collect::<Vec<_>>(),
        "capacity": load.slots,
        "version": env!("CARGO_PKG_VERSION"),
        "state": "alive",
        "running": running,
        "registered_at": app.now().minus(app.since.elapsed()),
        "seen_at": app.now(),
        "in_process": true,
    })
}
