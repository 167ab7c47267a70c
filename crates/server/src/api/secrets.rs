//! Secrets: their names are listed, their values only ever go in.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_api::Page;
use ordo_api::access::{Resealed, SecretValue, SecretView};
use ordo_engine::secrets::SecretText;
use ordo_model::secret::{SecretRefusal, is_shared_name};

use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Named, SecretNamePath};
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let found = app.engine.secrets().list(after.as_ref(), limit).await?;
    let items = found.items.iter().map(|secret| SecretView::of(secret)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

/// Keeps a value; whether there was one before shows in the status only.
pub(crate) async fn put(
    Signed(app): Signed,
    Named(SecretNamePath(name)): Named<SecretNamePath>,
    body: Body,
) -> Result<Response, Problem> {
    let SecretValue { value } = body.parse()?;
    if !is_shared_name(&name) {
        return Err(SecretRefusal::BadName { name }.into());
    }
    // Its stream outlives a removal, so the version does not say whether it is new.
    let is_new = !app.engine.secrets().is_set(&name).await?;
    let kept = app.engine.secrets().put(&name, &SecretText::new(value)).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(SecretView::of(&kept))).into_response())
}

pub(crate) async fn remove(
    Signed(app): Signed,
    Named(SecretNamePath(name)): Named<SecretNamePath>,
) -> Result<Json<SecretView>, Problem> {
    Ok(Json(SecretView::of(&*app.engine.secrets().remove(&name).await?)))
}

/// With the first key of the key file.
pub(crate) async fn reseal(Signed(app): Signed) -> Result<Json<Resealed>, Problem> {
    Ok(Json(Resealed { secrets: app.engine.secrets().reseal().await? }))
}
