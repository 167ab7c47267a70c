//! Deliveries of a hook: what came, what became of it, and once more.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::hooks::DeliveryView;
use ordo_api::{Code, Page};
use ordo_engine::deliveries_prefix;
use ordo_engine::object_queries::IndexRange;
use ordo_engine::{CommitExtras, SubmitError, Versioned};
use ordo_model::hook::{Delivery, DeliveryRefusal};
use ordo_store::Direction;
use uuid::Uuid;

use crate::api::hooks;
use crate::app::{App, Signed};
use crate::http::idempotency::{self, Once};
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Named, Slug};
use crate::http::problem::{Problem, of_submit};

/// Newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Named(Slug(slug)): Named<Slug>,
    mut params: Params,
) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    hooks::find(&app, &slug).await?;
    let prefix = deliveries_prefix(&slug);
    let order = Direction::Descending;
    let section = IndexRange { prefix: &prefix, after: after.as_ref(), order, ..IndexRange::all(0, limit) };
    let found = app.engine.queries().objects::<Delivery>(&section).await?;
    let items = found.items.iter().map(|kept| DeliveryView::of(kept.id, kept)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

pub(crate) async fn replay(
    Signed(app): Signed,
    named: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((slug, id)) = named.map_err(|_| missing())?;
    let once = Once::read(&headers, &format!("POST /v1/hooks/{slug}/deliveries/{id}/replay"), &[])?;
    let delivery = find(&app, &slug, &id).await?;
    if let Some(once) = &once
        && once.earlier::<Uuid>(&app).await?.is_some()
    {
        return Ok(idempotency::replayed(accepted(&delivery)));
    }
    let dedup = once.as_ref().map(|once| once.dedup(delivery.id, app.now()));
    let extras = CommitExtras { dedup: dedup.into_iter().collect(), ..CommitExtras::default() };
    match app.engine.replay(&slug, delivery.id, extras).await {
        Ok(committed) => Ok(accepted(&committed.state)),
        Err(SubmitError::Duplicate(_)) if once.is_some() => {
            Ok(idempotency::replayed(accepted(&find(&app, &slug, &id).await?)))
        }
        Err(error) => Err(of_submit(error, |refusal| refused(&refusal))),
    }
}

async fn find(app: &App, slug: &str, id: &str) -> Result<Versioned<Delivery>, Problem> {
    let id: Uuid = id.parse().map_err(|_| missing())?;
    let found = app.engine.queries().object::<Delivery>(id).await?;
    found.filter(|delivery| delivery.hook == slug).ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::new(Code::DeliveryNotFound, "the hook has no such delivery")
}

fn accepted(delivery: &Versioned<Delivery>) -> Response {
    (StatusCode::ACCEPTED, Json(DeliveryView::of(delivery.id, delivery))).into_response()
}

fn refused(refusal: &DeliveryRefusal) -> Problem {
    let code = match refusal {
        DeliveryRefusal::NoSuchDelivery => Code::DeliveryNotFound,
        DeliveryRefusal::NotOver => Code::WrongState,
        DeliveryRefusal::PayloadGone => Code::PayloadGone,
        DeliveryRefusal::Duplicate => Code::Internal,
    };
    Problem::new(code, refusal.to_string())
}
