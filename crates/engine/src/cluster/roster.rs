//! The executors of other nodes: who they are, so that every node means the same ones.
//!
//! Invariant: read from what is durable. A roster that is a second old delays a choice or has it made anew; the version
//! guard of the commit decides what is begun.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ordo_model::Timestamp;
use ordo_model::executor::{Offer, Presence};
use ordo_store::{Fault, Node};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::{ExecutorLoad, NodeDetails};
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
    /// Its node is alive and gives it new work.
    pub is_served: bool,
    /// How it is doing, as its node said then.
    pub load: ExecutorLoad,
    pub said_at: Timestamp,
}

impl ElsewhereExecutor {
    /// Whether it is the same executor, however it is doing.
    pub(crate) fn is_same_as(&self, other: &ElsewhereExecutor) -> bool {
        let of = |one: &ElsewhereExecutor| (one.id, one.is_in_process, one.is_served);
        of(self) == of(other) && self.name == other.name && self.group == other.group && self.tools == other.tools
    }
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
        let nodes = cluster.nodes().await?;
        let spoken = Spoken::of(&nodes);
        let mut elsewhere = spoken.in_process(engine.me().generation);
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
                elsewhere.push(spoken.executor(listed.id, offer, &listed.executor.node));
            }
        }
        engine.registry().set_elsewhere(elsewhere.clone());
        Ok(elsewhere)
    }
}

/// What the nodes said of themselves.
struct Spoken<'a>(Vec<(&'a Node, NodeDetails)>);

impl<'a> Spoken<'a> {
    fn of(nodes: &'a [Node]) -> Spoken<'a> {
        Spoken(nodes.iter().filter(|node| node.is_alive).map(|node| (node, NodeDetails::of(node))).collect())
    }

    /// The executors inside the other nodes.
    fn in_process(&self, me: Uuid) -> Vec<ElsewhereExecutor> {
        let others = self.0.iter().filter(|(node, _)| node.generation != me && !node.draining);
        let inside = others.filter_map(|(node, about)| {
            let NodeOffer { group, tools } = about.executor.clone()?;
            let load = load_of(about, node.generation, u32::MAX);
            let (id, name, said_at) = (node.generation, node.name.clone(), node.beat_at);
            Some(ElsewhereExecutor { id, name, group, tools, is_in_process: true, is_served: true, load, said_at })
        });
        inside.collect()
    }

    /// An executor that talks to the node of this name.
    fn executor(&self, id: Uuid, offer: Offer, node: &str) -> ElsewhereExecutor {
        let Offer { name, group, tools, capacity, .. } = offer;
        let found = self.0.iter().find(|(alive, _)| alive.name == node);
        let is_served = found.is_some_and(|(node, _)| !node.draining);
        let load = found.map(|(_, about)| load_of(about, id, capacity)).unwrap_or_default();
        let said_at = found.map_or(Timestamp::MIN, |(node, _)| node.beat_at);
        ElsewhereExecutor { id, name, group, tools, is_in_process: false, is_served, load, said_at }
    }
}

/// Of whom nothing is said may have come a moment ago.
fn load_of(about: &NodeDetails, id: Uuid, capacity: u32) -> ExecutorLoad {
    let said = about.loads.iter().find(|load| load.id == id).cloned();
    said.unwrap_or_else(|| ExecutorLoad { id, free: capacity, ..ExecutorLoad::default() })
}
