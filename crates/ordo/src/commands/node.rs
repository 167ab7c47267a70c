//! `ordo node list|drain`

use ordo_api::upkeep::DrainNode;
use serde_json::Value;

use super::find::text;
use super::pages;
use super::talk::CommandSession;
use crate::cli::node::NodeCommand;
use crate::error::{Exit, Result};
use crate::locate::path_segment;
use crate::output::{self, table, time};

pub(crate) async fn run(talk: &CommandSession, command: NodeCommand) -> Result<Exit> {
    match command {
        NodeCommand::List(every) => pages::show_all(talk, "/v1/nodes", every, |nodes| human(talk, nodes)).await,
        NodeCommand::Drain { name, undo } => drain(talk, &name, !undo).await,
    }
}

fn human(talk: &CommandSession, nodes: &[Value]) -> String {
    let row = |node: &Value| {
        let roles: Vec<&str> = node["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let seen = time::of(&node["seen_at"]).map(|at| time::ago(at, talk.now()));
        vec![
            talk.paint.state(&text(node, "state")),
            text(node, "name"),
            roles.join(","),
            node["partitions"].to_string(),
            text(node, "version"),
            seen.unwrap_or_default(),
            text(node, "url"),
        ]
    };
    let names = ["STATE", "NAME", "ROLES", "PARTITIONS", "VERSION", "SEEN", "URL"];
    table::rows(&names, nodes.iter().map(row).collect(), talk.paint)
}

async fn drain(talk: &CommandSession, name: &str, draining: bool) -> Result<Exit> {
    let path = format!("/v1/nodes/{}/drain", path_segment(name));
    let answer = talk.post(&path, &DrainNode { draining }).await?;
    talk.value(&answer, || match draining {
        true => format!("{name} leaves new work to the others; what runs there goes on\n"),
        false => format!("{name} accepts work again\n"),
    })?;
    if draining {
        output::note("stop it when `ordo node list` shows it without partitions");
    }
    Ok(Exit::Done)
}
