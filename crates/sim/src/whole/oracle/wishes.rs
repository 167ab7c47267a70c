//! What was asked and answered, against what the log shows of it.
//!
//! Invariant: what was acknowledged took effect; what was refused did not; what was not answered took effect as a whole or
//! not at all.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::incident::IncidentEvent;
use ordo_model::job::{Cause, Event};
use ordo_model::monitor::MonitorEvent;
use ordo_model::{EntityId, Kind};
use uuid::Uuid;

use super::WholeEntry;
use crate::oracle::{Ruling, require};
use crate::whole::facts::{AnyEvent, WholeAnswer, Wish};

#[derive(Default)]
pub(super) struct Wishes {
    open: BTreeMap<u32, Wish>,
    /// What the log has shown: an entity, and the marker of what was asked of it.
    shown: BTreeSet<(Uuid, String)>,
    entities: BTreeSet<EntityId>,
    refused: BTreeSet<(Uuid, String)>,
    paused: BTreeSet<Uuid>,
    /// Asks for a pause of a job that was paused at some time since.
    were_paused: BTreeSet<u32>,
}

impl Wishes {
    pub(super) fn asked(&mut self, op: u32, wish: &Wish) {
        if matches!(wish, Wish::Pause { job, .. } if self.paused.contains(&job.0)) {
            self.were_paused.insert(op);
        }
        self.open.insert(op, wish.clone());
    }

    pub(super) fn answered(&mut self, op: u32, answer: &WholeAnswer) -> Ruling {
        let wish = self.open.remove(&op).ok_or("an answer to nothing")?;
        match answer {
            WholeAnswer::Unknown => Ok(()),
            WholeAnswer::Done(made) => {
                let was_paused = self.were_paused.contains(&op);
                require(was_paused || self.took_effect(&wish, *made), || {
                    format!("op {op} was acknowledged and is lost: {wish:?}")
                })
            }
            WholeAnswer::Before(made) => {
                let entity = EntityId { kind: Kind::Delivery, id: *made };
                let known = !matches!(wish, Wish::Deliver { .. }) || self.entities.contains(&entity);
                require(known, || format!("op {op}: said to be done before, and is not in the log: {wish:?}"))
            }
            WholeAnswer::Refused(_) => {
                let marker = marker(&wish);
                let shown = marker.as_ref().is_some_and(|marker| self.shown.contains(marker));
                // Whoever asks again for what an unheard answer had done is refused.
                if matches!(wish, Wish::CreateJob { .. }) {
                    return Ok(());
                }
                self.refused.extend(marker);
                require(!shown, || format!("op {op} was refused and took effect all the same: {wish:?}"))
            }
        }
    }

    fn took_effect(&self, wish: &Wish, made: Option<Uuid>) -> bool {
        let has = |kind, id| self.entities.contains(&EntityId { kind, id });
        match wish {
            Wish::CreateJob { job, .. } => has(Kind::Job, job.0),
            Wish::Pause { job, marker } => self.shown.contains(&(job.0, marker.clone())),
            Wish::Resume { .. } | Wish::CancelRun { .. } | Wish::Cancel { .. } => true,
            Wish::Trigger { job, marker } => {
                self.shown.contains(&(job.0, marker.clone())) || self.shown.contains(&(job.0, SKIPPED.into()))
            }
            Wish::StartIncident { .. } => made.is_some_and(|id| has(Kind::Incident, id)),
            Wish::AddMonitor { name } => has(Kind::Monitor, ordo_model::monitor::Monitor::id(name)),
            Wish::Deliver { .. } => made.is_some_and(|id| has(Kind::Delivery, id)),
            Wish::Update { .. }
            | Wish::Note { .. }
            | Wish::Status { .. }
            | Wish::Acknowledge { .. }
            | Wish::Ping { .. } => marker(wish).is_some_and(|marker| self.shown.contains(&marker)),
        }
    }

    pub(super) fn logged(&mut self, entry: WholeEntry, event: &AnyEvent) {
        let id = entry.entity.id;
        self.entities.insert(entry.entity);
        let mut shown: Vec<String> = Vec::new();
        match event {
            AnyEvent::Job(event) => match event.as_ref() {
                Event::JobPaused { reason } => {
                    self.paused.insert(id);
                    let same = |(_, wish): &(&u32, &Wish)| matches!(wish, Wish::Pause { job, .. } if job.0 == id);
                    self.were_paused.extend(self.open.iter().filter(same).map(|(op, _)| *op));
                    shown.extend(reason.clone());
                }
                Event::JobResumed { .. } => drop(self.paused.remove(&id)),
                Event::JobCancelled { reason } => shown.extend(reason.clone()),
                Event::JobUpdated { definition, .. } => shown.extend(definition.description.clone()),
                Event::JobTriggered { cause: Cause::Manual, tool_input, .. } => {
                    let by = tool_input.as_ref().and_then(|input| input["by"].as_str());
                    shown.extend(by.map(str::to_owned));
                }
                Event::JobSkipped { cause: Cause::Manual, .. } => shown.push(SKIPPED.into()),
                Event::RunCancelled { reason, .. } | Event::RunCancelRequested { reason, .. } => {
                    shown.push(reason.clone());
                }
                _ => {}
            },
            AnyEvent::Incident(event) => match event.as_ref() {
                IncidentEvent::NoteAdded { text, .. } => shown.push(text.clone()),
                IncidentEvent::StatusUpdated { message, .. } => shown.extend(message.clone()),
                IncidentEvent::Acknowledged { by, .. } => shown.push(by.actor.clone()),
                _ => {}
            },
            AnyEvent::Monitor(event) => {
                if let MonitorEvent::MonitorPinged { body: Some(body), .. } = event.as_ref() {
                    shown.push(body.to_string());
                }
            }
            AnyEvent::Notification(_) | AnyEvent::Delivery(_) | AnyEvent::Other(_) => {}
        }
        self.shown.extend(shown.into_iter().map(|marker| (id, marker)));
    }

    pub(super) fn close(&self) -> Vec<String> {
        let shown = self.refused.iter().filter(|refused| self.shown.contains(*refused));
        shown.map(|(id, marker)| format!("{marker} on {id} was refused and took effect later")).collect()
    }
}

/// That a run that somebody asked for was skipped.
const SKIPPED: &str = "manual skip";

fn marker(wish: &Wish) -> Option<(Uuid, String)> {
    match wish {
        Wish::Pause { job, marker }
        | Wish::Update { job, marker }
        | Wish::Trigger { job, marker }
        | Wish::Cancel { job, marker }
        | Wish::CancelRun { job, marker, .. } => Some((job.0, marker.clone())),
        Wish::Note { incident, marker }
        | Wish::Status { incident, marker }
        | Wish::Acknowledge { incident, marker } => Some((*incident, marker.clone())),
        Wish::Ping { monitor, body, .. } => Some((*monitor, body.to_string())),
        Wish::CreateJob { .. }
        | Wish::Resume { .. }
        | Wish::StartIncident { .. }
        | Wish::AddMonitor { .. }
        | Wish::Deliver { .. } => None,
    }
}
