//! What a job and a run cost, in counts that no machine changes: items, events, rows, bytes and allocations from command
//! to batch. A change that adds to one of them fails here, and says by how much.
//!
//! The figures are limits with little above what is needed today: whoever lowers the cost lowers them too.

use std::sync::Arc;

use allocation_counter::measure;
use ordo_engine::Request;
use ordo_engine::actor::encode_actor;
use ordo_engine::change::SlotLocation;
use ordo_engine::rounds::{Loaded, Rounds};
use ordo_model::job::{AttemptReport, Command, Definition, Pool, SlotReservation, SlottedCommand};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use ordo_model::{Actor, ActorSource, FencingToken, Incarnation, JobId, RunId, Timestamp};
use ordo_store::{Batch, CommitOutcome, Disposition, EventActor};
use serde_json::json;
use uuid::Uuid;

/// As many as a busy round has.
const JOBS: u64 = 128;

/// What one command of a round came to, on average; allocations for planning alone.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    items: u64,
    events: u64,
    rows: u64,
    bytes: u64,
    allocations: u64,
}

impl Cost {
    fn of(batch: &Batch, allocations: u64) -> Cost {
        let each = |sum: usize| (sum as u64).div_ceil(JOBS);
        Cost {
            items: each(batch.items.len()),
            events: each(batch.items.iter().map(|item| item.events.len()).sum()),
            rows: each(batch.items.iter().map(|item| item.rows.len()).sum()),
            bytes: each(batch.bytes()),
            allocations: allocations.div_ceil(JOBS),
        }
    }

    fn expect_at_most(&self, what: &str, limit: Cost) {
        let is_within = self.items <= limit.items
            && self.events <= limit.events
            && self.rows <= limit.rows
            && self.bytes <= limit.bytes
            && self.allocations <= limit.allocations;
        assert!(is_within, "{what} costs {self:?}, and must not cost more than {limit:?}");
    }
}

struct Planning {
    rounds: Rounds,
    now: Timestamp,
}

impl Planning {
    /// Decides one round; returns what it costs, and what it commits.
    fn round(&mut self, requests: Vec<Request>) -> (Cost, Batch) {
        requests.into_iter().for_each(|request| self.rounds.push(request.unanswered()));
        let gathered = self.rounds.gather().expect("a round");
        let loaded = Loaded { snapshots: vec![None; gathered.missing.len()], ..Loaded::default() };
        let mut flight = None;
        let counted = measure(|| flight = Some(self.rounds.plan(gathered, Ok(loaded), self.now)));
        let mut flight = flight.expect("it was planned");
        let batch = flight.take_batch();
        let outcome = |item: &ordo_store::Item| CommitOutcome::Committed {
            version: item.expected + item.events.len() as u64,
            last: None,
        };
        let outcomes = batch.items.iter().map(outcome).collect();
        let settled = self.rounds.settle(flight, Ok(outcomes));
        assert!(settled.fault.is_none());
        assert_eq!(settled.changes.len() as u64, JOBS);
        (Cost::of(&batch, counted.count_total), batch)
    }
}

fn jobs() -> impl Iterator<Item = JobId> {
    (1..=u128::from(JOBS)).map(|number| JobId(Uuid::from_u128(number)))
}

fn definition(now: Timestamp) -> Definition {
    let form = json!({
        "label": "send-reminder",
        "tool_name": "noop",
        "tool_input": { "id": 123, "to": "somebody@example.org", "text": "as long as such an input is, about" },
        "trigger": { "type": "scheduled", "at": now.plus(ordo_model::Millis::from_secs(60)) },
    });
    serde_json::from_value(form).expect("a definition")
}

fn slotted(job: JobId, command: Command) -> Request {
    let executor = Incarnation { executor: "local".into(), generation: Uuid::from_u128(7) };
    let reservation = SlotReservation {
        executor,
        group: "default".into(),
        tools: None,
        draw: 9,
        has_others: false,
        is_keyless: false,
    };
    Request {
        slotted: SlottedCommand { command, reservation: Some(reservation) },
        location: Some(SlotLocation::Local(Pool::Fast)),
        ..Request::new(job, Command::Wake)
    }
}

/// The run that each item started, with its token, as the snapshots name them.
fn started(batch: &Batch) -> Vec<(RunId, FencingToken)> {
    let run = |item: &ordo_store::Item| {
        let Disposition::Keep { snapshot, .. } = &item.disposition else { panic!("it is kept") };
        let job = ordo_engine::codec::decode_job(snapshot).expect("a snapshot");
        let run = job.active.first().expect("a run");
        (run.id, run.attempt().expect("an attempt").token)
    };
    batch.items.iter().map(run).collect()
}

#[test]
fn a_job_costs_no_more_than_it_did() {
    let now = Timestamp::from_ms(1_800_000_000_000).unwrap();
    let mut planning = Planning { rounds: Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default()), now };
    let schedule = |job| Request::new(job, Command::Schedule { definition: Box::new(definition(now)), held: false });
    let (scheduled, _) = planning.round(jobs().map(schedule).collect());
    scheduled.expect_at_most("scheduling", Cost { items: 1, events: 1, rows: 4, bytes: 1_310, allocations: 30 });

    planning.now = now.plus(ordo_model::Millis::from_secs(60));
    let (fired, batch) = planning.round(jobs().map(|job| slotted(job, Command::Wake)).collect());
    fired.expect_at_most("firing with a slot", Cost { items: 1, events: 2, rows: 4, bytes: 1_730, allocations: 45 });

    let report = |(job, (run_id, token)): (JobId, (RunId, FencingToken))| {
        let report = AttemptReport::Completed { started_at: planning.now, result: json!({}), result_bytes: None };
        Request::new(job, Command::Report { run_id, token, report })
    };
    let reports = jobs().zip(started(&batch)).map(report).collect();
    let (reported, _) = planning.round(reports);
    reported.expect_at_most("reporting", Cost { items: 1, events: 1, rows: 5, bytes: 1_250, allocations: 29 });
}

/// The rows and bytes of a round in which somebody, or nobody, gives the command.
fn signed(actor: &EventActor, definition: &Definition, now: Timestamp) -> (Cost, Cost) {
    let mut planning = Planning { rounds: Rounds::new(false, OUTBOX_FLUSH_DELAY, Arc::default()), now };
    let schedule = |job| Request {
        actor: actor.clone(),
        ..Request::new(job, Command::Schedule { definition: Box::new(definition.clone()), held: false })
    };
    let (scheduled, _) = planning.round(jobs().map(schedule).collect());
    let pause = |job| Request { actor: actor.clone(), ..Request::new(job, Command::Pause { reason: None }) };
    let (paused, _) = planning.round(jobs().map(pause).collect());
    (scheduled, paused)
}

#[test]
fn a_change_by_somebody_costs_one_small_row_of_the_audit_and_a_one_off_none() {
    let now = Timestamp::from_ms(1_800_000_000_000).unwrap();
    let one_off = definition(now);
    let mut form = serde_json::to_value(&one_off).unwrap();
    form["trigger"] = json!({ "type": "scheduled", "every": "1h" });
    let recurring: Definition = serde_json::from_value(form).unwrap();
    let ci = encode_actor(&Actor::new("ci", ActorSource::Api).with_request(Some("01a1ec32-38fe-72bd".into())));
    let (by_ordo, _) = signed(&EventActor::Ordo, &one_off, now);
    let (by_ci, _) = signed(&ci, &one_off, now);
    assert_eq!(by_ci.rows, by_ordo.rows, "a one-off is a run that somebody asked for");
    let ((created, paused), (created_by_ci, paused_by_ci)) =
        (signed(&EventActor::Ordo, &recurring, now), signed(&ci, &recurring, now));
    assert_eq!((created_by_ci.rows, paused_by_ci.rows), (created.rows + 1, paused.rows + 1));
    let actor_bytes = match &ci {
        EventActor::Recorded(bytes) => bytes.len() as u64,
        EventActor::Ordo | EventActor::Unknown => 0,
    };
    // The event carries the actor as before; the row repeats it, beside its key, the name of the event and the label.
    let row_bytes = paused_by_ci.bytes - paused.bytes - actor_bytes;
    println!("the row of the audit has {row_bytes} bytes, {actor_bytes} of them the actor");
    assert!(row_bytes <= actor_bytes + 120, "{row_bytes} bytes");
}
