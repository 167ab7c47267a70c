//! What nodes publish about themselves.

use ordo_model::Timestamp;
use ordo_store::{Fault, Node, PARTITIONS, Store};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ExecutorLoad, NodeOffer};
use crate::engine::Engine;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    pub api: bool,
    pub timekeeper: bool,
    pub executor: bool,
}

impl Default for Roles {
    fn default() -> Roles {
        Roles { api: true, timekeeper: true, executor: true }
    }
}

impl Roles {
    pub fn names(&self) -> Vec<&'static str> {
        let all = [(self.api, "api"), (self.timekeeper, "timekeeper"), (self.executor, "executor")];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }
}

/// Stands beside a node's heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDetails {
    #[serde(default)]
    pub roles: Roles,
    #[serde(default)]
    pub version: String,
    /// Where its API is reached, if it has one.
    #[serde(default)]
    pub url: Option<String>,
    /// What the executor inside it offers; None: it has none, or does not say.
    #[serde(default)]
    pub executor: Option<NodeOffer>,
    /// It gives back the concurrency keys of attempts that it ends; nodes of earlier versions do not.
    #[serde(default)]
    pub holds_keys: bool,
    /// How its executors are doing; those of which it says nothing count as free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<ExecutorLoad>,
}

impl NodeDetails {
    /// What a node of another version says may be more, or less.
    pub(super) fn of(node: &Node) -> NodeDetails {
        serde_json::from_slice(&node.about).unwrap_or_default()
    }
}

/// A node as people see it.
#[derive(Debug, Clone, Serialize)]
pub struct NodeView {
    pub name: String,
    pub generation: Uuid,
    pub roles: Vec<&'static str>,
    pub version: String,
    pub url: Option<String>,
    /// `alive`, `draining` or `silent`.
    pub state: &'static str,
    pub joined_at: Timestamp,
    pub seen_at: Timestamp,
    /// How many partitions it serves.
    pub partitions: usize,
}

impl Engine {
    /// The nodes that share the store; this one alone where it is a file.
    pub async fn nodes(&self) -> Result<Vec<NodeView>, Fault> {
        let nodes = nodes(self.queries().store().as_ref()).await?;
        Ok(nodes.unwrap_or_else(|| vec![self.alone()]))
    }

    fn alone(&self) -> NodeView {
        let (me, about) = (self.me(), &self.options().about);
        NodeView {
            name: me.executor.clone(),
            generation: me.generation,
            roles: about.roles.names(),
            version: about.version.clone(),
            url: about.url.clone(),
            state: "alive",
            joined_at: self.started_at(),
            seen_at: self.clock().now(),
            partitions: PARTITIONS,
        }
    }

    /// Asks a node to leave new work to the others, or to take some again. None: there are no others.
    pub async fn drain_node(&self, name: &str, draining: bool) -> Result<Option<usize>, Fault> {
        match self.queries().store().cluster() {
            Some(cluster) => cluster.drain(name, draining).await.map(Some),
            None => Ok(None),
        }
    }
}

/// All nodes of a shared store; None where the store has only this one.
async fn nodes(store: &dyn Store) -> Result<Option<Vec<NodeView>>, Fault> {
    let Some(cluster) = store.cluster() else { return Ok(None) };
    let (nodes, leases, now) = (cluster.nodes().await?, cluster.leases().await?, cluster.now().await?);
    let partitions =
        |generation: Uuid| leases.iter().filter(|lease| lease.generation == generation && lease.until > now).count();
    let views = nodes.into_iter().map(|node| {
        let about = NodeDetails::of(&node);
        let state = match (node.is_alive, node.draining) {
            (false, _) => "silent",
            (true, true) => "draining",
            (true, false) => "alive",
        };
        NodeView {
            partitions: partitions(node.generation),
            roles: about.roles.names(),
            version: about.version,
            url: about.url,
            state,
            name: node.name,
            generation: node.generation,
            joined_at: node.joined_at,
            seen_at: node.beat_at,
        }
    });
    Ok(Some(views.collect()))
}
