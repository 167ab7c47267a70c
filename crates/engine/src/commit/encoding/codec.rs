//! Jobs and events to bytes and back. The only place that knows how they are written.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ordo_model::job::{Event, Job, Run, RunStatusKind, Unfoldable};
use ordo_model::{JobId, Timestamp};
use ordo_store::{EventActor, Fault, NewEvent, StoredEvent as Stored};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The name under which a checkpoint stands in a stream; its data is the folded state.
pub const CHECKPOINT: &str = Event::CHECKPOINT;

pub fn encode_job(job: &Job) -> Vec<u8> {
    pack(job)
}

pub fn decode_job(bytes: &[u8]) -> Result<Job, Fault> {
    unpack(bytes).map_err(|e| Fault::damaged(format!("a job's snapshot cannot be read: {e}")))
}

pub fn encode_run(run: &Run) -> Vec<u8> {
    pack(run)
}

pub fn decode_run(bytes: &[u8]) -> Result<Run, Fault> {
    unpack(bytes).map_err(|e| Fault::damaged(format!("a run's row cannot be read: {e}")))
}

/// How a run stands, without reading what it brought about: a list shows many runs of each job as beats.
pub(crate) fn decode_run_status(bytes: &[u8]) -> Result<RunStatusKind, Fault> {
    #[derive(Deserialize)]
    struct StatusOfRun {
        status: StatusTag,
    }
    #[derive(Deserialize)]
    struct StatusTag {
        #[serde(rename = "type")]
        kind: RunStatusKind,
    }
    let standing: Result<StatusOfRun, String> = unpack(bytes);
    standing.map(|read| read.status.kind).map_err(|e| Fault::damaged(format!("a run's row cannot be read: {e}")))
}

/// What follows from events is read by Ordo alone, and written with every one of them: in MessagePack with the names of
/// the fields, so that fields may come and go. Events are JSON, for everybody.
fn pack(value: &impl Serialize) -> Vec<u8> {
    with_scratch(|scratch| {
        rmp_serde::encode::write_named(scratch, value).expect("what is packed is plain data");
        scratch.clone()
    })
}

/// Room to write in: what is written is then copied once, in its size, instead of growing and being kept with its slack.
fn with_scratch<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        write(scratch)
    })
}

/// Earlier versions wrote JSON, whose first byte begins no map in MessagePack.
fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.first() {
        Some(b'{') => from_json(bytes).map_err(|error| error.to_string()),
        _ => rmp_serde::from_slice(bytes).map_err(|error| error.to_string()),
    }
}

/// Reads what is stored as JSON. Earlier versions took inputs as deep as a reader of JSON goes, and stored them inside something:
/// what is too deep at once is read part by part.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| match by_parts(bytes) {
        Some(value) => T::deserialize(value),
        None => Err(error),
    })
}

/// The reader of parts that are left as they are goes as deep as they do.
fn by_parts(bytes: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(value);
    }
    if let Ok(fields) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(bytes) {
        let part = |(name, part): (String, &RawValue)| Some((name, by_parts(part.get().as_bytes())?));
        return fields.into_iter().map(part).collect::<Option<Map<String, Value>>>().map(Value::Object);
    }
    let items: Vec<&RawValue> = serde_json::from_slice(bytes).ok()?;
    items.iter().map(|part| by_parts(part.get().as_bytes())).collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// The folded job that replaces the beginning of its stream: an event, so JSON.
pub fn encode_checkpoint(job: &Job, at: Timestamp) -> NewEvent {
    let data = serde_json::to_vec(job).expect("a job is plain data");
    NewEvent { at, kind: Event::CHECKPOINT.to_owned(), data, actor: EventActor::Ordo }
}

/// The event's own data; its name and time stand beside it in the store.
pub fn encode_event(event: &Event, at: Timestamp) -> NewEvent {
    // The form is {"type":"<name>","data":<data>}: the data is cut out of it, without parsing it again.
    let prefix = r#"{"type":"","data":"#.len() + event.name().len();
    let data = with_scratch(|form| {
        serde_json::to_writer(&mut *form, event).expect("an event is plain data");
        form[prefix..form.len() - 1].to_vec()
    });
    NewEvent { at, kind: event.name().to_owned(), data, actor: EventActor::Ordo }
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
        return from_json(&stored.data).map(Recorded::Checkpoint).map_err(unreadable);
    }
    let data: Value = from_json(&stored.data).map_err(unreadable)?;
    let form = serde_json::json!({ "type": stored.kind, "data": data });
    Event::deserialize(form).map(Recorded::Happened).map_err(unreadable)
}

/// What an event did besides moving the job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moved {
    pub run: Option<Run>,
    /// Finished runs that began before this version have no rows any more.
    pub forgotten_below: Option<u64>,
}

/// Moves a job on by one recorded event.
pub fn fold(job: &mut Option<Job>, stored: &Stored) -> Result<Moved, Fault> {
    let broken = |e: Unfoldable| Fault::damaged(format!("event {} of {}: {e}", stored.version, stored.entity));
    match (decode_event(stored)?, job.as_mut()) {
        (Recorded::Checkpoint(folded), _) => {
            *job = Some(*folded);
            Ok(Moved::default())
        }
        (Recorded::Happened(event), Some(job)) => {
            let run = ordo_model::job::apply(job, &event, stored.at).map_err(broken)?;
            let forgotten_below = match event {
                Event::HistoryTrimmed { below, .. } => Some(below),
                _ => None,
            };
            Ok(Moved { run, forgotten_below })
        }
        (Recorded::Happened(event), None) => {
            *job = Some(ordo_model::job::create(JobId(stored.entity.id), &event, stored.at).map_err(broken)?);
            Ok(Moved::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::EntityId;
    use ordo_store::Position;
    use uuid::Uuid;

    #[test]
    fn what_earlier_versions_took_in_is_read_however_deep_it_is() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [1, 126, 127, 200] {
            let text = format!(r#"{{"definition":{{"tool_input":{},"label":"a"}},"held":false}}"#, nested(levels));
            let value: Value = from_json(text.as_bytes()).unwrap();
            let mut inner = &value["definition"]["tool_input"];
            for _ in 1..levels {
                inner = &inner[0];
            }
            assert_eq!((inner, &value["definition"]["label"]), (&serde_json::json!([]), &serde_json::json!("a")));
        }
        for broken in ["", "{", "[[}", &nested(200)[..300], "{} x"] {
            assert!(from_json::<Value>(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_event_reads_back_as_it_was_written() {
        let at = Timestamp::from_ms(1_000).unwrap();
        let run_id = ordo_model::RunId(Uuid::from_u128(7));
        for event in [
            Event::JobPaused { reason: None },
            Event::JobPaused { reason: Some("\"}{ tricky".into()) },
            Event::RunReady { run_id },
            Event::JobFailed {
                run_id,
                attempt: 2,
                reason: "no".into(),
                started_at: Some(at),
                retry_at: None,
                verdict: Default::default(),
            },
        ] {
            let new = encode_event(&event, at);
            let entity = EntityId::from(JobId(Uuid::from_u128(1)));
            let NewEvent { at, kind, data, actor } = new;
            let stored = Stored { entity, version: 2, position: Position::default(), at, kind, data, actor };
            assert_eq!(decode_event(&stored).unwrap(), Recorded::Happened(event));
        }
    }
}
