//! Tokens: made, listed without their text, revoked.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_engine::Versioned;
use ordo_engine::tokens::Wanted;
use ordo_model::api_token::ApiToken;
use ordo_model::{Millis, Role, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::idempotency;
use crate::http::params::{KeyCursor, List, Params};
use crate::http::path::{Named, TokenId};
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<KeyCursor>()?;
    params.finish()?;
    let found = app.engine.tokens().list(after.as_ref().map(|after| after.0.as_slice()), limit).await?;
    let items: Vec<Value> = found.items.iter().map(|token| told(token, app.now())).collect();
    Ok(Json(List { items, next_cursor: found.next.map(|key| KeyCursor(key).to_string()) }).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenForm {
    name: String,
    role: String,
    expires_at: Option<Timestamp>,
    expires_in: Option<Millis>,
}

impl TokenForm {
    fn wanted(self, by: &Caller, now: Timestamp) -> Result<Wanted, Problem> {
        let role = self.role.parse::<Role>();
        let role = role.map_err(|error| Problem::field(Code::InvalidToken, "role", error.to_string()))?;
        let expires_at = match (self.expires_at, self.expires_in) {
            (Some(_), Some(_)) => {
                return Err(Problem::field(Code::InvalidToken, "expires_in", "cannot stand beside expires_at"));
            }
            (at, None) => at,
            (None, Some(length)) => Some(now.plus(length)),
        };
        Ok(Wanted { name: self.name, role, expires_at, by: by.name.clone() })
    }
}

/// The only answer that ever holds the text of a token.
pub(crate) async fn create(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    // An answer that is not kept cannot be given a second time.
    idempotency::refuse(&headers)?;
    let form: TokenForm = body.parse()?;
    let (text, kept) = app.engine.tokens().issue(form.wanted(&caller, app.now())?).await?;
    let mut answer = told(&kept, app.now());
    answer["token"] = json!(text.expose());
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

pub(crate) async fn revoke(State(app): State<App>, Named(TokenId(id)): Named<TokenId>) -> Result<Json<Value>, Problem> {
    let kept = app.engine.tokens().revoke(id).await?;
    app.auth.known.forget_all();
    Ok(Json(told(&kept, app.now())))
}

fn told(token: &Versioned<ApiToken>, now: Timestamp) -> Value {
    let state = match (token.revoked_at, token.is_alive(now)) {
        (Some(_), _) => "revoked",
        (None, true) => "active",
        (None, false) => "expired",
    };
    json!({
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "state": state,
        "prefix": token.prefix,
        "created_at": token.created_at,
        "created_by": token.created_by,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
        "revoked_at": token.revoked_at,
    })
}
