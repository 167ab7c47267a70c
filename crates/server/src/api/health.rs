//! Whether the process is alive, and whether it is ready.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use ordo_api::Code;
use ordo_api::upkeep::{Health, HealthStatus};
use ordo_engine::error_chain;

use crate::app::App;
use crate::http::problem::Problem;

/// A store that needs longer to say that it is there is no help to anybody.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn alive() -> Json<Health> {
    Json(Health { status: HealthStatus::Ok })
}

pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if !app.is_ready() {
        return Err(Problem::new(Code::NotReady, "the server is starting or going down"));
    }
    match tokio::time::timeout(STORE_PATIENCE, app.engine.can_write()).await {
        Ok(Ok(())) => Ok(Json(Health { status: HealthStatus::Ready })),
        Ok(Err(fault)) => Err(Problem::new(Code::NotReady, error_chain(&fault))),
        Err(_) => Err(Problem::new(Code::NotReady, "the store does not answer")),
    }
}
