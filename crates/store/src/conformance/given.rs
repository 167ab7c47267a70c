//! What the cases are written with: entities, events, items, short and always the same.
//!
//! Invariant: everything follows from small numbers; two calls with the same numbers are equal.

use ordo_model::job::RunStatus;
use ordo_model::{EntityId, Kind, Timestamp};
use uuid::Uuid;

use crate::{
    Alarm, Batch, CellType, Chunk, CommitOutcome, Dedup, Disposition, DueAlarm, EventActor, Item, JOB_STATES, NewEvent,
    Quota, RowWrite, Store, TableCell, TableColumn, Trim, Version, View,
};

pub fn job(number: u128) -> EntityId {
    EntityId { kind: Kind::Job, id: Uuid::from_u128(number) }
}

pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).unwrap()
}

pub fn event(name: &str) -> NewEvent {
    let data = format!("{{\"event\":\"{name}\"}}").into_bytes();
    NewEvent { at: at(1_000), kind: name.to_owned(), data, actor: EventActor::Ordo }
}

pub fn alarm(ms: i64) -> Alarm {
    Alarm { at: at(ms), rank: 5 }
}

/// An item with one event named after the version it makes.
pub fn item(entity: EntityId, expected: Version) -> Item {
    let name = format!("e{}", expected + 1);
    Item {
        entity,
        expected,
        events: vec![event(&name)],
        disposition: Disposition::Keep { snapshot: name.into_bytes(), alarm: None },
        rows: Vec::new(),
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

pub fn purge(entity: EntityId, expected: Version) -> Item {
    Item { disposition: Disposition::Purge, events: Vec::new(), ..item(entity, expected) }
}

pub fn trim(entity: EntityId, expected: Version, through: Version) -> Item {
    let trim = Some(Trim { through, checkpoint: event("checkpoint") });
    Item { events: Vec::new(), trim, ..item(entity, expected) }
}

pub fn put(view: View, key: &[u8], value: &[u8]) -> RowWrite {
    RowWrite::put(view, key.to_vec(), value.to_vec())
}

pub fn delete(view: View, key: &[u8]) -> RowWrite {
    RowWrite::delete(view, key.to_vec())
}

/// A run of a job with everything that follows from it, whatever it was before.
pub fn run_rows(job: EntityId, run: u128, status: &str, value: &[u8]) -> Vec<RowWrite> {
    let mut rows = no_run_rows(job, run);
    rows.retain(|row| row.view == View::RunsByStatus);
    let id = Uuid::from_u128(run);
    let row = RowWrite::put(View::Runs, id.as_bytes().to_vec(), value.to_vec());
    rows.push(RowWrite { cells: run_cells(job, status), ..row });
    rows.push(RowWrite::put(View::RunsByJob, [*job.id.as_bytes(), *id.as_bytes()].concat(), Vec::new()));
    let code = RunStatus::code_of(status).unwrap();
    if status != "completed" {
        rows.push(RowWrite::put(View::RunsByStatus, by_status(code, run), Vec::new()));
    }
    rows
}

/// What takes a run away, with everything that follows from it.
pub fn no_run_rows(job: EntityId, run: u128) -> Vec<RowWrite> {
    let id = Uuid::from_u128(run);
    let statuses =
        (0u8..).zip(RunStatus::NAMES).map(|(code, _)| RowWrite::delete(View::RunsByStatus, by_status(code, run)));
    let by_job = RowWrite::delete(View::RunsByJob, [*job.id.as_bytes(), *id.as_bytes()].concat());
    statuses.chain([by_job, RowWrite::delete(View::Runs, id.as_bytes().to_vec())]).collect()
}

/// The key of a run under the code of its status.
pub fn by_status(code: u8, run: u128) -> Vec<u8> {
    [&[code], Uuid::from_u128(run).as_bytes().as_slice()].concat()
}

/// In the order of the columns of runs.
pub fn run_cells(job: EntityId, status: &str) -> Vec<TableCell> {
    let cell = |column: &TableColumn| match (column.name, column.cell_type) {
        ("job_id", _) => TableCell::Id(job.id),
        ("status", _) => TableCell::text(status),
        ("reason" | "executor" | "skipped_to" | "skipped_count" | "parent_id", _) => TableCell::Null,
        (name, CellType::Text) => TableCell::text(name),
        (_, CellType::Time) => TableCell::Time(at(1_500)),
        (_, CellType::Integer) => TableCell::Integer(-7),
        (_, CellType::Id) => TableCell::Id(Uuid::from_u128(9)),
    };
    View::Runs.columns().iter().map(cell).collect()
}

/// The row of a job, and its row under its state, whatever that was before.
pub fn job_rows(job: EntityId, state: &str) -> Vec<RowWrite> {
    let by_state = |code: u8| [&[code], job.id.as_bytes().as_slice()].concat();
    let cell = |column: &TableColumn| match (column.name, column.cell_type) {
        ("state", _) => TableCell::text(state),
        (name, CellType::Text) => TableCell::text(name),
        (_, CellType::Time) => TableCell::Time(at(1_500)),
        (_, CellType::Integer) => TableCell::Integer(5),
        (_, CellType::Id) => TableCell::Null,
    };
    let row = RowWrite::put(View::Jobs, job.id.as_bytes().to_vec(), Vec::new());
    let mut rows = vec![RowWrite { cells: View::Jobs.columns().iter().map(cell).collect(), ..row }];
    for (code, name) in (0u8..).zip(JOB_STATES) {
        rows.push(RowWrite {
            value: (name == state).then(Vec::new),
            ..RowWrite::delete(View::JobsByState, by_state(code))
        });
    }
    rows
}

/// Taken at `now`, good until `until`.
pub fn once(key: &str, now: i64, until: i64, value: &str) -> Dedup {
    Dedup { key: key.into(), at: at(now), until: at(until), value: value.into() }
}

pub fn chunk(owner: u128, seq: u64, text: &str) -> Chunk {
    Chunk { owner: Uuid::from_u128(owner), seq, bytes: text.into() }
}

impl Item {
    #[must_use]
    pub fn with_alarm(mut self, alarm: Option<Alarm>) -> Item {
        if let Disposition::Keep { alarm: slot, .. } = &mut self.disposition {
            *slot = alarm;
        }
        self
    }

    #[must_use]
    pub fn with_rows(self, rows: Vec<RowWrite>) -> Item {
        Item { rows, ..self }
    }

    #[must_use]
    pub fn with_dedup(self, dedup: Vec<Dedup>) -> Item {
        Item { dedup, ..self }
    }

    #[must_use]
    pub fn with_quotas(self, quotas: Vec<Quota>) -> Item {
        Item { quotas, ..self }
    }
}

/// Commits the items as one batch.
pub async fn commit(store: &dyn Store, items: Vec<Item>) -> Vec<CommitOutcome> {
    store.commit(Batch { items, chunks: Vec::new() }).await.unwrap()
}

/// Commits one item that must be accepted; returns the new version.
pub async fn accept(store: &dyn Store, item: Item) -> Version {
    match commit(store, vec![item]).await.as_slice() {
        [CommitOutcome::Committed { version, .. }] => *version,
        other => panic!("not committed: {other:?}"),
    }
}

/// A stream with this many events, each with its own commit.
pub async fn grow(store: &dyn Store, entity: EntityId, events: Version) {
    for expected in 0..events {
        accept(store, item(entity, expected)).await;
    }
}

pub async fn version(store: &dyn Store, entity: EntityId) -> Version {
    store.load(&[entity]).await.unwrap()[0].as_ref().map_or(0, |snapshot| snapshot.version)
}

/// The kinds of a stream's events.
pub async fn kinds(store: &dyn Store, entity: EntityId) -> Vec<String> {
    let history = store.history(entity, 0, 1_000).await.unwrap();
    history.events.into_iter().map(|event| event.kind).collect()
}

/// All alarms there are.
pub async fn due(store: &dyn Store) -> Vec<DueAlarm> {
    store.due(Timestamp::MAX, None, 1_000).await.unwrap()
}

/// All positions in the log.
pub async fn positions(store: &dyn Store) -> Vec<String> {
    let events = store.events(&Default::default(), 10_000).await.unwrap();
    events.into_iter().map(|event| event.position.0).collect()
}
