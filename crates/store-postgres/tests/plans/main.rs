//! The plan of every statement, by its shape, on tables that are large and analysed: by an index, without a look at rows
//! that are not wanted, without a file for sorting. The server writes down each plan as it was executed (auto_explain).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod judge;
mod load;

use std::collections::BTreeMap;

use ordo_model::{JobId, Millis, Timestamp};
use ordo_store::conformance::given::{
    accept, alarm, at, chunk, delete, grow, item, job, no_run_rows, once, purge, put, run_rows, trim,
};
use ordo_store::{
    Batch, Cluster, Direction, DueAlarm, Item, KeyRange, NodeHeartbeat, Partition, Position, Quota, QuotaLimit, Store,
    SubmissionOutcome, Transfer, View,
};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};
use serde_json::Value;
use uuid::Uuid;

const JOBS: u32 = 20_000;
const PAGE: usize = 200;
const RATE: QuotaLimit = QuotaLimit::Rate { at: Timestamp::MAX, per: Millis::from_secs(1), max: 5 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_statement_goes_by_an_index_and_reads_what_it_returns() {
    let server = TestServer::join();
    let url = server.fresh_url();
    drop(PostgresStore::open(&url, PostgresOptions::default()).await.unwrap());
    let schema = url.rsplit_once('=').unwrap().1.to_owned();
    let client = load::connect(&server, "ordo").await;
    client.batch_execute(&format!("SET search_path TO {schema}")).await.unwrap();
    load::fill(&client, JOBS).await;

    let traced = load::traced_role(&client).await;
    let url = url.replace("//ordo@", &format!("//{traced}@"));
    let store = PostgresStore::open(&url, PostgresOptions { readers: 2 }).await.unwrap();
    write(&store).await;
    read(&store).await;
    share(&store).await;
    submitted(&store).await;
    drop(store);

    let plans = executed(&server.log(), &schema);
    let statements: BTreeMap<String, Vec<&Value>> = plans.iter().fold(BTreeMap::new(), |mut known, plan| {
        known.entry(plan["Query Text"].as_str().unwrap().to_owned()).or_insert_with(Vec::new).push(&plan["Plan"]);
        known
    });
    assert!(statements.len() > 40, "only {} statements were seen", statements.len());
    let mut findings = Vec::new();
    for (statement, plans) in &statements {
        plans.iter().for_each(|plan| findings.extend(judge::executed(statement, plan)));
        findings.extend(judge::planned(statement, &load::generic_plan(&client, statement).await));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Each plan that was executed in the schema.
fn executed(log: &str, schema: &str) -> Vec<Value> {
    let plans = log.split("  plan:\n").skip(1);
    let first = |text| serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    let plans: Vec<Value> = plans.filter_map(|text| first(text)?.ok()).collect();
    // Opening makes what is missing with several statements in one.
    let is_one = |plan: &Value| !plan["Query Text"].as_str().unwrap().starts_with("CREATE");
    plans.into_iter().filter(|plan| judge::names_schema(&plan["Plan"], schema) && is_one(plan)).collect()
}

/// Every kind of write.
async fn write(store: &PostgresStore) {
    for number in 1..=30 {
        grow(store, job(number), 12).await;
    }
    let row = |number: u8| put(View::Queue, &[b'q', number], b"value");
    let with_everything = |number: u128| {
        let rows = (0..8).map(row).chain([delete(View::Queue, b"none")]).collect();
        let keys = vec![once(&format!("key-{number}"), 1, 1_000, "value")];
        Item { forget_chunks: vec![Uuid::from_u128(number)], ..item(job(number), 12) }
            .with_rows(rows)
            .with_dedup(keys)
            .with_alarm(Some(alarm(5)))
    };
    for number in 1..=8 {
        let batch = Batch { items: vec![with_everything(number)], chunks: vec![chunk(number, 1, "log")] };
        store.commit(batch).await.unwrap();
    }
    for number in 1..=8 {
        accept(store, item(job(number), 13).with_rows(run_rows(job(number), number, "running", b"run"))).await;
        accept(store, item(job(number), 14).with_rows(run_rows(job(number), number, "completed", b"run"))).await;
        accept(store, item(job(number), 15).with_rows(no_run_rows(job(number), number))).await;
    }
    for number in 1..=8 {
        let limits = [QuotaLimit::Rows { view: View::Queue, max: 50 }, RATE];
        let quotas = limits.map(|limit| Quota { key: vec![b'q', 7], limit }).to_vec();
        accept(
            store,
            item(job(number + 8), 12)
                .with_rows(vec![put(View::Queue, &[b'q', 7, number as u8], b"")])
                .with_quotas(quotas),
        )
        .await;
    }
    for number in 1..=8 {
        accept(store, trim(job(number), 16, 10)).await;
    }
    for number in 1..=4 {
        accept(store, purge(job(number), 16)).await;
    }
}

/// Every kind of read, as pages of lists have them.
async fn read(store: &PostgresStore) {
    let jobs: Vec<_> = (5..25).map(job).collect();
    for _ in 0..7 {
        assert!(store.load(&jobs).await.unwrap().iter().all(Option::is_some));
        assert_eq!(store.history(job(20), 3, 5).await.unwrap().events.len(), 5);
        assert_eq!(store.events(&Position::default(), PAGE).await.unwrap().len(), PAGE);
        assert_eq!(store.entities(Some(job(7)), PAGE).await.unwrap().len(), PAGE);
        assert_eq!(store.streams(Some(job(7)), PAGE).await.unwrap().len(), PAGE);
        let first = store.due(Timestamp::MAX, None, PAGE).await.unwrap();
        assert_eq!(store.due(Timestamp::MAX, first.last().copied(), PAGE).await.unwrap().len(), PAGE);
        for view in load::VIEWS {
            read_view(store, view).await;
        }
        store.chunks(Uuid::from_u128(5), 0, PAGE).await.unwrap();
        store.dedup(b"key-7", at(1)).await.unwrap();
        store.all_chunks(Some((Uuid::from_u128(1), 0)), PAGE).await.unwrap();
        store.all_keys(Some(b"key"), PAGE).await.unwrap();
        assert!(store.forget_dedup(at(5_000), PAGE).await.unwrap() > 0);
        let estimate = store.estimate().await.unwrap();
        let is_near = |number: u64| number > u64::from(JOBS) / 2;
        assert!(is_near(estimate.events) && is_near(estimate.entities) && is_near(estimate.alarms), "{estimate:?}");
        store.ping().await.unwrap();
        store.try_write().await.unwrap();
    }
}

async fn read_view(store: &PostgresStore, view: View) {
    let all = KeyRange::all();
    let some = store.rows(view, &all, Direction::Ascending, PAGE).await.unwrap();
    assert_eq!(some.len(), PAGE, "{view:?}");
    let (low, high) = (some[50].key.clone(), some[150].key.clone());
    let range = KeyRange { from: low.clone(), to: Some(high) };
    for order in [Direction::Ascending, Direction::Descending] {
        assert_eq!(store.rows(view, &range, order, 20).await.unwrap().len(), 20);
        let open = KeyRange { from: low.clone(), to: None };
        assert_eq!(store.rows(view, &open, order, 20).await.unwrap().len(), 20);
        store.rows_of_ranges(view, &[range.clone(), range.clone()], order, 20).await.unwrap();
    }
    store.row(view, &low).await.unwrap().unwrap();
    store.cells(view, &low).await.unwrap();
    let keys: Vec<Vec<u8>> = some.into_iter().map(|row| row.key).collect();
    assert!(store.rows_by_key(view, &keys).await.unwrap().iter().all(Option::is_some));
}

/// What is done with rows of other programs.
async fn submitted(store: &PostgresStore) {
    let queue = store.submissions().unwrap();
    for _ in 0..7 {
        let taken = queue.take(Millis::from_secs(9), 20).await.unwrap();
        assert_eq!(taken.len(), 20);
        let outcome = |number: usize| match number % 3 {
            0 => SubmissionOutcome::Accepted { job: JobId(Uuid::from_u128(1)), run: None },
            1 => SubmissionOutcome::Refused { reason: "no".into() },
            _ => SubmissionOutcome::Postponed { reason: "full".into(), pause: Millis::from_secs(1) },
        };
        let outcomes: Vec<_> = taken.iter().enumerate().map(|(number, row)| (row.id, outcome(number))).collect();
        queue.settle(&outcomes).await.unwrap();
        assert!(queue.status(taken[0].id).await.unwrap().is_some());
        assert!(queue.overdue().await.unwrap() > Millis::from_secs(1));
        assert_eq!(queue.forget(Millis::from_days(1), Millis::from_days(30), 20).await.unwrap(), 40);
    }
}

/// What nodes ask for besides.
async fn share(store: &PostgresStore) {
    let generation = Uuid::from_u128(1);
    let beat = NodeHeartbeat { generation, name: "n".into(), about: b"{}".to_vec(), good_for: Millis::from_secs(9) };
    let half: Vec<Partition> = Partition::all().filter(|partition| partition.0 % 2 == 0).collect();
    for _ in 0..7 {
        store.beat(&beat).await.unwrap();
        store.take_leases(generation, &half, Millis::from_secs(9)).await.unwrap();
        store.leases().await.unwrap();
        let last: Option<DueAlarm> = store.due_in(&half, Timestamp::MAX, None, PAGE).await.unwrap().pop();
        assert_eq!(store.due_in(&half, Timestamp::MAX, last, PAGE).await.unwrap().len(), PAGE);
        // A claim that ends at once: those that others hold are read and left, which is not what is looked at here.
        let swept = store.sweep_overdue(Millis::from_secs(1), Millis::from_ms(0), 20).await.unwrap();
        assert_eq!(swept.len(), 20);
        store.release_leases(generation, &half[..9]).await.unwrap();
        store.now().await.unwrap();
    }
    store.drain("n", true).await.unwrap();
    store.leave(generation).await.unwrap();
}
