//! Incidents and their notifications, as tests start and await them.

use std::sync::Arc;

use ordo_model::Kind;
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, Severity, StartIncident};
use ordo_model::notification::{Notification, NotificationState};
use uuid::Uuid;

use super::world::{World, options};
use crate::{CommitExtras, EngineOptions, Sender, Senders, Versioned};

pub fn anna() -> By {
    By::new("anna", IncidentSource::Api)
}

pub fn start(title: &str, identifier: Option<&str>) -> StartIncident {
    StartIncident {
        title: title.into(),
        description: "500 from <!channel> & more".into(),
        severity: Severity::Sev2,
        identifier: identifier.map(str::to_owned),
        generation: 0,
        links: Vec::new(),
        escalation: None,
        by: anna(),
    }
}

pub fn note(text: &str) -> IncidentCommand {
    IncidentCommand::AddNote { text: text.into(), by: anna() }
}

pub fn is_delivered(notification: &Notification) -> bool {
    matches!(notification.state, NotificationState::Delivered { .. })
}

/// The options of tests, with these senders.
pub fn sending(senders: &[Arc<dyn Sender>]) -> EngineOptions {
    let registered = Senders::default();
    senders.iter().for_each(|sender| registered.register(sender.clone()));
    EngineOptions { senders: registered, ..options() }
}

impl World {
    /// A world with one sender.
    pub async fn notifying(sender: impl Sender) -> World {
        World::with(sending(&[Arc::new(sender)])).await
    }

    pub async fn incident(&self, title: &str, identifier: Option<&str>) -> Uuid {
        let start = start(title, identifier);
        self.engine.start_incident(start, |_| CommitExtras::default()).await.unwrap().state.id
    }

    pub async fn change(&self, id: Uuid, command: IncidentCommand) {
        self.engine.command::<Incident>(id, command).await.unwrap();
    }

    pub async fn read(&self, id: Uuid) -> Versioned<Incident> {
        self.engine.queries().object::<Incident>(id).await.unwrap().unwrap()
    }

    /// The incident, once nothing is left in its outbox.
    #[track_caller]
    pub fn published(&self, id: Uuid) -> impl Future<Output = Versioned<Incident>> {
        self.until("its outbox is empty", async move || {
            Some(self.read(id).await).filter(|incident| incident.outbox.is_empty())
        })
    }

    /// The notifications there are, in no order.
    pub async fn notifications(&self) -> Vec<Notification> {
        let mut found = Vec::new();
        for (entity, _) in self.engine.queries().store().entities(None, 10_000).await.unwrap() {
            if entity.kind == Kind::Notification {
                let notification = self.engine.queries().object::<Notification>(entity.id).await.unwrap();
                found.extend(notification.map(|versioned| versioned.value));
            }
        }
        found
    }

    /// So many notifications, once none of them waits any more.
    #[track_caller]
    pub fn settled(&self, count: usize) -> impl Future<Output = Vec<Notification>> {
        self.until("the notifications are settled", async move || {
            let all = self.notifications().await;
            let is_settled = all.len() == count && all.iter().all(|notification| !notification.is_waiting());
            is_settled.then_some(all)
        })
    }
}
