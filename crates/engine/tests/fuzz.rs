//! What is stored or handed out, bent: a cursor, an event, a snapshot. A reader says no; it never breaks.

use ordo_engine::codec;
use ordo_engine::page::Cursor;
use ordo_fuzz::{fuzz, fuzz_text};
use ordo_model::job::{Definition, Job};
use ordo_model::{EntityId, JobId, Kind, Timestamp};
use ordo_store::{EventActor, Position, StoredEvent};
use serde_json::json;
use uuid::Uuid;

#[test]
fn fuzz_cursors() {
    fuzz_text("cursor", include_str!("corpus/cursor.txt"), |text| {
        if let Ok(cursor) = text.parse::<Cursor>() {
            let again = cursor.to_string().parse::<Cursor>();
            assert!(again.is_ok_and(|again| again == cursor), "{text:?}");
        }
    });
}

#[test]
fn fuzz_stored_events() {
    fuzz_text("event", include_str!("corpus/event.txt"), |text| {
        let (kind, data) = text.split_once('\n').unwrap_or((text, ""));
        let stored = StoredEvent {
            entity: EntityId { kind: Kind::Job, id: Uuid::nil() },
            version: 1,
            position: Position::default(),
            at: Timestamp::MIN,
            kind: kind.to_owned(),
            data: data.as_bytes().to_vec(),
            actor: EventActor::Ordo,
        };
        drop(codec::decode_event(&stored));
        drop(codec::fold(&mut None, &stored));
    });
}

fn snapshot() -> Vec<u8> {
    let form = json!({ "label": "x", "tool_name": "noop", "trigger": { "type": "scheduled", "every": "1m" } });
    let definition: Definition = serde_json::from_value(form).expect("it can be written and read");
    let event = ordo_model::job::Event::JobScheduled { definition: definition.into(), held: false, next: None };
    let at = Timestamp::from_ms(1_792_800_000_000).expect("it can be written and read");
    let new = codec::encode_event(&event, at);
    let entity: EntityId = JobId(Uuid::nil()).into();
    let stored = StoredEvent {
        entity,
        version: 1,
        position: Position::default(),
        at,
        kind: new.kind,
        data: new.data,
        actor: EventActor::Ordo,
    };
    let mut job: Option<Job> = None;
    codec::fold(&mut job, &stored).expect("it can be written and read");
    codec::encode_job(&job.expect("it can be written and read"))
}

#[test]
fn fuzz_snapshots() {
    fuzz("snapshot", &[snapshot(), b"{}".to_vec()], |bytes| {
        drop(codec::decode_run(bytes));
        if let Ok(job) = codec::decode_job(bytes) {
            assert!(codec::decode_job(&codec::encode_job(&job)).is_ok());
        }
    });
}
