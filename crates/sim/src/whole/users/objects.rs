//! Incidents, monitors and calls of hooks, as those outside ask for them.

use std::sync::Arc;

use ordo_engine::CommitExtras;
use ordo_engine::deliveries::{Arrival, Received};
use ordo_model::Millis;
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, IncidentStatus, Severity, StartIncident};
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorSettings, SentPing, Signal};
use uuid::Uuid;

use super::{Users, answered};
use crate::whole::facts::{WholeAnswer, Wish};

/// The hook that jobs listen to.
pub(super) const HOOK: &str = "doorbell";
/// How often a call of a hook is sent until it was acknowledged.
const DELIVER_TRIES: usize = 12;

fn by(marker: &str) -> By {
    By::new(marker, IncidentSource::Cli)
}

impl Users {
    pub(super) async fn start_incident(&self) {
        let marker = format!("op-{}", self.scene.next_op());
        let named = self.scene.chance(600);
        let identifier = named.then(|| format!("outage-{}", self.scene.between(1, 2)));
        let start = StartIncident {
            title: marker.clone(),
            description: String::new(),
            severity: Severity::default(),
            identifier: identifier.clone(),
            generation: 0,
            links: Vec::new(),
            escalation: None,
            by: by(&marker),
        };
        let escalates = self.scene.chance(500);
        self.wish(Wish::StartIncident { marker, identifier }, move |engine| {
            let start = start.clone();
            Box::pin(async move {
                let escalation = if escalates { engine.escalation(None).await } else { Ok(None) };
                let Ok(escalation) = escalation else { return WholeAnswer::Unknown };
                let start = StartIncident { escalation, ..start };
                let started = engine.start_incident(start, |_| CommitExtras::default()).await;
                answered(started, |committed| Some(committed.state.id))
            })
        })
        .await;
    }

    async fn on_incident(&self, wish: Wish, incident: Uuid, command: IncidentCommand) {
        self.wish(wish, move |engine| {
            let command = command.clone();
            Box::pin(async move { answered(engine.command::<Incident>(incident, command).await, |_| None) })
        })
        .await;
    }

    pub(super) async fn add_note(&self) {
        let Some(incident) = self.scene.some_incident() else { return };
        let marker = format!("op-{}", self.scene.next_op());
        let command = IncidentCommand::AddNote { text: marker.clone(), by: by(&marker) };
        self.on_incident(Wish::Note { incident, marker }, incident, command).await;
    }

    pub(super) async fn set_status(&self) {
        let Some(incident) = self.scene.some_incident() else { return };
        let marker = format!("op-{}", self.scene.next_op());
        let statuses = [IncidentStatus::Open, IncidentStatus::Mitigating, IncidentStatus::Resolved];
        let status = self.scene.with_rng(|rng| *rng.pick(&statuses));
        let command = IncidentCommand::UpdateStatus { status, message: Some(marker.clone()), by: by(&marker) };
        self.on_incident(Wish::Status { incident, marker }, incident, command).await;
    }

    pub(super) async fn acknowledge(&self) {
        let Some(incident) = self.scene.some_incident() else { return };
        let marker = format!("op-{}", self.scene.next_op());
        let command = IncidentCommand::Acknowledge { by: by(&marker) };
        self.on_incident(Wish::Acknowledge { incident, marker }, incident, command).await;
    }

    /// Somebody outside that calls a hook sends the same again until it is acknowledged.
    pub(super) async fn deliver(&self) {
        let sender_id = format!("call-{}", self.scene.next_op());
        for _ in 0..DELIVER_TRIES {
            let id = sender_id.clone();
            let answer = self.wish(Wish::Deliver { hook: HOOK.into(), sender_id: id.clone() }, move |engine| {
                let arrival = Arrival {
                    hook: HOOK.into(),
                    sender_id: Some(id.clone()),
                    replay_mark: None,
                    headers: Vec::new(),
                    content_type: None,
                    body: id.clone().into_bytes().into(),
                    passes: true,
                };
                Box::pin(async move {
                    match engine.receive(arrival).await {
                        Ok(Received::New(id)) => WholeAnswer::Done(Some(id)),
                        Ok(Received::Duplicate(id)) => WholeAnswer::Before(id),
                        Err(error) => answered::<(), _>(Err(error), |()| None),
                    }
                })
            });
            let is_known = answer.await != WholeAnswer::Unknown;
            // A sender that is careful, or whose own acknowledgement was lost, sends it once more all the same.
            if is_known && !self.scene.chance(100) {
                return;
            }
            self.scene.sleep(self.scene.between(200, 5_000)).await;
        }
    }

    /// Adds a monitor, and gives signs of life, not always in time.
    pub(super) async fn keep_monitor(self: Arc<Self>, number: usize) {
        let name = format!("watch-{number}");
        let every_ms = self.scene.between(3, 30) * 1_000;
        let grace_ms = self.scene.between(0, 5) * 1_000;
        self.scene.sleep(self.scene.between(0, 20_000)).await;
        let settings = MonitorSettings {
            name: name.clone(),
            description: None,
            every: Some(Millis::from_ms(every_ms.unsigned_abs())),
            cron: None,
            timezone: None,
            grace: Millis::from_ms(grace_ms.unsigned_abs()),
            severity: Severity::default(),
            escalation: None,
        };
        let id = Monitor::id(&name);
        loop {
            let settings = settings.clone();
            let added = self.wish(Wish::AddMonitor { name: name.clone() }, move |engine| {
                let command = MonitorCommand::Add { settings: settings.clone(), token: "t".into() };
                Box::pin(async move { answered(engine.command::<Monitor>(id, command).await, |_| None) })
            });
            if added.await != WholeAnswer::Unknown || self.scene.is_calm() {
                break;
            }
            self.scene.sleep(2_000).await;
        }
        self.known().monitors.push((name, id));
        while !self.scene.is_calm() {
            let late = if self.scene.chance(150) { 3 * every_ms } else { 0 };
            self.scene.sleep(self.scene.between(every_ms / 2, every_ms) + late).await;
            if !self.scene.is_calm() {
                self.ping(id).await;
            }
        }
    }

    async fn ping(&self, monitor: Uuid) {
        let body = self.new_id();
        let signal =
            self.scene.with_rng(|rng| *rng.pick(&[Signal::Success, Signal::Success, Signal::Start, Signal::Fail]));
        self.wish(Wish::Ping { monitor, signal, body }, move |engine| {
            let command = MonitorCommand::Ping(SentPing { body: Some(body), ..SentPing::of(signal) });
            Box::pin(async move { answered(engine.command::<Monitor>(monitor, command).await, |_| None) })
        })
        .await;
    }
}
