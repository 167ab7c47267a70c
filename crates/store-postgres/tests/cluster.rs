//! Several stores on one schema, as several nodes have them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use ordo_model::Millis;
use ordo_store::conformance::given::{accept, commit, grow, item, job};
use ordo_store::{Alarm, Cluster, CommitOutcome, DueAlarm, Hint, Item, NodeHeartbeat, Partition, Store};
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};
use uuid::Uuid;

const LONG: Millis = Millis::from_secs(60);

async fn nodes(count: usize) -> (TestServer, Vec<PostgresStore>) {
    let server = TestServer::join();
    let url = server.fresh_url();
    let mut stores = Vec::new();
    for _ in 0..count {
        stores.push(PostgresStore::open(&url, PostgresOptions { readers: 2 }).await.unwrap());
    }
    (server, stores)
}

fn generation(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn beat(number: u128, good_for: Millis) -> NodeHeartbeat {
    NodeHeartbeat { generation: generation(number), name: format!("node-{number}"), about: b"{}".to_vec(), good_for }
}

async fn with_alarm(store: &PostgresStore, number: u128, at: ordo_model::Timestamp) -> DueAlarm {
    accept(store, item(job(number), 0).with_alarm(Some(Alarm { at, rank: 1 }))).await;
    DueAlarm { at, rank: 1, entity: job(number) }
}

#[tokio::test]
async fn a_shared_store_says_that_it_is() {
    let (_server, stores) = nodes(1).await;
    assert!(stores[0].is_shared() && stores[0].cluster().is_some());
    stores[0].ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_commits_of_several_nodes_one_wins_each_version() {
    let (_server, stores) = nodes(3).await;
    for round in 0..10 {
        let items = || (1..=20).map(|number| item(job(number), round)).collect::<Vec<Item>>();
        let (one, two, three) =
            tokio::join!(commit(&stores[0], items()), commit(&stores[1], items()), commit(&stores[2], items()));
        for place in 0..20 {
            let outcomes = [&one[place], &two[place], &three[place]];
            let won = outcomes.iter().filter(|outcome| matches!(outcome, CommitOutcome::Committed { .. })).count();
            let lost =
                outcomes.iter().filter(|outcome| ***outcome == CommitOutcome::Conflict { actual: round + 1 }).count();
            assert_eq!((won, lost), (1, 2), "{outcomes:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_many_writers_sees_every_event_once_and_in_order() {
    let (_server, mut stores) = nodes(4).await;
    let reader = stores.pop().unwrap();
    let mut writers = Vec::new();
    for (place, store) in stores.into_iter().enumerate() {
        writers.push(tokio::spawn(async move {
            for version in 0..15 {
                let items = (0..20).map(|number| item(job(1 + 20 * place as u128 + number), version)).collect();
                commit(&store, items).await;
            }
        }));
    }
    let (mut after, mut seen) = (Default::default(), std::collections::BTreeMap::new());
    let mut count = 0;
    while count < 3 * 15 * 20 {
        for event in reader.events(&after, 37).await.unwrap() {
            let last: &mut u64 = seen.entry(event.entity).or_default();
            assert_eq!(event.version, *last + 1, "{}", event.entity);
            *last = event.version;
            after = event.position;
            count += 1;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(reader.events(&after, 10).await.unwrap(), []);
}

#[tokio::test]
async fn nodes_know_each_other_and_forget_the_silent() {
    let (_server, stores) = nodes(1).await;
    let store = &stores[0];
    store.beat(&beat(1, LONG)).await.unwrap();
    let seen = store.beat(&beat(2, Millis::ZERO)).await.unwrap();
    let alive: Vec<_> = seen.iter().map(|node| (node.name.as_str(), node.is_alive, node.draining)).collect();
    assert_eq!(alive, [("node-1", true, false), ("node-2", false, false)]);
    assert_eq!(store.drain("node-1", true).await.unwrap(), 1);
    assert_eq!(store.drain("nobody", true).await.unwrap(), 0);
    // A heartbeat does not undo what an operator said.
    assert!(store.beat(&beat(1, LONG)).await.unwrap()[0].draining);
    store.leave(generation(1)).await.unwrap();
    assert_eq!(store.nodes().await.unwrap().len(), 1);
    let now = store.now().await.unwrap();
    assert!(now >= seen[0].beat_at);
}

#[tokio::test]
async fn a_partition_has_one_holder_and_a_new_epoch_with_each() {
    let (_server, stores) = nodes(1).await;
    let store = &stores[0];
    let all: Vec<Partition> = Partition::all().collect();
    let mine = store.take_leases(generation(1), &all[..200], LONG).await.unwrap();
    assert_eq!((mine.len(), mine[0].epoch), (200, 1));
    let theirs = store.take_leases(generation(2), &all, LONG).await.unwrap();
    assert_eq!(theirs.iter().map(|lease| lease.partition).collect::<Vec<_>>(), all[200..]);
    // Renewing changes nothing but the end.
    let renewed = store.take_leases(generation(1), &all[..200], LONG).await.unwrap();
    assert!(renewed.iter().all(|lease| lease.epoch == 1) && renewed[0].until >= mine[0].until);
    store.release_leases(generation(1), &all[..1]).await.unwrap();
    let taken = store.take_leases(generation(2), &all[..2], LONG).await.unwrap();
    assert_eq!((taken[0].partition, taken[0].epoch, taken.len()), (all[0], 2, 57));
    assert_eq!(store.take_leases(generation(1), &[], LONG).await.unwrap().len(), 199);
}

#[tokio::test]
async fn a_lease_that_ended_can_be_taken_and_its_old_holder_learns_it() {
    let (_server, stores) = nodes(1).await;
    let store = &stores[0];
    store.take_leases(generation(1), &[Partition(7)], Millis::ZERO).await.unwrap();
    let taken = store.take_leases(generation(2), &[Partition(7)], LONG).await.unwrap();
    assert_eq!((taken[0].generation, taken[0].epoch), (generation(2), 2));
    assert_eq!(store.take_leases(generation(1), &[Partition(7)], LONG).await.unwrap(), []);
    store.leave(generation(2)).await.unwrap();
    assert_eq!(store.take_leases(generation(1), &[Partition(7)], LONG).await.unwrap()[0].epoch, 3);
    assert_eq!(store.leases().await.unwrap().len(), 1);
}

#[tokio::test]
async fn due_alarms_can_be_read_of_some_partitions_only() {
    let (_server, stores) = nodes(1).await;
    let store = &stores[0];
    let now = store.now().await.unwrap();
    let mut all = Vec::new();
    for number in 1..=40 {
        all.push(with_alarm(store, number, now).await);
    }
    let (even, odd): (Vec<Partition>, Vec<Partition>) =
        Partition::all().partition(|partition| partition.0.is_multiple_of(2));
    let mut found = store.due_in(&even, now, None, 100).await.unwrap();
    assert!(found.iter().all(|due| Partition::of(due.entity).0.is_multiple_of(2)) && !found.is_empty());
    let first = store.due_in(&odd, now, None, 1).await.unwrap();
    found.extend(&first);
    found.extend(store.due_in(&odd, now, first.last().copied(), 100).await.unwrap());
    found.sort();
    assert_eq!(found, all);
    assert_eq!(store.due_in(&[], now, None, 100).await.unwrap(), []);
}

#[tokio::test]
async fn an_overdue_alarm_is_swept_by_one_node_until_its_claim_ends_or_it_is_settled() {
    let (_server, stores) = nodes(2).await;
    let now = stores[0].now().await.unwrap();
    let overdue = with_alarm(&stores[0], 1, now.minus(Millis::from_secs(100))).await;
    with_alarm(&stores[0], 2, now).await;
    let by = Millis::from_secs(50);
    assert_eq!(stores[0].sweep_overdue(by, LONG, 10).await.unwrap(), [overdue]);
    assert_eq!(stores[1].sweep_overdue(by, LONG, 10).await.unwrap(), []);
    // Settled, and overdue once more.
    let again = Alarm { at: now.minus(Millis::from_secs(60)), rank: 0 };
    accept(&stores[1], item(job(1), 1).with_alarm(Some(again))).await;
    assert_eq!(stores[1].sweep_overdue(by, Millis::ZERO, 10).await.unwrap().len(), 1);
    assert_eq!(stores[0].sweep_overdue(by, LONG, 10).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_one_node_is_a_hint_to_the_others() {
    let (_server, stores) = nodes(2).await;
    let (mut own, mut other) = (stores[0].hints(), stores[1].hints());
    let patience = Duration::from_secs(20);
    assert_eq!(tokio::time::timeout(patience, own.next()).await.unwrap(), Some(Hint::Lost), "it listens now");
    assert_eq!(tokio::time::timeout(patience, other.next()).await.unwrap(), Some(Hint::Lost));
    grow(&stores[0], job(1), 3).await;
    let heard = tokio::time::timeout(patience, other.next()).await.unwrap();
    assert_eq!(heard, Some(Hint::Partitions(vec![Partition::of(job(1))])));
    grow(&stores[1], job(2), 1).await;
    // Its own commits are no news to a node.
    let heard = tokio::time::timeout(patience, own.next()).await.unwrap();
    assert_eq!(heard, Some(Hint::Partitions(vec![Partition::of(job(2))])));
    let [first, _second] = <[PostgresStore; 2]>::try_from(stores).unwrap();
    drop(first);
    assert_eq!(tokio::time::timeout(patience, own.next()).await.unwrap(), None, "the store is closed");
}
