//! Executors elsewhere: they register, poll, beat and report over a network that loses things, and die now and then.
//!
//! Invariant: an executor begins an attempt once, and goes on reporting it until somebody says that it was heard or that
//! nobody wants to hear it. Evidence outside the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_engine::executors::{Handed, HostError, RemoteReport, RemoteStatus, ReportError, WorkRequest};
use ordo_model::executor::{Offer, Speaker};
use ordo_model::limits::HEARTBEAT;
use ordo_model::{FencingToken, Millis, RunId};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use uuid::Uuid;

use super::facts::{Deed, WorkResult};
use super::node::NodeSlot;
use super::plan::FaultKind;
use super::scene::Scene;
use super::tools::labour;
use super::wire::{Copies, call};

/// The group and the tool of executors elsewhere.
pub(crate) const FAR_GROUP: &str = "far";
pub(crate) const FAR_TOOL: &str = "remote";
const CAPACITY: u32 = 3;
const REPORT_TRIES: u32 = 60;
const WORK: WorkRequest = WorkRequest { max: 2, wait: Millis::from_secs(10), confirms: false };

pub(crate) struct FarExecutor {
    pub(crate) number: usize,
    pub(crate) scene: Arc<Scene>,
    pub(crate) nodes: Vec<Arc<NodeSlot>>,
    pub(crate) dies: Notify,
    /// Until then it reaches nobody.
    pub(crate) cut_off_until: AtomicI64,
    held: Mutex<BTreeMap<(RunId, u64), Grip>>,
}

/// An attempt that it has.
struct Grip {
    cancel: Arc<Notify>,
    task: Option<AbortHandle>,
}

impl FarExecutor {
    pub(crate) fn new(number: usize, scene: &Arc<Scene>, nodes: &[Arc<NodeSlot>]) -> FarExecutor {
        FarExecutor {
            number,
            scene: scene.clone(),
            nodes: nodes.to_vec(),
            dies: Notify::new(),
            cut_off_until: AtomicI64::new(0),
            held: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(RunId, u64), Grip>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let node = self.nodes[self.scene.with_rng(|rng| rng.place(self.nodes.len()))].clone();
            let Some(id) = self.register(&node).await else {
                self.scene.sleep(self.scene.between(500, 3_000)).await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.dies.notified() => {
                    self.forget_all();
                    let gone_ms = if self.scene.is_calm() { 500 } else { self.scene.between(100, 90_000) };
                    self.scene.sleep(gone_ms).await;
                }
                () = self.beat(&node, id) => {}
                () = self.clone().fetch(&node, id) => {}
            }
        }
    }

    /// What the process had is gone with it; nobody reports it.
    fn forget_all(&self) {
        for ((run, token), grip) in std::mem::take(&mut *self.lock()) {
            if let Some(task) = grip.task {
                task.abort();
                self.scene.note(format_args!("executor {} took {run} token {token} with it", self.number));
            }
        }
    }

    async fn reachable(&self) -> bool {
        let until = self.cut_off_until.load(Ordering::Relaxed);
        if !self.scene.is_calm() && until > self.scene.mono() {
            self.scene.sleep((until - self.scene.mono()).min(3_000)).await;
            return false;
        }
        true
    }

    async fn register(&self, node: &Arc<NodeSlot>) -> Option<Uuid> {
        if !self.reachable().await {
            return None;
        }
        let offer = Offer {
            name: format!("far-{}", self.number),
            group: FAR_GROUP.into(),
            tools: BTreeSet::from([FAR_TOOL.to_owned()]),
            capacity: CAPACITY,
            version: None,
        };
        let registered = call(node, Copies::Many, move |engine| {
            let offer = offer.clone();
            Box::pin(async move { engine.register_executor(offer, None).await })
        });
        registered.await?.ok()
    }

    /// Says what it has, again and again; returns when it is not known any more.
    async fn beat(&self, node: &Arc<NodeSlot>, id: Uuid) {
        loop {
            let slow = if self.scene.strikes(FaultKind::SlowExecutor, 50) { 20_000 } else { 0 };
            let every = i64::try_from(HEARTBEAT.ms()).unwrap_or(5_000);
            self.scene.sleep(self.scene.between(every / 2, every) + slow).await;
            if !self.reachable().await {
                continue;
            }
            let runs: Vec<(RunId, FencingToken)> =
                self.lock().keys().map(|(run, token)| (*run, FencingToken(*token))).collect();
            let (named, sent) = (runs.clone(), self.scene.mono());
            let beaten = call(node, Copies::Many, move |engine| {
                let runs = runs.clone();
                Box::pin(async move { engine.heartbeat(Speaker::Admin, id, &runs).await })
            });
            match beaten.await {
                Some(Ok(reply)) => {
                    self.acknowledged(id, sent, named, &reply.lost);
                    self.heed(&reply.cancel);
                }
                Some(Err(HostError::NotThere(_))) => return,
                Some(Err(HostError::Store(_))) | None => {}
            }
        }
    }

    fn acknowledged(&self, by: Uuid, sent: i64, named: Vec<(RunId, FencingToken)>, lost: &[RunId]) {
        let had = named.into_iter().filter(|(run, _)| !lost.contains(run));
        let attempts: Vec<(RunId, u64)> = had.map(|(run, token)| (run, token.0)).collect();
        if !attempts.is_empty() {
            self.scene.fact(Deed::Heartbeat { by, sent, attempts });
        }
    }

    fn heed(&self, cancel: &[RunId]) {
        let deaf = self.scene.strikes(FaultKind::DeafWork, 300);
        for (_, grip) in self.lock().iter().filter(|((run, _), _)| cancel.contains(run) && !deaf) {
            grip.cancel.notify_one();
        }
    }

    /// Asks for work, again and again; returns when it is not known any more.
    async fn fetch(self: Arc<Self>, node: &Arc<NodeSlot>, id: Uuid) {
        loop {
            if !self.reachable().await {
                continue;
            }
            let polled = call(node, Copies::Many, move |engine| {
                Box::pin(async move { engine.poll(Speaker::Admin, id, WORK).await })
            });
            match polled.await {
                Some(Ok(polled)) => {
                    self.heed(&polled.cancel);
                    for handed in polled.handed {
                        self.begin(node, id, &handed);
                    }
                    self.scene.sleep(1).await;
                }
                Some(Err(HostError::NotThere(_))) => return,
                Some(Err(HostError::Store(_))) | None => self.scene.sleep(self.scene.between(100, 1_000)).await,
            }
        }
    }

    fn begin(self: &Arc<Self>, node: &Arc<NodeSlot>, id: Uuid, handed: &Handed) {
        let (run, token) = (handed.assignment.run_id, handed.assignment.token.0);
        let cancel = Arc::new(Notify::new());
        self.lock().insert((run, token), Grip { cancel: cancel.clone(), task: None });
        let (me, node) = (self.clone(), node.clone());
        let task = tokio::spawn(async move {
            let status = me.work(id, run, token, &cancel).await;
            me.report(&node, run, token, status).await;
            me.lock().remove(&(run, token));
        });
        if let Some(grip) = self.lock().get_mut(&(run, token)) {
            grip.task = Some(task.abort_handle());
        }
    }

    async fn work(&self, id: Uuid, run: RunId, token: u64, cancel: &Notify) -> RemoteStatus {
        if !self.scene.is_calm() && self.scene.chance(30) {
            return RemoteStatus::Nack { delay: Millis::from_ms(500), reason: None };
        }
        self.scene.fact(Deed::Executing { by: id, run, token });
        let end = tokio::select! {
            biased;
            () = cancel.notified() => WorkResult::Stopped,
            end = labour(&self.scene, run, token) => end,
        };
        self.scene.fact(Deed::Executed { run, token, end: end.clone() });
        match end {
            WorkResult::Well => RemoteStatus::Completed { result: json!({ "token": token }) },
            WorkResult::Badly(reason) => RemoteStatus::Failed { reason },
            WorkResult::Stopped => RemoteStatus::Cancelled,
        }
    }

    async fn report(&self, node: &Arc<NodeSlot>, run_id: RunId, token: u64, status: RemoteStatus) {
        let report = RemoteReport { run_id, token: FencingToken(token), status };
        for _ in 0..REPORT_TRIES {
            if self.reachable().await {
                let report = report.clone();
                let answered = call(node, Copies::Many, move |engine| {
                    let report = report.clone();
                    Box::pin(async move { engine.report(Speaker::Admin, vec![report]).await })
                });
                match answered.await.and_then(|mut answers| answers.pop()) {
                    Some(Ok(()) | Err(ReportError::Stale | ReportError::NoSuchRun | ReportError::DelayTooLong)) => {
                        return;
                    }
                    Some(Err(ReportError::Submit(_) | ReportError::Store(_))) | None => {}
                }
            }
            self.scene.sleep(self.scene.between(300, 3_000)).await;
        }
    }
}
