//! Proves that everything derived equals what the events say, or makes it so.
//!
//! Invariant: checking reads only; rebuilding writes only what it folded from events.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::job::{Job, Run};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{EntityId, Kind, RunId};
use ordo_store::{Alarm, Fault, Rebuilt, RowWrite, Snapshot, Store, StoredEvent, View};

use crate::commit::change::Change;
use crate::commit::encoding::audit;
use crate::commit::encoding::codec;
use crate::commit::encoding::projection;
use crate::commit::kinds;
use crate::commit::state::EntityState;

const ENTITIES_PER_READ: usize = 500;
const EVENTS_PER_READ: usize = 1_000;
/// A check stops describing after so many differences; it goes on counting.
const DIFFERENCES_SHOWN: usize = 100;

#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    pub entities: u64,
    pub events: u64,
    pub rows: u64,
    pub differences: u64,
    /// The first of them, in words.
    pub shown: Vec<String>,
}

impl CheckReport {
    pub fn is_clean(&self) -> bool {
        self.differences == 0
    }

    fn differ(&mut self, text: String) {
        self.differences += 1;
        if self.shown.len() < DIFFERENCES_SHOWN {
            self.shown.push(text);
        }
    }
}

/// What one stream says.
#[derive(Default)]
struct Folded {
    state: Option<FoldedState>,
    runs: BTreeMap<RunId, Run>,
    /// Those of the audit.
    changes: Vec<RowWrite>,
    events: u64,
}

enum FoldedState {
    Job(Box<Job>),
    Object(Arc<dyn EntityState>),
}

impl FoldedState {
    fn version(&self) -> u64 {
        match self {
            FoldedState::Job(job) => job.version,
            FoldedState::Object(state) => state.version(),
        }
    }

    /// With the usual delay of what waits in the outbox. Another one may be configured, so that the stored alarm is
    /// another: see `waits_in_outbox`.
    fn alarm(&self) -> Option<Alarm> {
        match self {
            FoldedState::Job(job) => job.alarm(OUTBOX_FLUSH_DELAY),
            FoldedState::Object(state) => state.alarm(OUTBOX_FLUSH_DELAY),
        }
    }

    fn waits_in_outbox(&self) -> bool {
        match self {
            FoldedState::Job(job) => !job.outbox.is_empty(),
            FoldedState::Object(state) => {
                let mut change = Change::of(EntityId { kind: Kind::Job, id: uuid::Uuid::nil() });
                state.describe(true, OUTBOX_FLUSH_DELAY, &mut change);
                !change.reconcile.is_empty()
            }
        }
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            FoldedState::Job(job) => codec::encode_job(job),
            FoldedState::Object(state) => state.encode(),
        }
    }

    fn is_like(&self, snapshot: &[u8]) -> Result<bool, Fault> {
        match self {
            FoldedState::Job(job) => Ok(codec::decode_job(snapshot)? == **job),
            FoldedState::Object(state) => state.is_like(snapshot),
        }
    }

    fn rows(&self, has_tables: bool) -> Vec<RowWrite> {
        match self {
            FoldedState::Job(job) => projection::job_rows(job, has_tables),
            FoldedState::Object(state) => state.rows(has_tables),
        }
    }
}

impl Folded {
    fn rows(&self, has_tables: bool) -> Vec<RowWrite> {
        let own = self.state.iter().flat_map(|state| state.rows(has_tables));
        let runs = self.runs.values().flat_map(|run| projection::run_rows(run, has_tables));
        own.chain(runs).chain(self.changes.iter().cloned()).collect()
    }

    fn take(&mut self, event: &StoredEvent) -> Result<(), Fault> {
        self.events += 1;
        self.fold(event)?;
        let change = |state: &dyn EntityState| {
            audit::row(event.entity, event.version, (&event.kind, event.at), &event.actor, state)
        };
        let row = match &self.state {
            Some(FoldedState::Job(job)) => change(job.as_ref()),
            Some(FoldedState::Object(state)) => change(state.as_ref()),
            None => None,
        };
        self.changes.extend(row);
        Ok(())
    }

    fn fold(&mut self, event: &StoredEvent) -> Result<(), Fault> {
        match (event.entity.kind, self.state.take()) {
            (Kind::Job, Some(FoldedState::Job(job))) => self.take_of_job(Some(*job), event),
            (Kind::Job, _) => self.take_of_job(None, event),
            (_, before) => {
                let before = match before {
                    Some(FoldedState::Object(state)) => Some(state),
                    Some(FoldedState::Job(_)) | None => None,
                };
                self.state = Some(FoldedState::Object(kinds::fold(before, event)?));
                Ok(())
            }
        }
    }

    fn take_of_job(&mut self, mut job: Option<Job>, event: &StoredEvent) -> Result<(), Fault> {
        let fresh = job.is_none();
        let moved = codec::fold(&mut job, event)?;
        self.runs.extend(moved.run.map(|run| (run.id, run)));
        if let Some(below) = moved.forgotten_below {
            self.runs.retain(|_, run| run.version >= below || !run.status.is_terminal());
        }
        if let Some(job) = job.as_ref().filter(|_| fresh) {
            self.runs.extend(job.active.iter().map(|run| (run.id, run.view(job))));
        }
        self.state = job.map(|job| FoldedState::Job(Box::new(job)));
        Ok(())
    }
}

/// Compares snapshots, alarms and rows with what the events say. Reports after each entity how many are done.
pub async fn check(store: &dyn Store, progress: &mut (dyn FnMut(u64) + Send)) -> Result<CheckReport, Fault> {
    let mut report = CheckReport::default();
    let mut expected: BTreeMap<View, u64> = BTreeMap::new();
    let mut after = None;
    loop {
        let streams = store.streams(after, ENTITIES_PER_READ).await?;
        let Some(last) = streams.last() else { break };
        after = Some(*last);
        for entity in streams {
            check_stream(store, entity, &mut report, &mut expected).await?;
            progress(report.entities);
        }
    }
    let stats = store.stats().await?;
    if stats.entities != report.entities {
        report.differ(format!("{} snapshots for {} streams", stats.entities, report.entities));
    }
    for (view, count) in stats.rows {
        let wanted = expected.get(&view).copied().unwrap_or(0);
        report.rows += count;
        // What an event says of who changed what outlives the event.
        let is_wrong = if view == View::Audit { count < wanted } else { count != wanted };
        if is_wrong {
            report.differ(format!("{} has {count} rows, the events say {wanted}", view.name()));
        }
    }
    Ok(report)
}

/// What a look at some streams saw. What is written meanwhile may look like a difference: whoever finds one looks again.
#[derive(Debug, Default)]
pub(crate) struct StreamsLook {
    pub(crate) streams: u64,
    /// Those that differ from what is derived of them.
    pub(crate) differing: Vec<EntityId>,
    /// The last of them; None when there are no more.
    pub(crate) last: Option<EntityId>,
}

/// Looks at some streams, those after `after`.
pub(crate) async fn look_at_some(
    store: &dyn Store,
    after: Option<EntityId>,
    limit: usize,
) -> Result<StreamsLook, Fault> {
    let streams = store.streams(after, limit.max(1)).await?;
    let mut look =
        StreamsLook { streams: streams.len() as u64, last: streams.last().copied(), ..StreamsLook::default() };
    for entity in streams {
        if !look_at_one(store, entity).await?.is_clean() {
            look.differing.push(entity);
        }
    }
    Ok(look)
}

pub(crate) async fn look_at_one(store: &dyn Store, entity: EntityId) -> Result<CheckReport, Fault> {
    let (mut report, mut expected) = (CheckReport::default(), BTreeMap::new());
    check_stream(store, entity, &mut report, &mut expected).await?;
    Ok(report)
}

async fn check_stream(
    store: &dyn Store,
    entity: EntityId,
    report: &mut CheckReport,
    expected: &mut BTreeMap<View, u64>,
) -> Result<(), Fault> {
    let folded = fold(store, entity).await?;
    report.entities += 1;
    report.events += folded.events;
    let Some(state) = &folded.state else {
        report.differ(format!("{entity} has no beginning"));
        return Ok(());
    };
    match store.load(&[entity]).await?.pop().flatten() {
        None => report.differ(format!("{entity} has no snapshot")),
        Some(snapshot) => {
            let (stored, folded) = (snapshot.version, state.version());
            if stored != folded {
                report.differ(format!("{entity}: snapshot at version {stored}, events at {folded}"));
            }
            if !state.is_like(&snapshot.state)? {
                report.differ(format!("{entity}: the snapshot differs from the events"));
            }
            // How soon an outbox is looked at is a setting of the process that wrote the alarm.
            if snapshot.alarm != state.alarm() && !(snapshot.alarm.is_some() && state.waits_in_outbox()) {
                report.differ(format!("{entity}: alarm {:?}, the events say {:?}", snapshot.alarm, state.alarm()));
            }
        }
    }
    if let FoldedState::Job(job) = state {
        let kept = folded.runs.values().filter(|run| run.status.is_terminal()).count() as u64;
        if u64::from(job.history.kept) != kept {
            report.differ(format!("{entity}: counts {} runs, the events say {kept}", job.history.kept));
        }
    }
    for row in folded.rows(store.has_tables()) {
        *expected.entry(row.view).or_default() += 1;
        if let Some(what) = difference(store, &row).await? {
            report.differ(format!("{entity}: a row of {} {what}", row.view.name()));
        }
    }
    Ok(())
}

/// How a stored row differs from what the events say, in words.
async fn difference(store: &dyn Store, row: &RowWrite) -> Result<Option<&'static str>, Fault> {
    let found = store.row(row.view, &row.key).await?;
    if found != row.value {
        return Ok(Some(if found.is_none() { "is missing" } else { "differs" }));
    }
    if row.cells.is_empty() {
        return Ok(None);
    }
    let cells = store.cells(row.view, &row.key).await?;
    Ok((cells.as_ref() != Some(&row.cells)).then_some("has columns that differ"))
}

/// Folds one stream from its oldest event to its newest.
async fn fold(store: &dyn Store, entity: EntityId) -> Result<Folded, Fault> {
    let mut folded = Folded::default();
    let mut from = 0;
    loop {
        let history = store.history(entity, from, EVENTS_PER_READ).await?;
        for event in &history.events {
            folded.take(event)?;
            from = event.version + 1;
        }
        if history.events.len() < EVENTS_PER_READ {
            return Ok(folded);
        }
    }
}

/// Drops everything derived and makes it anew from the events.
pub async fn reindex(store: &dyn Store, progress: &mut (dyn FnMut(u64) + Send)) -> Result<u64, Fault> {
    store.clear_derived().await?;
    let (mut after, mut done) = (None, 0);
    loop {
        let streams = store.streams(after, ENTITIES_PER_READ).await?;
        let Some(last) = streams.last() else { break };
        after = Some(*last);
        let mut found = Vec::with_capacity(streams.len());
        for entity in streams {
            found.extend(rebuilt(entity, &fold(store, entity).await?, store.has_tables()));
            done += 1;
        }
        store.rebuild(found).await?;
        progress(done);
    }
    store.end_rebuild().await?;
    Ok(done)
}

fn rebuilt(entity: EntityId, folded: &Folded, has_tables: bool) -> Option<Rebuilt> {
    let state = folded.state.as_ref()?;
    let snapshot = Snapshot { version: state.version(), alarm: state.alarm(), state: state.encode() };
    Some(Rebuilt { entity, snapshot, rows: folded.rows(has_tables) })
}
