//! The nodes that share the store: who is there, and asking one to leave its work to the others.

use axum::Json;
use axum::extract::{Path, State};
use ordo_api::upkeep::{DrainNode, NodeDescription, NodeDraining};
use ordo_api::{Code, Page};
use ordo_engine::cluster::NodeView;

use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>) -> Result<Json<Page<NodeDescription>>, Problem> {
    Ok(Json(Page::whole(app.engine.nodes().await?.into_iter().map(description).collect())))
}

fn description(node: NodeView) -> NodeDescription {
    NodeDescription {
        name: node.name,
        generation: node.generation,
        roles: node.roles.into_iter().map(str::to_owned).collect(),
        version: node.version,
        url: node.url,
        state: node.state.to_owned(),
        joined_at: node.joined_at,
        seen_at: node.seen_at,
        partitions: node.partitions,
    }
}

pub(crate) async fn drain(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Json<NodeDraining>, Problem> {
    let DrainNode { draining } = body.parse_or_default()?;
    ask(&app, &name, draining).await?;
    Ok(Json(NodeDraining { name, draining }))
}

/// Asks a node to leave new work to the others, or to take some again.
pub(crate) async fn ask(app: &App, name: &str, draining: bool) -> Result<(), Problem> {
    let Some(heard) = app.engine.drain_node(name, draining).await? else {
        let detail = "the store has one node, and nobody to leave its work to: stop it instead";
        return Err(Problem::new(Code::MaintenanceRefused, detail));
    };
    match heard {
        0 => Err(Problem::new(Code::NodeNotFound, format!("there is no node {name:?}: see GET /v1/nodes"))),
        _ => Ok(()),
    }
}
