//! Lets a whole world happen: sets it up, lets faults strike at their moments, and brings it to its end.
//!
//! Invariant: first everything may go wrong and nothing may be broken by it (safety); then nothing goes wrong any more, and
//! everything must come to its end (liveness).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ordo_store_redb::RedbOptions;

use super::cluster::Membership;
use super::executors::FarExecutor;
use super::node::{NodeSlot, SharedStore};
use super::plan::FaultKind;
use super::scene::Scene;
use super::users::Users;
use super::{ending, senders};
use crate::disk::{Burst, Fused, Plug};

const SECOND: i64 = 1_000;

pub(crate) struct Cast {
    pub(crate) scene: Arc<Scene>,
    pub(crate) nodes: Vec<Arc<NodeSlot>>,
    executors: Vec<Arc<FarExecutor>>,
    pub(crate) users: Arc<Users>,
}

pub(crate) async fn play(scene: &Arc<Scene>) {
    let cast = Arc::new(gather(scene));
    for node in &cast.nodes {
        tokio::spawn(node.clone().keep());
    }
    for executor in &cast.executors {
        tokio::spawn(executor.clone().run());
    }
    cast.users.clone().act().await;
    for (at, fault) in moments(scene) {
        let cast = cast.clone();
        tokio::spawn(async move {
            cast.scene.sleep(at).await;
            cast.strike(fault);
        });
    }
    scene.sleep(scene.plan.length_ms).await;
    ending::close(&cast).await;
}

fn gather(scene: &Arc<Scene>) -> Cast {
    let shared = scene.plan.is_shared().then(|| {
        let plug = Plug::new(scene.with_rng(crate::rng::SimRng::draw));
        let store = plug.open_store(RedbOptions::default()).expect("a disk that does not fail yet");
        SharedStore { store: Arc::new(store), plug, membership: Arc::new(Membership::default()) }
    });
    let nodes: Vec<Arc<NodeSlot>> =
        (1..=scene.plan.nodes).map(|number| Arc::new(NodeSlot::new(number, scene, shared.clone()))).collect();
    let executors =
        (1..=scene.plan.executors).map(|number| Arc::new(FarExecutor::new(number, scene, &nodes))).collect();
    scene.with_history(|history| {
        let waits = senders::retries().0.iter().map(|wait| i64::try_from(wait.ms()).unwrap_or(i64::MAX)).collect();
        history.senders = senders::SENDERS.iter().map(|name| ((*name).to_owned(), Vec::clone(&waits))).collect();
    });
    Cast { users: Arc::new(Users::new(scene, &nodes)), scene: scene.clone(), nodes, executors }
}

/// When which fault strikes; troubles come together.
fn moments(scene: &Scene) -> Vec<(i64, FaultKind)> {
    let kinds: Vec<FaultKind> = FaultKind::MOMENTS.into_iter().filter(|kind| scene.plan.has(*kind)).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let length = scene.plan.length_ms;
    scene.with_rng(|rng| {
        let knots: Vec<i64> = (0..3).map(|_| rng.between(0, length)).collect();
        let mut moments = Vec::new();
        for _ in 0..scene.plan.moments {
            let near = rng.chance(500);
            let at = if near { *rng.pick(&knots) + rng.between(0, 3 * SECOND) } else { rng.between(0, length) };
            moments.push((at, *rng.pick(&kinds)));
        }
        moments
    })
}

impl Cast {
    fn strike(&self, fault: FaultKind) {
        let scene = &self.scene;
        if scene.is_calm() {
            return;
        }
        let node = self.nodes[scene.with_rng(|rng| rng.place(self.nodes.len()))].clone();
        scene.note(format_args!("{fault:?} strikes node {}", node.number));
        let left = scene.with_rng(|rng| rng.skewed(1, 40)) as u32 - 1;
        let on = if scene.chance(600) { Fused::Syncs } else { Fused::Writes };
        let power_lost = scene.may(FaultKind::PowerLoss) && scene.chance(500);
        match fault {
            FaultKind::Crash => node.crash(false),
            FaultKind::PowerLoss => node.crash(true),
            FaultKind::CrashAtDisk => node.lay_fuse(on, left, Burst::Cut, power_lost),
            FaultKind::Pause => self.freeze(&node),
            FaultKind::ClockForward => self.set_clock(&node, scene.with_rng(|rng| rng.skewed(20, 600 * SECOND))),
            FaultKind::ClockBack => self.set_clock(&node, -scene.with_rng(|rng| rng.skewed(20, 300 * SECOND))),
            FaultKind::Partition => self.cut_off(&node),
            FaultKind::StoreError => {
                let times = scene.between(1, 4) as u32;
                node.lay_fuse(on, left % 10, Burst::Fails { times }, false);
            }
            FaultKind::DiskFull => {
                let times = scene.between(4, 40) as u32;
                node.lay_fuse(Fused::Writes, left % 10, Burst::Fails { times }, false);
            }
            FaultKind::SyncError => {
                let bursts = [Burst::Fails { times: 1 }, Burst::DoneButFails, Burst::Loses];
                node.lay_fuse(Fused::Syncs, left % 10, scene.with_rng(|rng| *rng.pick(&bursts)), false);
            }
            FaultKind::ExecutorLoss => self.lose_executor(),
            _ => {}
        }
    }

    fn freeze(&self, node: &NodeSlot) {
        if let Some(running) = node.running() {
            let until = self.scene.mono() + self.scene.with_rng(|rng| rng.skewed(500, 40 * SECOND));
            running.generation.freeze(until);
            self.scene.trouble(until);
        }
    }

    fn set_clock(&self, node: &NodeSlot, by_ms: i64) {
        self.scene.trouble(self.scene.mono() + 3 * SECOND);
        node.set_clock(by_ms);
    }

    /// A node cannot reach the store, or an executor cannot reach anybody.
    fn cut_off(&self, node: &NodeSlot) {
        let until = self.scene.mono() + self.scene.with_rng(|rng| rng.skewed(SECOND, 40 * SECOND));
        if !self.executors.is_empty() && self.scene.chance(500) {
            let executor = &self.executors[self.scene.with_rng(|rng| rng.place(self.executors.len()))];
            executor.cut_off_until.fetch_max(until, Ordering::Relaxed);
        } else if let Some(running) = node.running().filter(|_| self.scene.plan.is_shared()) {
            running.generation.cut_off(until);
            self.scene.trouble(until);
        }
    }

    fn lose_executor(&self) {
        if !self.executors.is_empty() {
            // One that is gone already does not die once more when it is back.
            self.executors[self.scene.with_rng(|rng| rng.place(self.executors.len()))].dies.notify_waiters();
        }
    }
}
