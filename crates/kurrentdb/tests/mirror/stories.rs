//! What arrives, and as what.

use ordo_engine::mirror::MirrorState;
use ordo_engine::partitions::Ownership;
use ordo_model::{EntityId, Kind};
use ordo_store::NewEvent;
use uuid::Uuid;

use crate::stub::Stub;
use crate::world::{MirrorWorld, event, job};

#[tokio::test]
async fn every_event_arrives_once_and_in_order_in_the_stream_of_its_name() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    for number in 1..=40 {
        world.grow(job(number), u64::try_from(number).unwrap() % 7 + 1).await;
    }
    let mut mirror = world.mirror(&stub);
    mirror.caught_up().await;
    // And what is written while it runs.
    for number in 1..=40 {
        world.grow(job(number), 10).await;
    }
    let status = mirror.appended(400).await;
    for number in 1..=40 {
        assert_eq!(stub.versions(&job(number)), (1..=10).collect::<Vec<_>>(), "job {number}");
    }
    assert_eq!((status.appended, status.failures, status.missing, status.missing_before), (400, 0, 0, 0));
    assert_eq!((status.waiting_since, status.last_error, status.halted.len()), (None, None, 0));
    assert_eq!(stub.with(|streams| streams.repeats), 0);
    mirror.end().await;
}

#[tokio::test]
async fn an_event_is_written_as_it_is_read_over_http() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(7), 1).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(1).await;
    let name = "ordo-job-00000000-0000-0000-0000-000000000007";
    let kept = stub.with(|streams| streams.kept[name][0].clone());
    assert_eq!((kept.kind.as_str(), &kept.data), ("e1", &serde_json::json!({ "event": 1 })));
    assert_eq!(kept.metadata["ordo"]["version"], 1);
    assert_eq!(kept.metadata["ordo"]["at"], serde_json::to_value(event(1).at).unwrap());
    assert_eq!(kept.id.get_version_num(), 5);
    // The password of the connection string is decoded: admin:change@it
    assert_eq!(stub.authorization().as_deref(), Some("Basic YWRtaW46Y2hhbmdlQGl0"));
    mirror.end().await;
}

#[tokio::test]
async fn secrets_and_tokens_are_not_mirrored_and_credentials_are_covered() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    let entity = |kind| EntityId { kind, id: Uuid::from_u128(1) };
    let with = |data: &str| NewEvent { data: data.as_bytes().to_vec(), ..event(1) };
    world.add(entity(Kind::Secret), 0, with("{}")).await;
    world.add(entity(Kind::ApiToken), 0, with("{}")).await;
    world.add(entity(Kind::Monitor), 0, with(r#"{"token":"ping-me"}"#)).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(1).await;
    let streams = stub.with(|streams| streams.kept.clone());
    assert_eq!(streams.keys().collect::<Vec<_>>(), [&entity(Kind::Monitor).to_string()]);
    assert_eq!(streams[&entity(Kind::Monitor).to_string()][0].data, serde_json::json!({ "token": "***" }));
    mirror.end().await;
}

#[tokio::test]
async fn after_an_orderly_end_nothing_is_sent_again() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.grow(job(1), 3).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(3).await;
    mirror.end().await;
    let before = stub.with(|streams| streams.appends);
    world.grow(job(1), 4).await;
    let mut mirror = world.mirror(&stub);
    mirror.appended(1).await;
    assert_eq!(stub.with(|streams| (streams.appends - before, streams.repeats)), (1, 0));
    assert_eq!(stub.versions(&job(1)), [1, 2, 3, 4]);
    mirror.end().await;
}

#[tokio::test]
async fn of_two_nodes_the_one_that_serves_the_partition_mirrors() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    world.ownership.send_replace(Ownership::none());
    world.grow(job(1), 2).await;
    let mut mirror = world.mirror(&stub);
    mirror.until(|status| status.state == MirrorState::StandingBy).await;
    // The other node mirrors, on the same store.
    let other = MirrorWorld { store: world.store.clone(), ..MirrorWorld::new() };
    let mut first = other.mirror(&stub);
    first.appended(2).await;
    other.ownership.send_replace(Ownership::none());
    first.until(|status| status.state == MirrorState::StandingBy).await;
    world.grow(job(1), 3).await;
    world.ownership.send_replace(Ownership::everything());
    mirror.appended(1).await;
    assert_eq!(stub.versions(&job(1)), [1, 2, 3]);
    assert_eq!(stub.with(|streams| (streams.appends, streams.repeats)), (2, 0), "it went on where the other was");
    mirror.end().await;
    first.end().await;
}

#[tokio::test]
async fn two_mirrors_at_once_do_no_harm() {
    let (world, stub) = (MirrorWorld::new(), Stub::start().await);
    let (mut one, mut two) = (world.mirror(&stub), world.mirror(&stub));
    for number in 1..=20 {
        world.grow(job(number), 20).await;
    }
    one.until(|_| stub.with(|streams| streams.events()) == 400).await;
    one.caught_up().await;
    two.caught_up().await;
    for number in 1..=20 {
        assert_eq!(stub.versions(&job(number)), (1..=20).collect::<Vec<_>>());
    }
    one.end().await;
    two.end().await;
}
