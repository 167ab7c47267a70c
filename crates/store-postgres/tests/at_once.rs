//! What a commit costs in statements: one, unless something speaks against it; and what speaks against it is found out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::Timestamp;
use ordo_store::conformance::given::{alarm, at, chunk, commit, item, job, job_rows, once, put, run_rows, trim};
use ordo_store::{Batch, CommitOutcome, Direction, Item, KeyRange, Position, Store, View};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// A store of which the server writes down every statement.
struct Traced {
    server: TestServer,
    store: PostgresStore,
    role: String,
    client: Client,
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Traced {
    async fn open() -> Traced {
        let server = TestServer::join();
        let url = server.fresh_url();
        drop(PostgresStore::open(&url, PostgresOptions::default()).await.unwrap());
        let role = format!("counted_{}", Uuid::new_v4().simple());
        let client = connect(url.split_once('?').unwrap().0).await;
        let set = [("log_statement", "all"), ("log_min_messages", "log")];
        let mut statements = format!("CREATE ROLE {role} SUPERUSER LOGIN;");
        for (setting, value) in set {
            statements.push_str(&format!("ALTER ROLE {role} SET {setting} = '{value}';"));
        }
        client.batch_execute(&statements).await.unwrap();
        let url = url.replace("//ordo@", &format!("//{role}@"));
        let store = PostgresStore::open(&url, PostgresOptions { readers: 1 }).await.unwrap();
        Traced { server, store, role, client }
    }

    /// The statements of a commit, each by its first words.
    async fn statements_of(&self, batch: Batch) -> (Vec<CommitOutcome>, Vec<String>) {
        let before = self.server.log().len();
        let outcomes = self.store.commit(batch).await.unwrap();
        let log = self.server.log();
        // The server writes down those of other tests too.
        let asked = format!("SELECT '[' || pid || '] LOG:  ' FROM pg_stat_activity WHERE usename = '{}'", self.role);
        let own: Vec<String> = self.client.query(&asked, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        let told = log[before..].lines().filter_map(|line| own.iter().find_map(|own| line.split_once(own.as_str())));
        let is_statement = |kind: &str| kind == "statement" || kind.starts_with("execute");
        let texts = told.filter_map(|(_, told)| told.split_once(": ").filter(|(kind, _)| is_statement(kind)));
        let first = |(_, text): (&str, &str)| text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        (outcomes, texts.map(first).collect())
    }
}

fn batch(items: Vec<Item>) -> Batch {
    Batch { items, chunks: Vec::new() }
}

/// What a job that is fired has: rows that are new, rows that change, a run, an alarm, a key.
fn full(number: u128, expected: u64) -> Item {
    let mut rows = run_rows(job(number), number, "running", b"run");
    rows.extend(job_rows(job(number), "active"));
    rows.push(put(View::Queue, &[b'q', number as u8], b"value"));
    rows.push(put(View::Retention, &[b'r', number as u8], b""));
    let key = once(&format!("key-{number}"), 1, 1_000, "first");
    item(job(number), expected).with_rows(rows).with_dedup(vec![key]).with_alarm(Some(alarm(7)))
}

#[tokio::test]
async fn a_commit_is_one_statement() {
    let traced = Traced::open().await;
    let schedule =
        || Batch { items: (1..=9).map(|number| full(number, 0)).collect(), chunks: vec![chunk(1, 1, "log")] };
    let (outcomes, statements) = traced.statements_of(schedule()).await;
    assert_eq!(statements, ["WITH w"], "{}", traced.role);
    let numbered = traced.store.events(&Position::default(), 100).await.unwrap();
    for (number, outcome) in (1..).zip(&outcomes) {
        let CommitOutcome::Committed { version: 1, last: Some(last) } = outcome else { panic!("{outcome:?}") };
        let history = traced.store.history(job(number), 1, 9).await.unwrap();
        assert_eq!(*last, history.events[0].position, "the place that is named is that of the event");
    }
    assert_eq!(numbered.len(), 9);
    let finish = |number| item(job(number), 1).with_rows(job_rows(job(number), "finished"));
    let (_, statements) = traced.statements_of(batch((1..=9).map(finish).collect())).await;
    assert_eq!(statements, ["WITH w"]);
    assert_eq!(traced.store.due(Timestamp::MAX, None, 99).await.unwrap().len(), 0, "the alarms went");
    let queue = traced.store.rows(View::Queue, &KeyRange::all(), Direction::Ascending, 99).await.unwrap();
    assert_eq!(queue.len(), 9);
}

#[tokio::test]
async fn a_refused_item_keeps_no_other_from_being_written() {
    let traced = Traced::open().await;
    commit(&traced.store, vec![full(1, 0), item(job(2), 0)]).await;
    // A version that others have passed, one that is there already, a key that is taken, and one that is right.
    let taken = item(job(3), 0).with_dedup(vec![once("key-1", 2, 1_000, "second")]);
    let items = vec![item(job(1), 7), item(job(2), 0), taken, item(job(4), 0)];
    let (outcomes, statements) = traced.statements_of(batch(items)).await;
    assert!(matches!(outcomes[0], CommitOutcome::Conflict { actual: 1 }), "{outcomes:?}");
    assert!(matches!(outcomes[1], CommitOutcome::Conflict { actual: 1 }), "{outcomes:?}");
    assert!(matches!(&outcomes[2], CommitOutcome::Duplicate { value, .. } if value == b"first"), "{outcomes:?}");
    assert!(matches!(outcomes[3], CommitOutcome::Committed { version: 1, .. }), "{outcomes:?}");
    assert!(statements.len() > 5, "the careful way has more statements: {statements:?}");
    let there = traced.store.load(&[job(1), job(2), job(3), job(4)]).await.unwrap();
    let versions: Vec<u64> = there.iter().map(|found| found.as_ref().map_or(0, |found| found.version)).collect();
    assert_eq!(versions, [1, 1, 0, 1]);
    assert_eq!(traced.store.events(&Position::default(), 99).await.unwrap().len(), 3, "nothing is there twice");
}

#[tokio::test]
async fn a_key_that_has_expired_and_a_row_that_is_there_are_no_reason_to_refuse() {
    let traced = Traced::open().await;
    commit(&traced.store, vec![full(1, 0)]).await;
    let later = item(job(2), 0).with_dedup(vec![once("key-1", 1_000, 2_000, "second")]);
    let (outcomes, statements) = traced.statements_of(batch(vec![later])).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { .. }), "{outcomes:?}");
    assert_eq!(statements, ["WITH w"]);
    assert_eq!(traced.store.dedup(b"key-1", at(1_500)).await.unwrap().as_deref(), Some(b"second".as_slice()));
    // Its rows are all there already, and said to be new: the careful way takes them as they are.
    let outcomes = commit(&traced.store, vec![Item { dedup: Vec::new(), ..full(1, 1) }]).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { version: 2, .. }), "{outcomes:?}");
    let (outcomes, statements) = traced.statements_of(batch(vec![trim(job(1), 2, 1)])).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { version: 2, .. }) && statements.len() > 5);
}
