//! Whether the process lives, and whether it takes work.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::code::Code;
use crate::problem::Problem;

pub(crate) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Value>, Problem> {
    if !app.is_ready() {
        return Err(Problem::new(Code::NotReady, "the server is starting or going down"));
    }
    if !app.engine.is_reachable() {
        return Err(Problem::new(Code::StoreUnavailable, "the store does not answer; the server goes on trying"));
    }
    Ok(Json(json!({ "status": "ready" })))
}
