//! Jobs and events to bytes and back. The only place that knows how they are written.

use ordo_model::job::{Event, Job, Run, Unfoldable};
use ordo_model::{JobId, Timestamp};
use ordo_store::{Event as Stored, Fault, NewEvent};
use serde::Deserialize;
use serde_json::Value;

pub fn encode_job(job: &Job) -> Vec<u8> {
    serde_json::to_vec(job).expect("a job is plain data")
}

pub fn decode_job(bytes: &[u8]) -> Result<Job, Fault> {
    serde_json::from_slice(bytes).map_err(|e| Fault::damaged(format!("a job's snapshot cannot be read: {e}")))
}

pub fn encode_run(run: &Run) -> Vec<u8> {
    serde_json::to_vec(run).expect("a run is plain data")
}

pub fn decode_run(bytes: &[u8]) -> Result<Run, Fault> {
    serde_json::from_slice(bytes).map_err(|e| Fault::damaged(format!("a run's row cannot be read: {e}")))
}

/// The event's own data; its name and time stand beside it in the store.
pub fn encode_event(event: &Event, at: Timestamp) -> NewEvent {
    let mut form = serde_json::to_value(event).expect("an event is plain data");
    let data = form.get_mut("data").map(Value::take).unwrap_or_default();
    NewEvent { at, kind: event.name().to_owned(), data: serde_json::to_vec(&data).expect("JSON is plain data") }
}

/// An event as it stands in a stream: one that happened, or the folded job that replaced those before it.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    Happened(Event),
    Checkpoint(Box<Job>),
}

pub fn decode_event(stored: &Stored) -> Result<Recorded, Fault> {
    let unreadable = |e: serde_json::Error| {
        Fault::damaged(format!("event {} of {} ({}) cannot be read: {e}", stored.version, stored.entity, stored.kind))
    };
    if stored.kind == Event::CHECKPOINT {
        return serde_json::from_slice(&stored.data).map(Recorded::Checkpoint).map_err(unreadable);
    }
    let data: Value = serde_json::from_slice(&stored.data).map_err(unreadable)?;
    let form = serde_json::json!({ "type": stored.kind, "data": data });
    Event::deserialize(form).map(Recorded::Happened).map_err(unreadable)
}

/// Moves a job on by one recorded event; answers the run it touched.
pub fn fold(job: &mut Option<Job>, stored: &Stored) -> Result<Option<Run>, Fault> {
    let broken = |e: Unfoldable| Fault::damaged(format!("event {} of {}: {e}", stored.version, stored.entity));
    match (decode_event(stored)?, job.as_mut()) {
        (Recorded::Checkpoint(folded), _) => {
            *job = Some(*folded);
            Ok(None)
        }
        (Recorded::Happened(event), Some(job)) => ordo_model::job::apply(job, &event, stored.at).map_err(broken),
        (Recorded::Happened(event), None) => {
            *job = Some(ordo_model::job::create(JobId(stored.entity.id), &event, stored.at).map_err(broken)?);
            Ok(None)
        }
    }
}
