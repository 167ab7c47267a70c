//! A node of the world: a machine on which one process after the other runs.
//!
//! Invariant: at most one generation of a node at a time; a new one begins only when the one before it is over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ordo_engine::{Engine, EngineOptions, PoolSize, PoolSizes, Senders};
use ordo_model::Millis;
use ordo_model::incident::{Escalation, EscalationStep};
use ordo_store::{Fault, Store};
use ordo_store_redb::{RedbOptions, RedbStore};

use super::clock::NodeClock;
use super::cluster::Membership;
use super::facts::Deed;
use super::generation::NodeGeneration;
use super::plan::FaultKind;
use super::scene::{Scene, versions};
use super::senders::{SENDERS, SimSender};
use super::store::NodeStore;
use super::tools::SimTool;
use crate::disk::{Burst, Fused, Plug};

/// So small that worlds meet checkpoints.
const JOURNAL_BYTES: usize = 128 * 1024;
/// The tool that nodes have, in their own group.
pub(crate) const LOCAL_TOOL: &str = "virtual";

pub(crate) struct NodeSlot {
    pub(crate) number: usize,
    pub(crate) scene: Arc<Scene>,
    /// None: this one has a store of its own.
    shared: Option<SharedStore>,
    /// Of the disk under its store, whoever else is on it.
    plug: Mutex<Plug>,
    power_lost: Mutex<bool>,
    /// By how much its clock stands ahead, across its lives.
    ahead_ms: AtomicI64,
    drift: i64,
    current: Mutex<Option<RunningNode>>,
    generations: Mutex<u32>,
}

/// The store that all nodes share, on a disk that fails but is never gone: whose process it is, no node knows.
#[derive(Clone)]
pub(crate) struct SharedStore {
    pub(crate) store: Arc<RedbStore>,
    pub(crate) plug: Plug,
    pub(crate) membership: Arc<Membership>,
}

/// A process that is up.
#[derive(Clone)]
pub(crate) struct RunningNode {
    pub(crate) engine: Engine,
    pub(crate) generation: Arc<NodeGeneration>,
    clock: Arc<NodeClock>,
    pub(crate) store: Arc<RedbStore>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NodeSlot {
    pub(crate) fn new(number: usize, scene: &Arc<Scene>, shared: Option<SharedStore>) -> NodeSlot {
        let drifts = scene.plan.has(FaultKind::ClockDrift);
        let drift = if drifts { scene.between(-300, 300) } else { 0 };
        let skew = if drifts && shared.is_some() { scene.between(-90_000, 90_000) } else { 0 };
        let seed = scene.with_rng(crate::rng::SimRng::draw);
        let plug = shared.as_ref().map_or_else(|| Plug::new(seed), |shared| shared.plug.clone());
        NodeSlot {
            number,
            shared,
            plug: Mutex::new(plug),
            power_lost: Mutex::new(false),
            ahead_ms: AtomicI64::new(skew),
            drift,
            current: Mutex::new(None),
            generations: Mutex::new(0),
            scene: scene.clone(),
        }
    }

    pub(crate) fn running(&self) -> Option<RunningNode> {
        locked(&self.current).clone()
    }

    /// Starts the process, waits for its end, and starts it again, for as long as the world lasts.
    pub(crate) async fn keep(self: Arc<Self>) {
        loop {
            let generation = Arc::new(NodeGeneration::new(self.shared.is_none().then(|| locked(&self.plug).clone())));
            let booted = tokio::select! {
                biased;
                () = generation.ended() => None,
                booted = self.boot(&generation) => Some(booted),
            };
            // A store that cannot be opened in the calm will hardly be a moment later.
            let calm_ms = if matches!(booted, Some(Err(_))) { 20_000 } else { 200 };
            match booted {
                Some(Ok(running)) => {
                    *locked(&self.current) = Some(running.clone());
                    generation.ended().await;
                    *locked(&self.current) = None;
                    running.engine.die();
                }
                Some(Err(fault)) => self.scene.note(format_args!("node {} cannot start: {fault}", self.number)),
                None => {}
            }
            generation.end();
            self.scene.fact(Deed::NodeDown { node: self.number });
            self.scene.trouble(self.scene.mono());
            self.replug();
            let restart_ms =
                if self.scene.is_calm() { calm_ms } else { self.scene.with_rng(|rng| rng.skewed(20, 120_000)) };
            self.scene.sleep(restart_ms).await;
            self.scene.trouble(self.scene.mono());
        }
    }

    /// The disk as the next process finds it.
    fn replug(&self) {
        if self.shared.is_some() {
            return;
        }
        let power_lost = std::mem::take(&mut *locked(&self.power_lost));
        let seed = self.scene.with_rng(crate::rng::SimRng::draw);
        let plug = locked(&self.plug).replug(power_lost, seed);
        if self.scene.strikes(FaultKind::CrashInRecovery, 400) {
            let left = self.scene.with_rng(|rng| rng.skewed(1, 12)) as u32 - 1;
            *locked(&self.power_lost) = self.scene.may(FaultKind::PowerLoss) && self.scene.chance(500);
            let on = if self.scene.chance(500) { Fused::Syncs } else { Fused::Writes };
            self.scene.note(format_args!("the next process dies after {left} of {on:?}"));
            plug.lay_fuse(on, left, Burst::Cut);
        }
        *locked(&self.plug) = plug;
    }

    async fn boot(&self, generation: &Arc<NodeGeneration>) -> Result<RunningNode, Fault> {
        let scene = &self.scene;
        let (store, membership) = match &self.shared {
            Some(shared) => (shared.store.clone(), Some(shared.membership.clone())),
            None => (Arc::new(self.open()?), None),
        };
        generation.alive(scene).await;
        scene.tail(&store);
        let found = versions(&store)?;
        let number = {
            let mut generations = locked(&self.generations);
            *generations += 1;
            *generations
        };
        scene.fact(Deed::NodeUp { node: self.number, generation: number, found });
        let clock = Arc::new(NodeClock::new(scene.clone(), self.ahead_ms.load(Ordering::Relaxed), self.drift));
        let reached: Arc<dyn Store> =
            Arc::new(NodeStore::new(scene.clone(), store.clone(), generation.clone(), membership));
        let tool: Arc<dyn ordo_engine::tool::Tool> =
            Arc::new(SimTool { scene: scene.clone(), generation: generation.clone() });
        let tools = [(LOCAL_TOOL.to_owned(), tool)].into_iter().collect();
        let engine = Engine::start(reached, tools, clock.clone(), self.options(generation)).await?;
        Ok(RunningNode { engine, generation: generation.clone(), clock, store })
    }

    fn open(&self) -> Result<RedbStore, Fault> {
        let options = RedbOptions { journal_bytes: JOURNAL_BYTES, ..RedbOptions::default() };
        locked(&self.plug).open_store(options)
    }

    fn options(&self, generation: &Arc<NodeGeneration>) -> EngineOptions {
        let plan = &self.scene.plan;
        let senders = Senders::default();
        for name in SENDERS {
            senders.register(Arc::new(SimSender { name, scene: self.scene.clone(), generation: generation.clone() }));
        }
        let pool = PoolSize { slots: plan.slots, queue: 20 };
        EngineOptions {
            node: format!("node-{}", self.number),
            tick_rate: Millis::from_ms(plan.tick_ms.unsigned_abs()),
            pools: PoolSizes { fast: pool, slow: pool },
            senders,
            escalations: BTreeMap::from([("default".to_owned(), escalation())]),
            ..EngineOptions::default()
        }
    }

    // --- what befalls it -------------------------------------------------------------------------

    pub(crate) fn crash(&self, power_lost: bool) {
        *locked(&self.power_lost) |= power_lost;
        if let Some(running) = self.running() {
            running.generation.end();
        }
    }

    /// The process dies, or the disk fails, after so many more operations.
    /// A shared store never dies of it: the node does, and the disk fails once.
    pub(crate) fn lay_fuse(&self, on: Fused, left: u32, burst: Burst, power_lost: bool) {
        if self.shared.is_some() && burst == Burst::Cut {
            self.crash(false);
            return locked(&self.plug).lay_fuse(on, left, Burst::Fails { times: 1 });
        }
        *locked(&self.power_lost) |= power_lost;
        locked(&self.plug).lay_fuse(on, left, burst);
    }

    pub(crate) fn heal_disk(&self) {
        locked(&self.plug).clear_fuse();
    }

    pub(crate) fn set_clock(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
        if let Some(running) = self.running() {
            running.clock.set(by_ms);
        }
        if self.shared.is_none() {
            self.scene.clock_set(by_ms);
        }
        self.scene.fact(Deed::ClockSet { node: self.number, by_ms });
    }
}

fn escalation() -> Escalation {
    let step =
        |after, notify: &str| EscalationStep { after: Millis::from_secs(after), notify: notify.into(), via: None };
    Escalation { steps: vec![step(30, "first"), step(60, "second")], ack_timeout: Some(Millis::from_secs(120)) }
}
