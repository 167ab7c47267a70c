//! What all who act in a world share: its time, its chance, and the book of what happened.
//!
//! Invariant: the lock is never held while somebody waits; one thread, so whoever draws next is always the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ordo_model::incident::IncidentEvent;
use ordo_model::{EntityId, JobId, Kind, RunId, Timestamp};
use ordo_store::{Batch, Disposition, NewEvent, Position, Store, StoredEvent};
use ordo_store_redb::RedbStore;
use tokio::time::Instant;

use super::facts::{AnyEvent, Deed, WholeFact, WholeHistory};
use super::plan::{FaultKind, WholePlan};
use crate::actors::ready::ready;
use crate::record::trace::Trace;
use crate::rng::SimRng;

/// Room on both sides of the simulated time, for the oracle's calendar.
const MARGIN_MS: i64 = 2 * 86_400_000;

pub(crate) struct Scene {
    pub(crate) plan: WholePlan,
    begun: Instant,
    is_calm: AtomicBool,
    /// A commit failed, and the log has not been read since: readers may see more of it than is in the book.
    is_behind: AtomicBool,
    ops: AtomicU32,
    state: Mutex<SceneState>,
}

struct SceneState {
    rng: SimRng,
    trace: Trace,
    history: WholeHistory,
    cursor: Position,
    /// The last version of each entity that was read.
    known: BTreeMap<EntityId, u64>,
    /// Events that are replaced by a checkpoint in the very commit that writes them: the log never shows them.
    hidden: BTreeMap<(EntityId, u64), NewEvent>,
    /// What a commit was to take out of the store; whether it did is seen in the store.
    to_be_purged: Vec<EntityId>,
    /// By how much the clock that counts was set.
    ahead_ms: i64,
    runs: Vec<(JobId, RunId)>,
    incidents: Vec<uuid::Uuid>,
}

impl Scene {
    pub(crate) fn new(seed: u64, keep_trace: bool) -> Scene {
        let mut rng = SimRng::new(seed ^ 0x7768_6f6c_6500_0000);
        let plan = WholePlan::draw(&mut rng);
        let history = WholeHistory {
            within: (plan.begin_ms - MARGIN_MS, plan.begin_ms + plan.length_ms + MARGIN_MS),
            tick_ms: plan.tick_ms,
            is_shared: plan.is_shared(),
            is_set_back: plan.has(FaultKind::ClockBack) && !plan.is_shared(),
            ..WholeHistory::default()
        };
        let state = SceneState {
            rng,
            trace: Trace::new(keep_trace),
            history,
            cursor: Position::default(),
            known: BTreeMap::new(),
            hidden: BTreeMap::new(),
            to_be_purged: Vec::new(),
            ahead_ms: 0,
            runs: Vec::new(),
            incidents: Vec::new(),
        };
        let scene = Scene {
            plan,
            begun: Instant::now(),
            is_calm: AtomicBool::new(false),
            is_behind: AtomicBool::new(false),
            ops: AtomicU32::new(0),
            state: Mutex::new(state),
        };
        scene.note(format_args!("{:?}", scene.plan));
        scene
    }

    fn lock(&self) -> MutexGuard<'_, SceneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self) -> (WholeHistory, Trace) {
        let mut state = self.lock();
        state.history.end.mono = self.mono();
        (std::mem::take(&mut state.history), state.trace.clone())
    }

    // --- time -----------------------------------------------------------------------------------

    pub(crate) fn mono(&self) -> i64 {
        i64::try_from(self.begun.elapsed().as_millis()).expect("a short world")
    }

    /// The time that counts where the store is shared: its own.
    pub(crate) fn store_time(&self) -> Timestamp {
        time(self.plan.begin_ms + self.mono())
    }

    pub(crate) async fn sleep(&self, ms: i64) {
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms.unsigned_abs())).await;
        }
    }

    /// Waits up to so long; mostly much shorter.
    pub(crate) async fn dawdle(&self, most_ms: i64) {
        if most_ms > 0 {
            let ms = self.lock().rng.skewed(1, most_ms + 1) - 1;
            self.sleep(ms).await;
        }
    }

    pub(crate) fn be_calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.trouble(self.mono());
        self.fact(Deed::Calm);
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// Whether a fault of this kind may happen now.
    pub(crate) fn may(&self, fault: FaultKind) -> bool {
        !self.is_calm() && self.plan.has(fault)
    }

    /// Whether it happens now: if it may, in `per_mille` of a thousand cases.
    pub(crate) fn strikes(&self, fault: FaultKind, per_mille: u64) -> bool {
        self.may(fault) && self.chance(per_mille)
    }

    // --- chance ---------------------------------------------------------------------------------

    pub(crate) fn with_rng<T>(&self, draw: impl FnOnce(&mut SimRng) -> T) -> T {
        draw(&mut self.lock().rng)
    }

    pub(crate) fn between(&self, low: i64, high: i64) -> i64 {
        self.with_rng(|rng| rng.between(low, high))
    }

    pub(crate) fn chance(&self, per_mille: u64) -> bool {
        self.with_rng(|rng| rng.chance(per_mille))
    }

    pub(crate) fn next_op(&self) -> u32 {
        self.ops.fetch_add(1, Ordering::Relaxed) + 1
    }

    // --- facts ----------------------------------------------------------------------------------

    pub(crate) fn note(&self, text: std::fmt::Arguments<'_>) {
        let mono = self.mono();
        self.lock().trace.line(mono, text);
    }

    pub(crate) fn fact(&self, what: Deed) {
        let mono = self.mono();
        let mut state = self.lock();
        state.trace.line(mono, format_args!("{what:?}"));
        let wall = self.plan.begin_ms + mono + state.ahead_ms;
        state.history.facts.push(WholeFact { mono, wall, what });
    }

    pub(crate) fn trouble(&self, until: i64) {
        self.fact(Deed::Trouble { until });
    }

    /// The clock of the only node was set.
    pub(crate) fn clock_set(&self, by_ms: i64) {
        let mut state = self.lock();
        state.ahead_ms += by_ms;
        state.history.within.1 += by_ms.max(0);
    }

    pub(crate) fn with_history<T>(&self, change: impl FnOnce(&mut WholeHistory) -> T) -> T {
        change(&mut self.lock().history)
    }

    pub(crate) fn some_run(&self) -> Option<(JobId, RunId)> {
        let mut state = self.lock();
        let back = usize::try_from(state.rng.skewed(1, 8)).unwrap_or(1);
        let place = state.runs.len().checked_sub(back)?;
        state.runs.get(place).copied()
    }

    pub(crate) fn some_incident(&self) -> Option<uuid::Uuid> {
        let mut state = self.lock();
        let back = usize::try_from(state.rng.skewed(1, 4)).unwrap_or(1);
        let place = state.incidents.len().checked_sub(back)?;
        state.incidents.get(place).copied()
    }

    // --- the log --------------------------------------------------------------------------------

    /// Reads what is new in the log. A disk that fails just now is read again later; nothing is lost by that.
    pub(crate) fn tail(&self, store: &RedbStore) {
        loop {
            let cursor = self.lock().cursor.clone();
            let Ok(page) = ready(store.events(&cursor, 200)) else { return };
            let Some(last) = page.last() else {
                return self.look_for_the_purged(store);
            };
            self.lock().cursor = last.position.clone();
            for stored in &page {
                self.logged(stored);
            }
        }
    }

    /// A commit failed: what it wrote, if it wrote anything, is read before the next reader is answered.
    pub(crate) fn fall_behind(&self) {
        self.is_behind.store(true, Ordering::Relaxed);
    }

    /// Reads what a failed commit left in the log, if there was one.
    pub(crate) fn catch_up(&self, store: &RedbStore) {
        if self.is_behind.load(Ordering::Relaxed) {
            self.tail(store);
        }
    }

    /// Remembers what a commit is about to write and to replace at once, and what it is to take away.
    pub(crate) fn about_to_write(&self, batch: &Batch) {
        let mut state = self.lock();
        for item in batch.items.iter().filter(|item| item.trim.is_some()) {
            for (event, version) in item.events.iter().zip(item.expected + 1..) {
                state.hidden.insert((item.entity, version), event.clone());
            }
        }
        let purges = batch.items.iter().filter(|item| item.disposition == Disposition::Purge);
        state.to_be_purged.extend(purges.map(|item| item.entity));
    }

    /// At the end of the log: which of those that were to be purged are gone. They may come to be again, from the beginning.
    fn look_for_the_purged(&self, store: &RedbStore) {
        let asked = self.lock().to_be_purged.clone();
        let Ok(found) = ready(store.load(&asked)) else { return };
        self.is_behind.store(false, Ordering::Relaxed);
        self.lock().to_be_purged.clear();
        for (entity, _) in asked.into_iter().zip(found).filter(|(_, snapshot)| snapshot.is_none()) {
            if self.lock().known.remove(&entity).is_some() {
                self.fact(Deed::Purged { entity });
            }
        }
    }

    fn logged(&self, stored: &StoredEvent) {
        let known = self.lock().known.get(&stored.entity).copied().unwrap_or(0);
        if stored.kind != ordo_model::job::Event::CHECKPOINT {
            return self.happened(stored.entity, stored.version, stored.at, &stored.kind, &stored.data);
        }
        for version in known + 1..=stored.version {
            let hidden = self.lock().hidden.remove(&(stored.entity, version));
            if let Some(NewEvent { at, kind, data, .. }) = hidden {
                self.happened(stored.entity, version, at, &kind, &data);
            }
        }
    }

    fn happened(&self, entity: EntityId, version: u64, at: Timestamp, kind: &str, data: &[u8]) {
        let event =
            decode(entity, kind, data).unwrap_or_else(|error| panic!("what is in the log can be read: {error}"));
        {
            let mut state = self.lock();
            state.known.insert(entity, version);
            match &event {
                AnyEvent::Job(event) => {
                    if let ordo_model::job::Event::JobTriggered { run_id, .. } = event.as_ref() {
                        state.runs.push((JobId(entity.id), *run_id));
                    }
                }
                AnyEvent::Incident(event) if matches!(event.as_ref(), IncidentEvent::IncidentStarted { .. }) => {
                    state.incidents.push(entity.id);
                }
                _ => {}
            }
        }
        self.fact(Deed::Logged { entity, version, at: at.ms(), event });
    }
}

pub(crate) fn time(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).expect("simulated time is near ours")
}

fn decode(entity: EntityId, kind: &str, data: &[u8]) -> Result<AnyEvent, serde_json::Error> {
    let data: serde_json::Value = serde_json::from_slice(data)?;
    let form = serde_json::json!({ "type": kind, "data": data });
    Ok(match entity.kind {
        Kind::Job => AnyEvent::Job(serde_json::from_value(form)?),
        Kind::Incident => AnyEvent::Incident(serde_json::from_value(form)?),
        Kind::Monitor => AnyEvent::Monitor(serde_json::from_value(form)?),
        Kind::Notification => AnyEvent::Notification(serde_json::from_value(form)?),
        Kind::Delivery => AnyEvent::Delivery(serde_json::from_value(form)?),
        Kind::Hook
        | Kind::ApiToken
        | Kind::Secret
        | Kind::Executor
        | Kind::Subscription
        | Kind::Silence
        | Kind::Login
        | Kind::EscalationChain
        | Kind::Channel => AnyEvent::Other(kind.to_owned()),
    })
}

/// The version of every entity that has a snapshot.
pub(crate) fn versions(store: &RedbStore) -> Result<BTreeMap<EntityId, u64>, ordo_store::Fault> {
    let entities = ready(store.entities(None, 1_000_000))?;
    Ok(entities.into_iter().map(|(entity, snapshot)| (entity, snapshot.version)).collect())
}
