//! Objects on a real store: decided one after another, stored with all that follows from them, forgotten without a trace.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_engine::object_queries::IndexRange;
use ordo_engine::testing::World;
use ordo_engine::{CommitExtras, SubmitError};
use ordo_model::secret::{Secret, SecretCommand, SecretRefusal};
use ordo_store::Chunk;
use uuid::Uuid;

fn set(name: &str, value: u128) -> (SecretCommand, CommitExtras) {
    let owner = Uuid::from_u128(value);
    let chunk = Chunk { owner, seq: 0, bytes: value.to_be_bytes().to_vec() };
    (
        SecretCommand::Set { name: name.into(), value: owner },
        CommitExtras { chunks: vec![chunk], ..CommitExtras::default() },
    )
}

async fn chunks(world: &World, owner: u128) -> usize {
    world.engine.queries().store().chunks(Uuid::from_u128(owner), 0, 10).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_stored_with_its_rows_and_chunks_and_goes_with_them() {
    let world = World::new().await;
    let id = Secret::id("pg").id;
    let (command, extras) = set("pg", 1);
    let committed = world.engine.command_with::<Secret>(id, command, extras).await.unwrap();
    assert_eq!((committed.state.version, committed.events.len()), (1, 1));
    let (command, extras) = set("pg", 2);
    world.engine.command_with::<Secret>(id, command, extras).await.unwrap();
    assert_eq!((chunks(&world, 1).await, chunks(&world, 2).await), (0, 1), "the old value is gone");
    let found = world.engine.queries().objects::<Secret>(&IndexRange::all(0, 10)).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].name, "pg");
    world.assert_clean().await;

    world.engine.command::<Secret>(id, SecretCommand::Remove).await.unwrap();
    assert_eq!(chunks(&world, 2).await, 0);
    assert!(world.engine.queries().object::<Secret>(id).await.unwrap().is_none());
    assert!(world.engine.queries().objects::<Secret>(&IndexRange::all(0, 10)).await.unwrap().items.is_empty());
    let again = world.engine.command::<Secret>(id, SecretCommand::Remove).await;
    assert!(matches!(again, Err(SubmitError::Refused(SecretRefusal::NoSuchSecret))));
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_on_one_object_are_decided_one_after_another() {
    let world = World::new().await;
    let id = Secret::id("busy").id;
    let asks = (0..500_u128).map(|value| {
        let (engine, (command, extras)) = (world.engine.clone(), set("busy", value));
        tokio::spawn(async move { engine.command_with::<Secret>(id, command, extras).await.unwrap() })
    });
    let mut versions = Vec::new();
    for ask in asks.collect::<Vec<_>>() {
        versions.push(ask.await.unwrap().state.version);
    }
    versions.sort_unstable();
    assert_eq!(versions, (1..=500).collect::<Vec<u64>>());
    let left = world.engine.queries().object::<Secret>(id).await.unwrap().unwrap();
    let mut kept = 0;
    for value in 0..500_u128 {
        kept += chunks(&world, value).await;
    }
    assert_eq!((left.version, kept), (500, 1), "one value is left, and one chunk");
    let (_, oldest) = world.engine.queries().history(Secret::id("busy"), 0, 1).await.unwrap();
    assert!(oldest > 1, "what is before a checkpoint is forgotten");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_made_anew_after_its_end_begins_anew() {
    let world = World::new().await;
    let id = Secret::id("pg").id;
    let commands = [set("pg", 1), (SecretCommand::Remove, CommitExtras::default()), set("pg", 2)];
    let asks = commands.map(|(command, extras)| {
        let engine = world.engine.clone();
        async move { engine.command_with::<Secret>(id, command, extras).await }
    });
    // All in one round, as far as the batcher lets them.
    let [first, removed, second] = futures_util::future::join_all(asks).await.try_into().unwrap();
    assert!(first.is_ok() && removed.is_ok());
    assert_eq!(second.unwrap().state.version, 1);
    assert_eq!(chunks(&world, 2).await, 1);
    world.assert_clean().await;
}
