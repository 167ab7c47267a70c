//! Silences: add, list, end.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::silences::{NewSilence, SilenceView};
use ordo_api::{Code, Page};
use ordo_engine::Versioned;
use ordo_engine::clock::new_id;
use ordo_model::Timestamp;
use ordo_model::limits::SILENCES_MAX;
use ordo_model::silence::{Silence, SilenceCommand};
use ordo_model::subscription::EventPattern;

use crate::api::incidents::change::end as end_of;
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::params::Params;
use crate::http::path::{Named, SilenceId};
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>, params: Params) -> Result<Response, Problem> {
    params.finish()?;
    let all = app.engine.queries().silences().await?;
    let items = all.iter().map(|kept| SilenceView::of(kept.id, kept)).collect();
    Ok(Json(Page { items, next_cursor: None }).into_response())
}

pub(crate) async fn create(Signed(app): Signed, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let NewSilence { matching, r#for, until, reason, actor } = body.parse()?;
    let until = end_of(r#for, until, app.now()).map_err(|why| Problem::field(Code::InvalidSilence, "until", why))?;
    let app = app
        .on_behalf_of(actor)
        .map_err(|invalid| Problem::field(Code::InvalidSilence, invalid.field, invalid.message))?;
    let kept = add(&app, matching, until, reason).await?;
    Ok((StatusCode::CREATED, Json(SilenceView::of(kept.id, &kept))).into_response())
}

/// Each message is held against all of them.
pub(crate) async fn add(
    app: &App,
    matching: EventPattern,
    until: Timestamp,
    reason: String,
) -> Result<Versioned<Silence>, Problem> {
    if app.engine.queries().silences().await?.len() >= SILENCES_MAX {
        let detail = format!("there are {SILENCES_MAX} silences already: end one first");
        return Err(Problem::new(Code::TooManySilences, detail));
    }
    let command = SilenceCommand::Add { matching, until, reason, by: app.by() };
    let committed = app.engine.command::<Silence>(new_id(), command).await?;
    Ok(Versioned::clone(&committed.state))
}

pub(crate) async fn end(Signed(app): Signed, Named(SilenceId(id)): Named<SilenceId>) -> Result<Response, Problem> {
    let kept = app.engine.queries().object::<Silence>(id).await?;
    let kept = kept.ok_or_else(|| Problem::new(Code::SilenceNotFound, format!("there is no silence {id}")))?;
    app.engine.command::<Silence>(id, SilenceCommand::End).await?;
    Ok(Json(SilenceView::of(id, &kept)).into_response())
}
