//! The nodes that share the store: who is there, and asking one to leave its work to the others.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::params::List;
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>) -> Result<Json<List<Value>>, Problem> {
    let nodes = app.engine.nodes().await?;
    let items = nodes.into_iter().map(|node| json!(node)).collect();
    Ok(Json(List { items, next_cursor: None }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DrainForm {
    draining: bool,
}

impl Default for DrainForm {
    fn default() -> DrainForm {
        DrainForm { draining: true }
    }
}

pub(crate) async fn drain(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let DrainForm { draining } = body.parse_or_default()?;
    let Some(heard) = app.engine.drain_node(&name, draining).await? else {
        let detail = "the store has one node, and nobody to leave its work to: stop it instead";
        return Err(Problem::new(Code::MaintenanceRefused, detail));
    };
    match heard {
        0 => Err(Problem::new(Code::NodeNotFound, format!("there is no node {name:?}: see GET /v1/nodes"))),
        _ => Ok(Json(json!({ "name": name, "draining": draining }))),
    }
}
