//! One history, made up from a seed, played on the embedded store and on PostgreSQL: the same answers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::EntityId;
use ordo_model::job::RunStatus;
use ordo_model::testing::proptest_config;
use ordo_store::conformance::given::{
    alarm, at, chunk, delete, event, item, job, job_rows, no_run_rows, once, purge, put, run_rows, trim,
};
use ordo_store::{
    Batch, CommitOutcome, Direction, EventActor, Item, JOB_STATES, KeyRange, NewEvent, Position, Snapshot, Store, View,
};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};
use ordo_store_redb::RedbStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use uuid::Uuid;

const ENTITIES: u128 = 4;
/// Views whose rows only the engine understands.
const OPAQUE: [View; 4] = [View::JobsByLabel, View::Queue, View::Retention, View::Index];

/// What may happen to one entity; versions are guessed, so that some are refused.
#[derive(Debug, Clone)]
enum StoreStep {
    Append {
        entity: u128,
        off: u64,
        events: usize,
        alarm: Option<i64>,
        rows: Vec<(usize, u8, bool)>,
        run: Option<(u128, Option<usize>)>,
        state: Option<usize>,
        key: Option<(u8, i64)>,
    },
    Trim {
        entity: u128,
        off: u64,
        through: u64,
    },
    Purge {
        entity: u128,
        off: u64,
        owner: u128,
    },
    Chunk {
        owner: u128,
        seq: u64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Vec<StoreStep>>> {
    let entity = 1..=ENTITIES;
    let off = prop_oneof![9 => Just(0u64), 1 => 1..3u64];
    let rows = prop::collection::vec((0..OPAQUE.len(), 0..6u8, any::<bool>()), 0..3);
    let run = prop::option::of((0..3u128, prop::option::weighted(0.8, 0..RunStatus::NAMES.len())));
    let state = prop::option::of(0..JOB_STATES.len());
    let key = prop::option::weighted(0.2, (0..3u8, 0..200i64));
    let step = prop_oneof![
        8 => (entity.clone(), off.clone(), 0..4usize, prop::option::of(0..500i64), rows, run, state, key).prop_map(
            |(entity, off, events, alarm, rows, run, state, key)| StoreStep::Append { entity, off, events, alarm, rows, run, state, key }
        ),
        2 => (entity.clone(), off.clone(), 0..8u64).prop_map(|(entity, off, through)| StoreStep::Trim { entity, off, through }),
        1 => (entity, off, 1..4u128).prop_map(|(entity, off, owner)| StoreStep::Purge { entity, off, owner }),
        2 => (1..4u128, 0..5u64).prop_map(|(owner, seq)| StoreStep::Chunk { owner, seq }),
    ];
    prop::collection::vec(prop::collection::vec(step, 1..8), 1..12)
}

/// The event by one or another.
fn by(event: NewEvent, which: usize) -> NewEvent {
    let actor = match which % 3 {
        0 => EventActor::Ordo,
        1 => EventActor::Unknown,
        _ => EventActor::Recorded(event.kind.as_bytes().into()),
    };
    NewEvent { actor, ..event }
}

/// A batch of these steps, given the versions as they will be if all of it is accepted.
fn batch(steps: &[StoreStep], versions: &mut [u64; ENTITIES as usize + 1], turn: usize) -> Batch {
    let mut batch = Batch::default();
    for (place, step) in steps.iter().enumerate() {
        match step.clone() {
            StoreStep::Append { entity, off, events, alarm: moment, rows, run, state, key } => {
                let version = &mut versions[entity as usize];
                let events = if *version == 0 { events.max(1) } else { events };
                let mut new = item(job(entity), *version + off).with_alarm(moment.map(alarm));
                let named = |number| event(&format!("e{turn}-{place}-{number}"));
                new.events = (0..events).map(|number| by(named(number), turn + number)).collect();
                let row = |(view, key, keep): (usize, u8, bool)| match keep {
                    true => put(OPAQUE[view], &[entity as u8, key], &[turn as u8]),
                    false => delete(OPAQUE[view], &[entity as u8, key]),
                };
                new.rows = rows.into_iter().map(row).collect();
                // A run belongs to one job.
                new.rows.extend(run.into_iter().flat_map(|(number, status)| match status {
                    Some(code) => run_rows(job(entity), entity * 10 + number, RunStatus::NAMES[code], &[turn as u8]),
                    None => no_run_rows(job(entity), entity * 10 + number),
                }));
                new.rows.extend(state.into_iter().flat_map(|code| job_rows(job(entity), JOB_STATES[code])));
                new.dedup = key
                    .map(|(key, now)| once(&key.to_string(), now, now + 50, &format!("{turn}")))
                    .into_iter()
                    .collect();
                *version += events as u64;
                batch.items.push(new);
            }
            StoreStep::Trim { entity, off, through } => {
                let version = versions[entity as usize];
                if version > 0 {
                    batch.items.push(trim(job(entity), version + off, through.min(version + off)));
                }
            }
            StoreStep::Purge { entity, off, owner } => {
                let version = &mut versions[entity as usize];
                let gone = Item { forget_chunks: vec![Uuid::from_u128(owner)], ..purge(job(entity), *version + off) };
                *version = 0;
                batch.items.push(gone);
            }
            StoreStep::Chunk { owner, seq } => batch.chunks.push(chunk(owner, seq, &format!("{turn}-{place}"))),
        }
    }
    batch
}

/// Positions are the driver's own.
fn described(outcomes: Vec<CommitOutcome>) -> Vec<String> {
    let tell = |outcome| match outcome {
        CommitOutcome::Committed { version, last } => format!("committed {version}, {}", last.is_some()),
        CommitOutcome::Conflict { actual } => format!("conflict {actual}"),
        CommitOutcome::Duplicate { key, value } => format!("duplicate {key:?} {value:?}"),
        CommitOutcome::Exhausted { key, until } => format!("exhausted {key:?} {until:?}"),
    };
    outcomes.into_iter().map(tell).collect()
}

type ReadAnswers = (EntityId, u64, String, Vec<u8>, EventActor);

/// Everything a store can be asked, without positions.
#[derive(Debug, PartialEq)]
struct Contents {
    snapshots: Vec<(EntityId, Snapshot)>,
    streams: Vec<EntityId>,
    histories: Vec<(u64, Vec<ReadAnswers>)>,
    log: Vec<ReadAnswers>,
    due: Vec<ordo_store::DueAlarm>,
    rows: Vec<Vec<ordo_store::Row>>,
    runs_of_jobs: Vec<Vec<ordo_store::Row>>,
    chunks: Vec<Vec<ordo_store::Chunk>>,
    dedup: Vec<Option<Vec<u8>>>,
    counts: (u64, u64, u64, u64, Vec<(View, u64)>),
}

async fn contents(store: &dyn Store) -> Contents {
    let tell = |event: ordo_store::StoredEvent| (event.entity, event.version, event.kind, event.data, event.actor);
    let mut histories = Vec::new();
    for number in 1..=ENTITIES {
        let history = store.history(job(number), 0, 1_000).await.unwrap();
        histories.push((history.oldest, history.events.into_iter().map(tell).collect()));
    }
    let mut log: Vec<ReadAnswers> =
        store.events(&Position::default(), 10_000).await.unwrap().into_iter().map(tell).collect();
    // Stable: events of one entity keep the order in which they came.
    log.sort_by_key(|(entity, ..)| *entity);
    let (mut rows, mut chunks, mut dedup) = (Vec::new(), Vec::new(), Vec::new());
    for view in View::ALL {
        rows.push(store.rows(view, &KeyRange::all(), Direction::Descending, 1_000).await.unwrap());
    }
    let jobs: Vec<KeyRange> = (1..=ENTITIES).map(|number| KeyRange::prefix(job(number).id.as_bytes())).collect();
    let runs_of_jobs = store.rows_of_ranges(View::RunsByJob, &jobs, Direction::Descending, 2).await.unwrap();
    for owner in 1..4 {
        chunks.push(store.chunks(Uuid::from_u128(owner), 0, 100).await.unwrap());
    }
    for key in 0..3u8 {
        dedup.push(store.dedup(key.to_string().as_bytes(), at(100)).await.unwrap());
    }
    let stats = store.stats().await.unwrap();
    Contents {
        snapshots: store.entities(None, 100).await.unwrap(),
        streams: store.streams(None, 100).await.unwrap(),
        histories,
        log,
        due: store.due(at(10_000), None, 100).await.unwrap(),
        rows,
        runs_of_jobs,
        chunks,
        dedup,
        counts: (stats.events, stats.entities, stats.alarms, stats.chunks, stats.rows),
    }
}

async fn play(history: &[Vec<StoreStep>], server: &TestServer) {
    let redb = RedbStore::in_memory().unwrap();
    let postgres = PostgresStore::open(&server.fresh_url(), PostgresOptions { readers: 2 }).await.unwrap();
    let mut versions = [0; ENTITIES as usize + 1];
    for (turn, steps) in history.iter().enumerate() {
        let batch = batch(steps, &mut versions, turn);
        let (here, there) = (redb.commit(batch.clone()).await.unwrap(), postgres.commit(batch).await.unwrap());
        assert_eq!(described(here), described(there), "turn {turn}");
        for number in 1..=ENTITIES {
            let found = redb.load(&[job(number)]).await.unwrap().pop().flatten();
            versions[number as usize] = found.map_or(0, |snapshot| snapshot.version);
        }
    }
    assert_eq!(contents(&redb).await, contents(&postgres).await);
}

#[test]
fn one_history_on_two_stores_gives_the_same_answers() {
    let server = TestServer::join();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config { cases: 48, ..proptest_config() });
    let played = runner.run(&steps(), |history| {
        let play = std::panic::AssertUnwindSafe(|| runtime.block_on(play(&history, &server)));
        std::panic::catch_unwind(play).map_err(|_| TestCaseError::fail("the stores differ"))
    });
    played.unwrap();
}
