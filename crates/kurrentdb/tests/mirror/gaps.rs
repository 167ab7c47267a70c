//! Retention goes on while a mirror is away: what it misses is counted, and the streams go on.

use ordo_engine::codec::CHECKPOINT;
use ordo_store::NewEvent;

use crate::stub::Stub;
use crate::world::{MirrorWorld, event, job};

#[tokio::test]
async fn what_was_trimmed_before_the_mirror_began_is_counted_apart_and_stands_as_a_checkpoint() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 6).await;
    world.trim(job(1), 6, 4).await;
    world.grow(job(2), 2).await;
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(5).await;
    assert_eq!((status.missing, status.missing_before), (0, 3), "1 to 3; 4 is a checkpoint");
    assert_eq!(stub.kinds(&job(1)), [CHECKPOINT, "e5", "e6"]);
    assert_eq!(stub.versions(&job(1)), [4, 5, 6], "versions are in the metadata, whatever the revisions are");
    // The stream goes on behind it, also for a mirror that does not remember its end.
    mirror.end().await;
    world.grow(job(1), 8).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(2).await;
    assert_eq!(stub.versions(&job(1)), [4, 5, 6, 7, 8]);
    mirror.end().await;
}

#[tokio::test]
async fn what_was_trimmed_or_purged_while_the_mirror_was_away_is_counted() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 2).await;
    world.grow(job(2), 1).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(3).await;
    mirror.end().await;
    world.grow(job(1), 9).await;
    world.trim(job(1), 9, 7).await;
    world.grow(job(2), 4).await;
    world.purge(job(2), 4).await;
    world.grow(job(3), 1).await;
    let mut mirror = world.mirror(&stub);
    let status = mirror.appended(4).await;
    assert_eq!((status.missing, status.missing_before), (4 + 3, 0), "3 to 6 of job 1, and 2 to 4 of job 2");
    assert_eq!(stub.versions(&job(1)), [1, 2, 7, 8, 9]);
    assert_eq!((stub.versions(&job(2)), stub.versions(&job(3))), (vec![1], vec![1]));
    // It is remembered.
    mirror.end().await;
    let mut mirror = world.mirror(&stub);
    assert_eq!(mirror.caught_up().await.missing, 7);
    mirror.end().await;
}

#[tokio::test]
async fn trimming_what_is_mirrored_already_changes_nothing() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 5).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(5).await;
    world.trim(job(1), 5, 5).await;
    world.grow(job(1), 6).await;
    let status = mirror.appended(6).await;
    assert_eq!((stub.kinds(&job(1)).len(), status.missing), (6, 0));
    mirror.kill().await;
    // Read again from the beginning, as after a copy of the store: the checkpoint stands for what is there.
    let chunk = ordo_store::Chunk { owner: ordo_engine::mirror::MIRROR_PROGRESS, seq: 0, bytes: Vec::new() };
    world.store.commit(ordo_store::Batch { items: Vec::new(), chunks: vec![chunk] }).await.unwrap();
    world.grow(job(1), 7).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(1).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 4, 5, 6, 7]);
    mirror.end().await;
}

#[tokio::test]
async fn something_made_again_under_its_old_name_goes_on_in_the_same_stream() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 3).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(3).await;
    world.purge(job(1), 3).await;
    let later = |version| NewEvent { at: event(100 + version).at, ..event(version) };
    world.add(job(1), 0, later(1)).await;
    world.add(job(1), 1, later(2)).await;
    let status = mirror.appended(5).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 1, 2]);
    assert_eq!((status.missing, status.halted.len()), (0, 0));
    // Nobody remembers where it ends.
    mirror.kill().await;
    let mut mirror = world.mirror(&stub);
    mirror.caught_up().await;
    world.add(job(1), 2, later(3)).await;
    mirror.appended(1).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 1, 2, 3]);
    mirror.end().await;
}
