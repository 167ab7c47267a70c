//! The store as a whole: how large, a copy of it, a proof that it is sound.

use axum::Json;
use axum::extract::State;
use ordo_api::Code;
use ordo_api::upkeep::{BackupStore, StoreCheck, StoreCopy, StoreStats};

use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;

pub(crate) async fn stats(State(app): State<App>) -> Result<Json<StoreStats>, Problem> {
    Ok(Json(app.maintenance.stats().await?))
}

pub(crate) async fn backup(State(app): State<App>, body: Body) -> Result<Json<StoreCopy>, Problem> {
    let BackupStore { to } = body.parse()?;
    if !to.is_absolute() {
        // The server's folder is not the client's.
        return Err(Problem::field(Code::InvalidBody, "to", "must be an absolute path on the server's machine"));
    }
    if to.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(Problem::field(Code::InvalidBody, "to", "must not contain the character NUL: no path does"));
    }
    Ok(Json(app.maintenance.backup(to).await?))
}

pub(crate) async fn check(State(app): State<App>) -> Result<Json<StoreCheck>, Problem> {
    Ok(Json(app.maintenance.check().await?))
}
