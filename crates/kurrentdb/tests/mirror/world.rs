//! A store with streams in it, a mirror that follows it, and the stub that it writes to.

use std::sync::Arc;

use ordo_engine::change_hint::ChangeHint;
use ordo_engine::clock::SystemClock;
use ordo_engine::codec::CHECKPOINT;
use ordo_engine::mirror::{MirrorState, MirrorStatus};
use ordo_engine::partitions::Ownership;
use ordo_kurrentdb::{Feed, Mirror, MirrorTarget};
use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Batch, CommitOutcome, Disposition, EventActor, Item, NewEvent, Store, Trim, Version};
use ordo_store_redb::RedbStore;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::stub::Stub;

pub struct MirrorWorld {
    pub store: Arc<dyn Store>,
    pub hints: broadcast::Sender<ChangeHint>,
    pub ownership: watch::Sender<Ownership>,
}

pub struct RunningMirror {
    pub status: watch::Receiver<MirrorStatus>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

pub fn job(number: u128) -> EntityId {
    EntityId { kind: Kind::Job, id: Uuid::from_u128(number) }
}

pub fn event(version: Version) -> NewEvent {
    let at = Timestamp::from_ms(1_763_236_800_000 + i64::try_from(version).unwrap()).unwrap();
    let data = format!("{{\"event\": {version}}}").into_bytes();
    NewEvent { at, kind: format!("e{version}"), data, actor: EventActor::Ordo }
}

fn item(entity: EntityId, expected: Version, events: Vec<NewEvent>) -> Item {
    Item {
        entity,
        expected,
        events,
        disposition: Disposition::Keep { snapshot: b"{}".to_vec(), alarm: None },
        rows: Vec::new(),
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

impl MirrorWorld {
    pub fn new() -> MirrorWorld {
        let (hints, _) = broadcast::channel(64);
        let (ownership, _) = watch::channel(Ownership::everything());
        MirrorWorld { store: Arc::new(RedbStore::in_memory().unwrap()), hints, ownership }
    }

    /// As if the process were started again: the same store.
    pub fn mirror(&self, stub: &Stub) -> RunningMirror {
        self.mirror_to(&stub.connection())
    }

    pub fn mirror_to(&self, connection: &str) -> RunningMirror {
        let clock = Arc::new(SystemClock);
        let feed = Feed::new(self.store.clone(), self.hints.subscribe(), self.ownership.subscribe(), clock);
        let (mirror, status) = Mirror::new(feed, MirrorTarget::parse(connection).unwrap());
        let stop = CancellationToken::new();
        RunningMirror { status, task: tokio::spawn(mirror.run(stop.clone())), stop }
    }

    async fn commit(&self, item: Item) {
        let entity = item.entity;
        let outcomes = self.store.commit(Batch { items: vec![item], chunks: Vec::new() }).await.unwrap();
        assert!(matches!(outcomes.as_slice(), [CommitOutcome::Committed { .. }]), "{outcomes:?}");
        drop(self.hints.send(ChangeHint::Object(entity)));
    }

    /// Adds events up to and with this version, each in a commit of its own.
    pub async fn grow(&self, entity: EntityId, to: Version) {
        let from = self.store.load(&[entity]).await.unwrap()[0].as_ref().map_or(0, |snapshot| snapshot.version);
        for version in from..to {
            self.add(entity, version, event(version + 1)).await;
        }
    }

    pub async fn add(&self, entity: EntityId, expected: Version, event: NewEvent) {
        self.commit(item(entity, expected, vec![event])).await;
    }

    /// Replaces the beginning of a stream by a checkpoint.
    pub async fn trim(&self, entity: EntityId, expected: Version, through: Version) {
        let checkpoint = NewEvent { kind: CHECKPOINT.to_owned(), ..event(through) };
        self.commit(Item { trim: Some(Trim { through, checkpoint }), ..item(entity, expected, Vec::new()) }).await;
    }

    pub async fn purge(&self, entity: EntityId, expected: Version) {
        self.commit(Item { disposition: Disposition::Purge, ..item(entity, expected, Vec::new()) }).await;
    }
}

impl RunningMirror {
    /// Until the mirror looks like this.
    pub async fn until(&mut self, looks: impl FnMut(&MirrorStatus) -> bool) -> MirrorStatus {
        self.status.wait_for(looks).await.unwrap().clone()
    }

    /// Until so much was appended and nothing is left to do.
    pub async fn appended(&mut self, events: u64) -> MirrorStatus {
        self.until(|status| status.appended >= events && status.state == MirrorState::CaughtUp).await
    }

    pub async fn caught_up(&mut self) -> MirrorStatus {
        self.until(|status| status.state == MirrorState::CaughtUp).await
    }

    /// An orderly end.
    pub async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// As `kill -9` does.
    pub async fn kill(self) {
        self.task.abort();
        drop(self.task.await);
    }
}
