//! Opening: the layout is made once, by whoever comes first; a newer one is left alone; several stores share a database.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_store::conformance::given::{grow, item, job, version};
use ordo_store::{Batch, EventActor, Fault, Partition, Store};
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

/// A schema as earlier versions made it, with one event of job 1.
async fn made_earlier(url: &str, migrations: &[&str]) {
    let schema = url.rsplit_once("schema=").unwrap().1;
    let layout = migrations.len();
    let begin = format!(
        "CREATE SCHEMA {schema}; CREATE TABLE meta (one smallint PRIMARY KEY, layout integer NOT NULL); \
         INSERT INTO meta VALUES (1, {layout});"
    );
    let partition = Partition::of(job(1)).0;
    let event = format!(
        "INSERT INTO events (partition, number, kind, id, version, at, name, data) \
         VALUES ({partition}, 1, 1, '{id}', 1, 1000, 'e1', ''); UPDATE partitions SET last = 1 WHERE partition = {partition}; \
         INSERT INTO entities (kind, id, partition, version, committed, alarm_rank, state) \
         VALUES (1, '{id}', {partition}, 1, '{id}', 0, '');",
        id = job(1).id
    );
    sql(url, &format!("{begin} {} {event}", migrations.join("\n"))).await;
}

const CONTRACT: &str = include_str!("../migrations/0001_the_contract.sql");
const PARTITIONS: &str = include_str!("../migrations/0002_partitions_and_generations.sql");
const ACTORS: &str = include_str!("../migrations/0003_actors.sql");

#[tokio::test]
async fn what_was_made_before_there_were_tables_takes_no_commit_until_it_is_rebuilt() {
    let server = TestServer::join();
    let url = server.fresh_url();
    made_earlier(&url, &[CONTRACT, PARTITIONS, ACTORS]).await;
    let store = open(&url).await;
    let answer = store.commit(Batch { items: vec![item(job(2), 0)], chunks: Vec::new() }).await;
    let Err(Fault::Damaged { what }) = answer else { panic!("{answer:?}") };
    assert!(what.contains("stop all nodes") && what.contains("ordo store reindex"), "{what}");
    store.clear_derived().await.unwrap();
    store.end_rebuild().await.unwrap();
    grow(&store, job(2), 1).await;
    assert_eq!(store.stats().await.unwrap().format, LAYOUT);
}

#[tokio::test]
async fn an_event_from_before_actors_reads_as_nobody_s() {
    let server = TestServer::join();
    let url = server.fresh_url();
    made_earlier(&url, &[CONTRACT, PARTITIONS]).await;
    let store = open(&url).await;
    store.clear_derived().await.unwrap();
    store.end_rebuild().await.unwrap();
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
    let again = Batch { items: vec![item(job(1), 0)], chunks: Vec::new() };
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
