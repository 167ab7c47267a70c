//! What fails is tried again, and what was done already is recognised.

use ordo_engine::mirror::MirrorState;

use crate::stub::{Mishap, Stub};
use crate::world::{MirrorWorld, job};

#[tokio::test]
async fn killed_in_the_middle_it_goes_on_where_it_was() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    for number in 1..=30 {
        world.grow(job(number), 10).await;
    }
    for appends in [3, 9, 20] {
        let mirror = world.mirror(&stub);
        stub.seen(appends).await;
        mirror.kill().await;
    }
    let mut mirror = world.mirror(&stub);
    mirror.caught_up().await;
    for number in 1..=30 {
        assert_eq!(stub.versions(&job(number)), (1..=10).collect::<Vec<_>>(), "job {number}");
    }
    mirror.end().await;
}

#[tokio::test]
async fn a_server_that_goes_away_and_comes_back_gets_everything() {
    let (world, mut stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 2).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(2).await;
    stub.go_down().await;
    world.grow(job(1), 5).await;
    world.grow(job(2), 1).await;
    let status = mirror.until(|status| status.failures >= 2).await;
    assert_eq!(status.state, MirrorState::Failing);
    assert!(status.last_error.is_some() && status.waiting_since.is_some(), "{status:?}");
    stub.come_up().await;
    let status = mirror.appended(6).await;
    assert_eq!((status.last_error, status.waiting_since), (None, None));
    assert_eq!((stub.versions(&job(1)), stub.versions(&job(2))), (vec![1, 2, 3, 4, 5], vec![1]));
    mirror.end().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_at_the_start_is_waited_for() {
    let (world, mut stub) = (MirrorWorld::new(), Stub::start().await);
    stub.go_down().await;
    world.grow(job(1), 2).await;
    let mut mirror = world.mirror(&stub);
    mirror.until(|status| status.failures >= 1).await;
    stub.come_up().await;
    mirror.appended(2).await;
    assert_eq!(stub.versions(&job(1)), [1, 2]);
    mirror.end().await;
}

#[tokio::test]
async fn an_append_whose_answer_was_lost_is_not_doubled() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 3).await;
    stub.plan([Mishap::AnswerLost]);
    let mut mirror = world.mirror(&stub);
    mirror.until(|status| status.failures == 1).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3], "it was applied");
    mirror.caught_up().await;
    assert_eq!(stub.with(|streams| streams.repeats), 1, "and the server knew it again");
    // With more behind it than was sent before: the server calls that a conflict, and its end decides.
    stub.plan([Mishap::AnswerLost]);
    world.grow(job(1), 4).await;
    mirror.until(|status| status.failures == 2).await;
    world.grow(job(1), 6).await;
    mirror.until(|_| stub.versions(&job(1)).len() == 6).await;
    mirror.caught_up().await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 4, 5, 6]);
    mirror.end().await;
}

#[tokio::test]
async fn whatever_else_goes_wrong_is_tried_again_and_reported() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    for (mishap, says) in [
        (Mishap::Unavailable, "overloaded"),
        (Mishap::Denied, "sinks.kurrentdb.connection"),
        (Mishap::Nonsense, "does not understand"),
    ] {
        stub.plan([mishap]);
        let mut mirror = world.mirror(&stub);
        mirror.caught_up().await;
        let version = stub.versions(&job(1)).len() as u64 + 1;
        world.grow(job(1), version).await;
        let status = mirror.until(|status| status.failures == 1).await;
        let error = status.last_error.unwrap();
        assert!(error.contains(says) && !error.contains("change"), "{error}");
        mirror.appended(1).await;
        mirror.end().await;
    }
    assert_eq!(stub.versions(&job(1)), [1, 2, 3]);
}

#[tokio::test]
async fn when_a_node_of_a_cluster_is_gone_another_is_found() {
    let (world, mut one) = (MirrorWorld::new(), Stub::start().await);
    let two = Stub::on(one.disk()).await;
    one.name_members([one.address]);
    let connection = format!(
        "kurrentdb://{},{}?tls=false&maxDiscoverAttempts=2&discoveryInterval=10&gossipTimeout=1000",
        one.address, two.address
    );
    world.grow(job(1), 2).await;
    let mut mirror = world.mirror_to(&connection);
    mirror.appended(2).await;
    one.go_down().await;
    two.name_members([two.address]);
    world.grow(job(1), 4).await;
    mirror.appended(4).await;
    assert_eq!(two.versions(&job(1)), [1, 2, 3, 4]);
    mirror.end().await;
}
