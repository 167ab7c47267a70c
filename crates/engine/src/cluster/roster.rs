//! The executors of other nodes: who they are, so that every node means the same ones.
//!
//! Invariant: read from what is durable. A roster that is a second old delays a choice or has it made anew; the version
//! guard of the commit decides what is begun.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ordo_model::executor::Presence;
use ordo_store::{Cluster, Fault, Node};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::NodeDetails;
use crate::commit::batcher::chain;
use crate::core::Input;
use crate::engine::Engine;

/// How long a roster is good for when others write all the time.
const GOOD_FOR: Duration = Duration::from_millis(250);

/// What the executor inside a node offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOffer {
    pub group: String,
    pub tools: BTreeSet<String>,
}

/// An executor that another node gives work to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElsewhereExecutor {
    /// Its generation.
    pub id: Uuid,
    pub name: String,
    pub group: String,
    pub tools: BTreeSet<String>,
    /// It is the process of that node.
    pub is_in_process: bool,
}

#[derive(Clone)]
pub(crate) struct Roster {
    engine: Engine,
    wanted: Arc<Notify>,
    /// One look at a time, and its result is passed on before the next: an older list must not replace a newer one.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Roster {
    pub(crate) fn new(engine: Engine) -> Roster {
        Roster { engine, wanted: Arc::default(), turn: Arc::default() }
    }

    /// Something changed somewhere: look soon.
    pub(crate) fn nudge(&self) {
        self.wanted.notify_one();
    }

    pub(crate) async fn run(self) {
        loop {
            self.wanted.notified().await;
            let turn = self.turn.lock().await;
            if let Some(elsewhere) = self.found().await {
                self.engine.send_input(Input::Elsewhere(elsewhere));
            }
            drop(turn);
            tokio::time::sleep(GOOD_FOR).await;
        }
    }

    /// Whoever calls the roll is answered by what is durable then. Calls that come together are one.
    pub(crate) async fn answer(self, mut calls: mpsc::UnboundedReceiver<()>) {
        while calls.recv().await.is_some() {
            while calls.try_recv().is_ok() {}
            let turn = self.turn.lock().await;
            let elsewhere = self.found().await;
            if elsewhere.is_none() {
                tokio::time::sleep(GOOD_FOR).await;
            }
            self.engine.send_input(Input::RollCalled(elsewhere));
            drop(turn);
        }
    }

    async fn found(&self) -> Option<Vec<ElsewhereExecutor>> {
        let found = self.look().await;
        found
            .inspect_err(|fault| {
                tracing::warn!(error = %chain(fault), "the executors of other nodes could not be looked up");
            })
            .ok()
    }

    async fn look(&self) -> Result<Vec<ElsewhereExecutor>, Fault> {
        let engine = &self.engine;
        let store = engine.queries().store().clone();
        let Some(cluster) = store.cluster() else { return Ok(Vec::new()) };
        // Nobody comes or goes here while the list is read: it would be older than what is known.
        let _turn = engine.registry().registering().await;
        let mut elsewhere = in_process(cluster, engine.me().generation).await?;
        let listed = engine.executors().await?;
        let there = listed.iter().filter(|listed| listed.executor.is_there()).map(|listed| listed.id);
        engine.let_go_of_all_but(&there.collect());
        for listed in listed {
            if listed.executor.node == engine.me().executor {
                engine.follow_drain(listed.id, &listed.executor.presence);
                continue;
            }
            engine.let_move(listed.id, &listed.executor.node);
            let offer = listed.executor.offer;
            // One whose node is dead goes to another within its lease.
            if listed.executor.presence == Presence::Alive {
                let (name, group, tools) = (offer.name, offer.group, offer.tools);
                elsewhere.push(ElsewhereExecutor { id: listed.id, name, group, tools, is_in_process: false });
            }
        }
        engine.registry().set_elsewhere(elsewhere.clone());
        Ok(elsewhere)
    }
}

/// The executors inside the other nodes.
async fn in_process(cluster: &dyn Cluster, me: Uuid) -> Result<Vec<ElsewhereExecutor>, Fault> {
    let nodes = cluster.nodes().await?;
    let others = nodes.iter().filter(|node| node.generation != me && node.is_alive && !node.draining);
    Ok(others.filter_map(offered).collect())
}

fn offered(node: &Node) -> Option<ElsewhereExecutor> {
    let NodeOffer { group, tools } = NodeDetails::of(node).executor?;
    Some(ElsewhereExecutor { id: node.generation, name: node.name.clone(), group, tools, is_in_process: true })
}
