//! Connections that are cut in the middle of commits: what was acknowledged is there once, what was refused is not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::Proxy;
use ordo_model::EntityId;
use ordo_model::testing::seed_or;
use ordo_store::conformance::given::{accept, event, grow, item, job, version};
use ordo_store::{Batch, CommitOutcome, Fault, Item, Position, Store};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};

const WRITERS: u128 = 6;
const TURNS: usize = 40;

/// What one writer knows: events acknowledged, and those of which nothing is known.
#[derive(Debug, Default)]
struct Heard {
    /// With the place in the log that was named.
    acknowledged: Vec<(String, Option<Position>)>,
    unknown: Vec<String>,
}

/// Writes to its own entities, so that every conflict would be a lie: nobody else moves them.
async fn write(store: Arc<PostgresStore>, entity: EntityId) -> Heard {
    let (mut heard, mut version, mut sure) = (Heard::default(), 0, true);
    for turn in 0..TURNS {
        if !sure {
            match store.load(&[entity]).await {
                Ok(found) => version = found[0].as_ref().map_or(0, |snapshot| snapshot.version),
                Err(_) => continue,
            }
        }
        let name = format!("turn-{turn}");
        let batch =
            Batch { items: vec![Item { events: vec![event(&name)], ..item(entity, version) }], chunks: Vec::new() };
        match store.commit(batch).await {
            Ok(outcomes) => match &outcomes[0] {
                CommitOutcome::Committed { version: now, last } => {
                    assert_eq!(*now, version + 1);
                    heard.acknowledged.push((name, last.clone()));
                    (version, sure) = (*now, true);
                }
                other => panic!("{entity} belongs to one writer, but: {other:?}"),
            },
            Err(Fault::Unavailable { .. }) => {
                heard.unknown.push(name);
                sure = false;
            }
            Err(fault) => panic!("{fault:?}"),
        }
    }
    heard
}

async fn story(seed: u64) {
    let server = TestServer::join();
    let proxy = Proxy::before(server.port(), seed).await;
    let schema = server.fresh_url().rsplit_once("schema=").unwrap().1.to_owned();
    let url = server.url_on(proxy.port, &schema);
    let store = Arc::new(PostgresStore::open(&url, PostgresOptions { readers: 3 }).await.unwrap());
    proxy.cut(true);
    let writers: Vec<_> = (1..=WRITERS).map(|number| tokio::spawn(write(store.clone(), job(number)))).collect();
    let mut heard = BTreeMap::new();
    for (number, writer) in (1..).zip(writers) {
        heard.insert(job(number), writer.await.unwrap());
    }
    proxy.cut(false);
    assert!(proxy.cuts() > 20, "the network was too kind: {} cuts", proxy.cuts());
    let acknowledged: usize = heard.values().map(|heard| heard.acknowledged.len()).sum();
    assert!(acknowledged > TURNS, "hardly anything came through: {acknowledged}");
    // Read by a way that nobody cuts.
    let plain = PostgresStore::open(&server.url_on(server.port(), &schema), PostgresOptions::default()).await.unwrap();
    for (entity, heard) in &heard {
        let history = plain.history(*entity, 0, 1_000).await.unwrap();
        let mut there: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &history.events {
            *there.entry(&event.kind).or_default() += 1;
        }
        assert!(there.values().all(|count| *count == 1), "{entity}: something is there twice: {there:?}");
        for (name, position) in &heard.acknowledged {
            let stored = history.events.iter().find(|event| event.kind == *name);
            let stored = stored.unwrap_or_else(|| panic!("{entity}: {name} was acknowledged and is not there"));
            assert_eq!(position.as_ref(), Some(&stored.position), "{entity}: {name}");
        }
        for name in there.keys() {
            let acknowledged = heard.acknowledged.iter().map(|(name, _)| name);
            let known = acknowledged.chain(&heard.unknown).any(|heard| heard == name);
            assert!(known, "{entity}: {name} was refused and is there");
        }
        let loaded = plain.load(&[*entity]).await.unwrap().pop().flatten().map_or(0, |snapshot| snapshot.version);
        assert_eq!(loaded, history.events.len() as u64, "{entity}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_there_once_however_often_the_network_breaks() {
    story(seed_or(0x0bad_cab1e)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn and_again_with_other_luck() {
    story(seed_or(42)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_says_that_the_database_is_away_and_recovers_by_itself() {
    let server = TestServer::join();
    let proxy = Proxy::before(server.port(), 1).await;
    let schema = server.fresh_url().rsplit_once("schema=").unwrap().1.to_owned();
    let store = PostgresStore::open(&server.url_on(proxy.port, &schema), PostgresOptions::default()).await.unwrap();
    grow(&store, job(1), 1).await;
    proxy.away(true);
    let batch = |version| Batch { items: vec![item(job(1), version)], chunks: Vec::new() };
    assert!(matches!(store.commit(batch(1)).await, Err(Fault::Unavailable { .. })));
    assert!(matches!(store.load(&[job(1)]).await, Err(Fault::Unavailable { .. })));
    assert!(matches!(store.ping().await, Err(Fault::Unavailable { .. })));
    proxy.away(false);
    assert_eq!(version(&store, job(1)).await, 1);
    accept(&store, item(job(1), 1)).await;
    store.ping().await.unwrap();
}
