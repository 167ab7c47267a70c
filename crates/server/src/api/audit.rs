//! Who changed what.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use ordo_api::audit::AuditView;
use ordo_api::{Code, Page};
use ordo_engine::audit::{AuditEntry, AuditFilter};
use ordo_model::{ActorSource, EntityId, Kind, Timestamp};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use crate::app::App;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::problem::Problem;

pub(crate) async fn read(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let filter = take_filter(&mut params)?;
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let found = app.engine.queries().audit(&filter, after.as_ref(), limit).await?;
    let items = found.items.into_iter().map(view).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

pub(crate) fn take_filter(params: &mut Params) -> Result<AuditFilter, Problem> {
    Ok(AuditFilter {
        actor: params.take_text("actor").filter(|name| !name.is_empty()),
        source: params.take_text("source").filter(|name| !name.is_empty()).map(|name| source(&name)).transpose()?,
        kind: params.take_text("kind").filter(|name| !name.is_empty()).map(|name| kind(&name)).transpose()?,
        event: params.take_text("type").filter(|name| !name.is_empty()),
        entity: params.take::<EntityId>("stream")?,
        since: params.take::<Timestamp>("since")?,
        until: params.take::<Timestamp>("until")?,
    })
}

fn source(name: &str) -> Result<ActorSource, Problem> {
    let read: Result<ActorSource, ValueError> = ActorSource::deserialize(name.into_deserializer());
    read.ok().filter(|source| source.name() == name).ok_or_else(|| {
        Problem::field(Code::InvalidQuery, "source", "must be one of api, cli, page, slack, hook, ping, executor")
    })
}

fn kind(name: &str) -> Result<Kind, Problem> {
    let known = || Kind::ALL.map(Kind::name).join(", ");
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Problem::field(Code::InvalidQuery, "kind", format!("must be one of {}", known())))
}

fn view(entry: AuditEntry) -> AuditView {
    AuditView {
        at: entry.at,
        r#type: entry.event,
        kind: entry.entity.kind.name().to_owned(),
        name: entry.name,
        stream: entry.entity.to_string(),
        version: entry.version,
        actor: entry.actor.into(),
    }
}
