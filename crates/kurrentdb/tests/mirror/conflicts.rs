//! Somebody or something stands in the way of one stream: it is halted and says so, the others go on.

use ordo_store::NewEvent;

use crate::stub::Stub;
use crate::world::{MirrorWorld, event, job};

#[tokio::test]
async fn a_foreign_writer_halts_one_stream_and_no_other() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 2).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(2).await;
    stub.with(|streams| streams.intrude(&job(1).to_string()));
    world.grow(job(1), 4).await;
    world.grow(job(2), 3).await;
    let status = mirror.appended(5).await;
    assert_eq!(status.halted.keys().collect::<Vec<_>>(), [&job(1).to_string()]);
    let why = &status.halted[&job(1).to_string()];
    assert!(why.contains("somebody else wrote") && why.contains("revision 2"), "{why}");
    world.grow(job(1), 5).await;
    world.grow(job(2), 4).await;
    mirror.appended(6).await;
    assert_eq!(stub.versions(&job(2)), [1, 2, 3, 4]);
    mirror.end().await;
    // It stays so until what stands in the way is gone; then what was passed over is caught up with.
    let mut mirror = world.mirror(&stub);
    assert_eq!(mirror.caught_up().await.halted.len(), 1);
    mirror.end().await;
    stub.with(|streams| streams.kept.get_mut(&job(1).to_string()).unwrap().pop());
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(3).await;
    assert_eq!((status.halted.len(), status.missing), (0, 0));
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 4, 5]);
    mirror.end().await;
}

#[tokio::test]
async fn what_is_trimmed_while_its_stream_is_halted_is_missing() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    stub.with(|streams| streams.intrude(&job(1).to_string()));
    world.grow(job(1), 4).await;
    let mut mirror = world.mirror(&stub);
    mirror.until(|status| status.halted.len() == 1).await;
    world.grow(job(1), 6).await;
    mirror.caught_up().await;
    mirror.end().await;
    world.trim(job(1), 6, 5).await;
    stub.with(|streams| streams.kept.clear());
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(2).await;
    assert_eq!((status.halted.len(), status.missing), (0, 4), "1 to 4; 5 is a checkpoint");
    assert_eq!(stub.versions(&job(1)), [5, 6]);
    mirror.end().await;
}

#[tokio::test]
async fn a_stream_that_was_deleted_for_good_is_halted() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    stub.with(|streams| streams.tombs.insert(job(1).to_string()));
    world.grow(job(1), 1).await;
    world.grow(job(2), 1).await;
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(1).await;
    assert!(status.halted[&job(1).to_string()].contains("deleted"), "{status:?}");
    mirror.end().await;
}

#[tokio::test]
async fn an_event_that_is_too_large_halts_its_stream_and_large_ones_go_one_by_one() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    let large = |version, bytes| NewEvent { data: format!("\"{}\"", "x".repeat(bytes)).into_bytes(), ..event(version) };
    for version in 1..=5 {
        world.add(job(1), version - 1, large(version, 400 * 1024)).await;
    }
    world.add(job(2), 0, large(1, 2 * 1024 * 1024)).await;
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(5).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 4, 5]);
    let why = &status.halted[&job(2).to_string()];
    assert!(why.contains("Maximum Append Size"), "{why}");
    mirror.end().await;
}

#[tokio::test]
async fn a_store_restored_from_an_older_copy_does_not_overwrite_what_came_after() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 3).await;
    world.grow(job(2), 1).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(4).await;
    mirror.end().await;
    // The copy is from before the mirror began: it has no progress, and another third event.
    let restored = MirrorWorld::new();
    restored.grow(job(1), 2).await;
    restored.grow(job(2), 2).await;
    let mut mirror = restored.mirror(&stub);
    mirror.appended(1).await;
    assert_eq!(stub.versions(&job(2)), [1, 2], "the same history goes on");
    restored.add(job(1), 2, NewEvent { data: b"{\"other\": true}".to_vec(), ..event(3) }).await;
    let status = mirror.until(|status| !status.halted.is_empty()).await;
    assert!(status.halted[&job(1).to_string()].contains("another"), "{status:?}");
    assert_eq!(stub.versions(&job(1)), [1, 2, 3]);
    mirror.end().await;
}
