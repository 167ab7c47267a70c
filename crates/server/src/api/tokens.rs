//! Tokens: made, listed without their text, revoked.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::access::{NewToken, TokenView};
use ordo_api::{Code, Page};
use ordo_engine::tokens::TokenRequest;
use ordo_model::executor_scope::ExecutorScope;
use ordo_model::{Role, Timestamp};

use crate::app::{App, Signed};
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::idempotency;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Named, TokenId};
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let found = app.engine.tokens().list(after.as_ref(), limit).await?;
    let items = found.items.iter().map(|token| TokenView::of(token.id, token, app.now())).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

fn wanted(asked: NewToken, by: &Caller, now: Timestamp) -> Result<TokenRequest, Problem> {
    let role = asked.role.parse::<Role>();
    let role = role.map_err(|error| Problem::field(Code::InvalidToken, "role", error.to_string()))?;
    let expires_at = match (asked.expires_at, asked.expires_in) {
        (Some(_), Some(_)) => {
            return Err(Problem::field(Code::InvalidToken, "expires_in", "cannot stand beside expires_at"));
        }
        (at, None) => at,
        (None, Some(length)) => Some(now.plus(length)),
    };
    let scope = ExecutorScope { groups: asked.groups, tools: asked.tools };
    Ok(TokenRequest { name: asked.name, role, expires_at, by: by.name.clone(), scope })
}

/// The only answer that ever holds the text of a token.
pub(crate) async fn create(
    Signed(app): Signed,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    Ok((StatusCode::CREATED, Json(issue(&app, &caller, &headers, &body).await?)).into_response())
}

/// The one view that holds the text of a token.
pub(crate) async fn issue(app: &App, by: &Caller, headers: &HeaderMap, body: &Body) -> Result<TokenView, Problem> {
    // An answer that is not kept cannot be given a second time.
    idempotency::refuse(headers)?;
    let asked: NewToken = body.parse()?;
    let (text, kept) = app.engine.tokens().issue(wanted(asked, by, app.now())?).await?;
    let view = TokenView::of(kept.id, &kept, app.now());
    Ok(TokenView { token: Some(text.expose().to_owned()), ..view })
}

pub(crate) async fn revoke(
    Signed(app): Signed,
    Named(TokenId(id)): Named<TokenId>,
) -> Result<Json<TokenView>, Problem> {
    let kept = app.engine.tokens().revoke(id).await?;
    app.auth.known.forget_all();
    Ok(Json(TokenView::of(kept.id, &kept, app.now())))
}
