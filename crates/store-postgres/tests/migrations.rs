//! Opening: the layout is made once, by whoever comes first; a newer one is left alone; several stores share a database.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_store::conformance::given::{grow, job, version};
use ordo_store::{EventActor, Fault, Store};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{LAYOUT, PostgresOptions, PostgresStore};
use tokio_postgres::NoTls;

async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, PostgresOptions::default()).await.unwrap()
}

/// Speaks to the schema directly.
async fn sql(url: &str, statement: &str) {
    let (place, query) = url.split_once('?').unwrap();
    let schema = query.rsplit_once("schema=").unwrap().1;
    let (client, connection) = tokio_postgres::connect(place, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("SET search_path TO {schema}; {statement}")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_open_an_empty_database_at_once_make_one_layout() {
    let server = TestServer::join();
    let url = server.fresh_url();
    let opening: Vec<_> = (0..6)
        .map(|_| {
            tokio::spawn({
                let url = url.clone();
                async move { open(&url).await }
            })
        })
        .collect();
    for (number, opened) in (1..).zip(opening) {
        let store = opened.await.unwrap();
        grow(&store, job(number), 1).await;
        assert_eq!(store.stats().await.unwrap().format, LAYOUT);
    }
}

#[tokio::test]
async fn a_newer_layout_is_refused_and_left_alone() {
    let server = TestServer::join();
    let url = server.fresh_url();
    drop(open(&url).await);
    sql(&url, "UPDATE meta SET layout = 1000").await;
    let refused = PostgresStore::open(&url, PostgresOptions::default()).await;
    let Err(Fault::Damaged { what }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("layout 1000") && what.contains("newer"), "{what}");
}

#[tokio::test]
async fn an_event_from_before_actors_reads_as_nobody_s() {
    let server = TestServer::join();
    let url = server.fresh_url();
    let store = open(&url).await;
    grow(&store, job(1), 1).await;
    drop(store);
    // As the layout before had it.
    sql(&url, "ALTER TABLE events DROP COLUMN actor; UPDATE meta SET layout = 2").await;
    let store = open(&url).await;
    grow(&store, job(2), 1).await;
    let actor = async |number| store.history(job(number), 1, 1).await.unwrap().events.remove(0).actor;
    assert_eq!((actor(1).await, actor(2).await), (EventActor::Unknown, EventActor::Ordo));
    // And as a node writes that was started before the database was migrated.
    let columns = "partition, number, kind, id, version, at, name, data";
    let copied = "partition, number + 1000, kind, id, version + 1, at, name, data";
    sql(&url, &format!("INSERT INTO events ({columns}) SELECT {copied} FROM events")).await;
    assert_eq!(store.history(job(2), 2, 1).await.unwrap().events.remove(0).actor, EventActor::Unknown);
}

#[tokio::test]
async fn schemas_of_one_database_know_nothing_of_each_other() {
    let server = TestServer::join();
    let (one, two) = (open(&server.fresh_url()).await, open(&server.fresh_url()).await);
    grow(&one, job(1), 2).await;
    assert_eq!((version(&one, job(1)).await, version(&two, job(1)).await), (2, 0));
}

#[tokio::test]
async fn an_event_without_its_snapshot_is_damage_and_stops_nobody_else() {
    let server = TestServer::join();
    let url = server.fresh_url();
    let store = open(&url).await;
    grow(&store, job(1), 1).await;
    sql(&url, "DELETE FROM entities").await;
    let again = ordo_store::Batch { items: vec![ordo_store::conformance::given::item(job(1), 0)], chunks: Vec::new() };
    let answer = store.commit(again).await;
    assert!(matches!(answer, Err(Fault::Damaged { .. })), "{answer:?}");
    grow(&store, job(2), 1).await;
}

#[tokio::test]
async fn a_database_that_is_away_is_unavailable_and_says_so() {
    let away = PostgresStore::open("postgres://ordo@127.0.0.1:1/x?sslmode=disable", PostgresOptions::default()).await;
    assert!(matches!(away, Err(Fault::Unavailable { .. })), "{away:?}");
    let bad = PostgresStore::open("postgres://ordo@127.0.0.1:1/x?sslmode=maybe", PostgresOptions::default()).await;
    let Err(Fault::Misuse { what }) = bad else { panic!("{bad:?}") };
    assert!(what.contains("verify-full"), "{what}");
}
