//! A real engine on a real store, with whatever senders a test gives it.

use std::sync::Arc;
use std::time::Duration;

use ordo_engine::clock::{Clock, Stopwatch, SystemClock};
use ordo_engine::secrets::{FixedKeys, SealingKey};
use ordo_engine::sender::{Sender, Senders};
use ordo_engine::{CommitExtras, Engine, EngineOptions, Tools};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, Severity, StartIncident};
use ordo_model::notification::{Notification, NotificationState};
use ordo_model::{Millis, Timestamp};
use ordo_store_redb::RedbStore;
use uuid::Uuid;

const PATIENCE: Millis = Millis::from_secs(20);

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) senders: Senders,
}

impl World {
    pub(crate) async fn with(senders: Senders) -> World {
        let folder = tempfile::tempdir().unwrap();
        let engine = start(&folder, &senders).await;
        World { folder, engine, senders }
    }

    pub(crate) async fn telling(sender: impl Sender) -> World {
        let senders = Senders::default();
        senders.register(Arc::new(sender));
        World::with(senders).await
    }

    /// The process ends and comes back on the same store.
    pub(crate) async fn restart(self) -> World {
        let World { folder, engine, senders } = self;
        engine.shutdown(Duration::ZERO).await;
        drop(engine);
        let engine = start(&folder, &senders).await;
        World { folder, engine, senders }
    }

    pub(crate) async fn incident(&self, title: &str, identifier: Option<&str>) -> Uuid {
        let start = StartIncident {
            title: title.into(),
            description: "500 from <!channel> & more".into(),
            severity: Severity::Sev2,
            identifier: identifier.map(str::to_owned),
            generation: 0,
            links: Vec::new(),
            escalation: None,
            by: anna(),
        };
        self.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id
    }

    pub(crate) async fn tell(&self, id: Uuid, command: IncidentCommand) {
        self.engine.command::<Incident>(id, command).await.unwrap();
    }

    pub(crate) async fn read(&self, id: Uuid) -> Incident {
        self.engine.queries().object::<Incident>(id).await.unwrap().unwrap().value
    }

    /// The notifications there are, in no order.
    pub(crate) async fn notifications(&self) -> Vec<Notification> {
        let mut found = Vec::new();
        for (entity, _) in self.engine.queries().store().entities(None, 10_000).await.unwrap() {
            if entity.kind == ordo_model::Kind::Notification {
                found.extend(
                    self.engine.queries().object::<Notification>(entity.id).await.unwrap().map(|kept| kept.value),
                );
            }
        }
        found
    }

    /// Until no notification waits any more.
    pub(crate) async fn settled(&self, count: usize) -> Vec<Notification> {
        eventually(&format!("{count} notifications are settled"), async || {
            let notifications = self.notifications().await;
            let settled =
                notifications.len() == count && notifications.iter().all(|notification| !notification.is_waiting());
            settled.then_some(notifications)
        })
        .await
    }
}

pub(crate) fn is_delivered(notification: &Notification) -> bool {
    matches!(notification.state, NotificationState::Delivered { .. })
}

pub(crate) fn anna() -> By {
    By::new("anna", IncidentSource::Api)
}

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

async fn start(folder: &tempfile::TempDir, senders: &Senders) -> Engine {
    let store = RedbStore::open(folder.path().join("ordo.db"), Default::default()).unwrap();
    let keys = Arc::new(FixedKeys(vec![SealingKey::of([7; 32])]));
    let options =
        EngineOptions { tick_rate: Millis::from_ms(200), senders: senders.clone(), keys, ..EngineOptions::default() };
    Engine::start(Arc::new(store), Tools::new(), Arc::new(SystemClock), options).await.unwrap()
}

/// Looks until there is something to see.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(watch.elapsed() < PATIENCE, "not seen: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
