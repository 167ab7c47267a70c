//! Subscriptions: who hears of what by webhook.
//!
//! Invariant: a signing secret is answered once, by the request that made it, and never again.

mod change;
mod secret;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::subscriptions::{NewSubscription, SubscriptionRemoved, SubscriptionTest, SubscriptionView};
use ordo_api::{Code, Page};
use ordo_engine::Versioned;
use ordo_engine::clock::new_id;
use ordo_engine::object_queries::IndexRange;
use ordo_model::Kind;
use ordo_model::limits::SUBSCRIPTIONS_MAX;
use ordo_model::subscription::{Subscription, SubscriptionCommand, SubscriptionRefusal};
use ordo_model::text::visible_lines;
use uuid::Uuid;

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Named, SubscriptionId};
use crate::http::problem::Problem;

pub(crate) use change::update;

fn view(caller: &Caller, subscription: &Versioned<Subscription>) -> SubscriptionView {
    SubscriptionView::of(subscription.id, subscription, caller.sees_credentials(Kind::Subscription))
}

pub(crate) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    mut params: Params,
) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let section = IndexRange { after: after.as_ref(), ..IndexRange::all(0, limit) };
    let found = app.engine.queries().objects::<Subscription>(&section).await?;
    let items = found.items.iter().map(|kept| view(&caller, kept)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

pub(crate) async fn create(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Ok((StatusCode::CREATED, Json(add(&app, &caller, &headers, &body).await?)).into_response())
}

/// The one view that holds the signing secret.
pub(crate) async fn add(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: &Body,
) -> Result<SubscriptionView, Problem> {
    idempotency::refuse(headers)?;
    let (terms, given) = body.parse::<NewSubscription>()?.split();
    let id = new_id();
    refuse_too_many(app).await?;
    let made = secret::keep(app, id, 1, given).await?;
    let command = SubscriptionCommand::Add { terms, secret: made.name };
    let kept = order(app, id, command).await?;
    Ok(view(caller, &kept).with_secret(made.value))
}

/// Each event is held against all of them.
async fn refuse_too_many(app: &App) -> Result<(), Problem> {
    let all = app.engine.queries().objects::<Subscription>(&IndexRange::all(0, SUBSCRIPTIONS_MAX)).await?;
    if all.items.len() < SUBSCRIPTIONS_MAX {
        return Ok(());
    }
    let detail = format!("there are {SUBSCRIPTIONS_MAX} subscriptions already: remove one first");
    Err(Problem::new(Code::TooManySubscriptions, detail))
}

pub(crate) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<SubscriptionId>,
) -> Result<Response, Problem> {
    Ok(Json(view(&caller, &find(&app, id.0).await?)).into_response())
}

pub(crate) async fn remove(Signed(app): Signed, Named(id): Named<SubscriptionId>) -> Result<Response, Problem> {
    let before = find(&app, id.0).await?;
    order(&app, id.0, SubscriptionCommand::Remove).await?;
    secret::forget(&app, &before).await;
    Ok(Json(SubscriptionRemoved { id: id.0, removed: true }).into_response())
}

/// Sends one message now and says how it went; nothing is tried again.
pub(crate) async fn test(State(app): State<App>, Named(id): Named<SubscriptionId>) -> Result<Response, Problem> {
    Ok(Json(try_out(&app, id.0).await?).into_response())
}

pub(crate) async fn try_out(app: &App, id: Uuid) -> Result<SubscriptionTest, Problem> {
    let kept = find(app, id).await?;
    let Some(directory) = &app.adapters.directory else {
        return Err(Problem::new(Code::NotReady, "this node sends no webhooks"));
    };
    Ok(match directory.sender(kept.id, kept.value).test(new_id()).await {
        Ok(status) => SubscriptionTest { delivered: true, status: Some(status), error: None },
        Err(error) => {
            SubscriptionTest { delivered: false, status: None, error: Some(visible_lines(&error.text).into_owned()) }
        }
    })
}

pub(crate) async fn find(app: &App, id: Uuid) -> Result<Versioned<Subscription>, Problem> {
    let found = app.engine.queries().object::<Subscription>(id).await?;
    found.ok_or_else(|| Problem::new(Code::SubscriptionNotFound, format!("there is no subscription {id}")))
}

/// Has a command carried out; whoever sends knows of it before it is answered.
async fn order(app: &App, id: Uuid, command: SubscriptionCommand) -> Result<Versioned<Subscription>, Problem> {
    let committed = app.engine.command::<Subscription>(id, command).await?;
    if let Some(directory) = &app.adapters.directory {
        directory.refresh(app.engine.queries(), id).await?;
    }
    Ok(Versioned::clone(&committed.state))
}

impl From<SubscriptionRefusal> for Problem {
    fn from(refusal: SubscriptionRefusal) -> Problem {
        let text = refusal.to_string();
        match refusal {
            SubscriptionRefusal::NoSuchSubscription => Problem::new(Code::SubscriptionNotFound, text),
            SubscriptionRefusal::Exists => Problem::new(Code::WrongState, text),
            SubscriptionRefusal::Invalid { field, why } => Problem::field(Code::InvalidSubscription, field, why),
        }
    }
}
