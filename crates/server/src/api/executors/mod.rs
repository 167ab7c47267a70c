//! Executors that dial in: register, let themselves be heard, fetch work, leave.
//!
//! Invariant: small enough for curl. Nothing here connects to anybody: whoever wants work comes and asks.

pub(crate) mod reports;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::executors::{
    Assignment, Assignments, ExecutorLeaving, ExecutorState, ExecutorView, Heartbeat, HeartbeatAnswer, HookPayload,
    LeavingState, NewExecutor, Poll, Registered,
};
use ordo_api::{Code, Page};
use ordo_engine::SubmitError;
use ordo_engine::executors::{Handed, HostError, Leaving, ListedExecutor, NotThere, Polled, WorkRequest};
use ordo_model::executor::{ExecutorRefusal, Offer, Presence};
use ordo_model::limits::{HEARTBEAT, LEASE, POLL_MAX, REPORTS_MAX};
use ordo_model::{FencingToken, Millis, RunId};
use ordo_store::Fault;
use uuid::Uuid;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::path::{Name, Named};
use crate::http::peer::Peer;
use crate::http::problem::{Problem, of_submit};
use crate::http::streams::Counting;

/// How many runs one heartbeat may name.
const BEAT_RUNS_MAX: usize = REPORTS_MAX;
/// How many attempts a poll returns by default.
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

/// Only who is known not to be there is told so: it registers again, and drops what it has.
pub(crate) fn not_hosted(error: HostError) -> Problem {
    match error {
        HostError::NotThere(error) => not_there(error),
        HostError::Store(fault) => Fault::clone(&fault).into(),
    }
}

pub(crate) async fn register(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let NewExecutor { name, group, tools, capacity, version } = body.parse()?;
    if name == app.node.name {
        let message = "is the name of this node's own executor: choose another";
        return Err(Problem::field(Code::InvalidBody, "name", message));
    }
    let offer = Offer { name, group, tools, capacity, version };
    caller.scope.check(&offer).map_err(|error| Problem::new(Code::Forbidden, error.to_string()))?;
    let id = app.engine.register_executor(offer, caller.owner()).await.map_err(refused)?;
    let registered = Registered { id, heartbeat_ms: HEARTBEAT.ms(), lease_ms: LEASE.ms() };
    Ok((StatusCode::CREATED, Json(registered)).into_response())
}

fn refused(error: SubmitError<ExecutorRefusal>) -> Problem {
    of_submit(error, |refusal| match refusal {
        ExecutorRefusal::Invalid { field, message } => Problem::field(Code::InvalidBody, field, message),
        ExecutorRefusal::TooMany { .. } => Problem::new(Code::TooManyExecutors, refusal.to_string()),
        ExecutorRefusal::NoSuchExecutor | ExecutorRefusal::Exists => not_there(NotThere),
    })
}

pub(crate) async fn heartbeat(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(ExecutorId(id)): Named<ExecutorId>,
    body: Body,
) -> Result<Response, Problem> {
    let Heartbeat { runs } = body.parse_or_default()?;
    if runs.len() > BEAT_RUNS_MAX {
        return Err(Problem::field(Code::InvalidBody, "runs", format!("names more than {BEAT_RUNS_MAX} runs")));
    }
    let runs: Vec<(RunId, FencingToken)> = runs.into_iter().map(|held| (held.run_id, held.token)).collect();
    let beat = app.engine.heartbeat(caller.speaker(), id, &runs).await.map_err(not_hosted)?;
    Ok(Json(HeartbeatAnswer { cancel: beat.cancel, lost: beat.lost, drain: beat.drain }).into_response())
}

/// `payload` is what a webhook brought, for runs that one caused.
fn assignment(Handed { assignment, payload, traceparent }: Handed) -> Assignment {
    Assignment {
        run_id: assignment.run_id,
        job_id: assignment.job_id,
        label: assignment.label,
        attempt: assignment.attempt,
        token: assignment.token,
        scheduled_for: assignment.scheduled_for,
        timeout: assignment.timeout,
        tool_name: assignment.tool_name,
        tool_input: assignment.tool_input,
        payload: payload
            .map(|payload| HookPayload::new(payload.hook, payload.delivery, payload.headers, &payload.body)),
        traceparent: Some(traceparent.to_string()),
        shard: assignment.shard,
    }
}

pub(crate) async fn poll(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(ExecutorId(id)): Named<ExecutorId>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Result<Response, Problem> {
    let Poll { max, wait_ms, confirm } = body.parse_or_default()?;
    let max = max.unwrap_or(POLL_DEFAULT);
    if !(1..=POLL_MAX).contains(&max) {
        return Err(Problem::field(Code::InvalidBody, "max", format!("must be between 1 and {POLL_MAX}")));
    }
    let request = WorkRequest { max, wait: Millis::from_ms(wait_ms), confirms: confirm };
    let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
    let pass = app.streams.open(&app.engine, &caller, closing, Counting::Free)?;
    let polled = tokio::select! {
        // Nothing is taken once the server goes down, or the token has ended: what is taken must be handed out.
        biased;
        () = pass.over() => Ok(Polled::default()),
        polled = app.engine.poll(caller.speaker(), id, request) => polled,
    };
    let Polled { handed, cancel, confirm, drain } = polled.map_err(not_hosted)?;
    let runs = handed.into_iter().map(assignment).collect();
    Ok(Json(Assignments { runs, cancel, confirm, drain }).into_response())
}

/// `POST /v1/executors/{id}/drain`: somebody else asks it to go.
pub(crate) async fn drain(Signed(app): Signed, Named(ExecutorId(id)): Named<ExecutorId>) -> Result<Response, Problem> {
    let running = app.engine.drain_executor(id).await.map_err(not_hosted)?;
    Ok((StatusCode::ACCEPTED, Json(ExecutorLeaving { state: LeavingState::Draining, running })).into_response())
}

pub(crate) async fn leave(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    Named(ExecutorId(id)): Named<ExecutorId>,
) -> Result<Response, Problem> {
    let leaving = match app.engine.leave(caller.speaker(), id).await.map_err(not_hosted)? {
        Leaving::Left => ExecutorLeaving { state: LeavingState::Left, running: 0 },
        Leaving::Draining { running } => ExecutorLeaving { state: LeavingState::Draining, running },
    };
    Ok(Json(leaving).into_response())
}

pub(crate) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let items = std::iter::once(own(&app).await).chain(app.engine.executors().await?.iter().map(listed)).collect();
    Ok(Json(Page::whole(items)).into_response())
}

fn listed(listed: &ListedExecutor) -> ExecutorView {
    let offer = &listed.executor.offer;
    ExecutorView {
        id: listed.id,
        name: offer.name.clone(),
        group: offer.group.clone(),
        tools: offer.tools.clone(),
        capacity: offer.capacity,
        version: offer.version.clone(),
        state: match listed.executor.presence {
            Presence::Alive => ExecutorState::Alive,
            Presence::Draining => ExecutorState::Draining,
            Presence::Lost { .. } => ExecutorState::Lost,
            Presence::Left => ExecutorState::Left,
        },
        running: listed.running,
        registered_at: listed.executor.registered_at,
        seen_at: listed.heard_at,
        registered_by: listed.executor.owner.as_ref().map(|owner| owner.name.clone()),
        in_process: false,
    }
}

/// The executor inside this server: always there.
async fn own(app: &App) -> ExecutorView {
    let load = app.engine.load().await;
    ExecutorView {
        id: app.engine.me().generation,
        name: app.engine.me().executor.clone(),
        group: app.engine.group().to_owned(),
        tools: app.engine.tools().keys().cloned().collect(),
        capacity: u32::try_from(load.slots).unwrap_or(u32::MAX),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        state: ExecutorState::Alive,
        running: load.pools.iter().map(|(_, running, _)| running).sum(),
        registered_at: app.now().minus(app.since.elapsed()),
        seen_at: app.now(),
        registered_by: None,
        in_process: true,
    }
}
