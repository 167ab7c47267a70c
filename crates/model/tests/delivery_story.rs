//! The lifecycle of a delivery: arrival, runs, replay, the end of its payload and its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::hook::{Bound, Delivery, DeliveryCommand, DeliveryEvent, DeliveryOutcome, DeliveryRefusal};
use ordo_model::limits::{DELIVERY_CHECK_MAX, DELIVERY_CHECK_MIN, DELIVERY_KEPT, DELIVERY_WAIT_MAX};
use ordo_model::object::Object;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

const PAYLOAD: Uuid = Uuid::from_u128(99);

struct DeliveryStory {
    now: Timestamp,
    state: Option<Delivery>,
}

fn job(n: u128) -> JobId {
    JobId(Uuid::from_u128(n))
}

fn run(n: u128) -> RunId {
    RunId(Uuid::from_u128(n))
}

#[test]
fn what_became_of_a_delivery_is_read_by_its_former_name_too() {
    let id = run(1).to_string();
    let all = [
        (bound(1, DeliveryOutcome::Waiting), json!({ "fate": "waiting" })),
        (running(1), json!({ "fate": "running", "run": id })),
        (ended(1, "completed"), json!({ "fate": "ended", "run": id, "status": "completed" })),
        (bound(1, DeliveryOutcome::Refused { reason: "full".into() }), json!({ "fate": "refused", "reason": "full" })),
    ];
    for (bound, mut former) in all {
        let mut written = serde_json::to_value(&bound).unwrap();
        assert_eq!(serde_json::from_value::<Bound>(written.clone()).unwrap(), bound);
        former["job"] = written["job"].take();
        assert_eq!(written["outcome"], former["fate"]);
        assert_eq!(serde_json::from_value::<Bound>(former).unwrap(), bound);
    }
    for wrong in [json!({ "outcome": "running" }), json!({ "outcome": "odd" }), json!({ "run": id })] {
        let mut wrong = wrong;
        wrong["job"] = json!(bound(1, DeliveryOutcome::Waiting).job);
        assert!(serde_json::from_value::<Bound>(wrong).is_err());
    }
}

fn bound(n: u128, outcome: DeliveryOutcome) -> Bound {
    Bound { job: job(n), outcome }
}

fn running(n: u128) -> Bound {
    bound(n, DeliveryOutcome::Running { run: run(n) })
}

fn ended(n: u128, status: &str) -> Bound {
    bound(n, DeliveryOutcome::Ended { run: run(n), status: status.into() })
}

fn receive(passes: bool, jobs: &[u128]) -> DeliveryCommand {
    DeliveryCommand::Receive {
        hook: "push".into(),
        sender_id: Some("d-1".into()),
        content_type: Some("application/json".into()),
        bytes: 10,
        payload: PAYLOAD,
        passes,
        jobs: jobs.iter().map(|n| job(*n)).collect(),
    }
}

impl DeliveryStory {
    fn of(jobs: &[u128]) -> DeliveryStory {
        let mut story = DeliveryStory { now: Timestamp::from_ms(1_000_000).unwrap(), state: None };
        story.ask(receive(true, jobs)).unwrap();
        story
    }

    fn ask(&mut self, command: DeliveryCommand) -> Result<Vec<DeliveryEvent>, DeliveryRefusal> {
        let id = Delivery::id("push", "d-1").id;
        let events = Delivery::decide(id, self.state.as_ref(), command, self.now)?;
        for event in &events {
            let stored = serde_json::to_string(event).unwrap();
            assert_eq!(&serde_json::from_str::<DeliveryEvent>(&stored).unwrap(), event, "{stored}");
            self.state = Some(Delivery::apply(id, self.state.take(), event, self.now).unwrap());
        }
        let stored = serde_json::to_string(&self.state).unwrap();
        assert_eq!(serde_json::from_str::<Option<Delivery>>(&stored).unwrap(), self.state, "{stored}");
        Ok(events)
    }

    fn check(&mut self, found: &[Bound]) -> Vec<&'static str> {
        let events = self.ask(DeliveryCommand::Check { found: found.to_vec() }).unwrap();
        events.iter().map(DeliveryEvent::name).collect()
    }

    fn state(&self) -> &Delivery {
        self.state.as_ref().unwrap()
    }

    fn wake(&self) -> Millis {
        self.state().next_turn().unwrap().since(self.now)
    }
}

#[test]
fn a_delivery_is_routed_at_once_and_its_payload_goes_with_its_last_run() {
    let mut story = DeliveryStory::of(&[1, 2]);
    assert_eq!((story.wake(), story.state().status()), (Millis::from_ms(0), "received"));
    assert_eq!(story.check(&[running(1), running(2)]), ["DeliveryRouted"]);
    assert_eq!((story.wake(), story.state().status()), (DELIVERY_CHECK_MIN, "running"));
    assert_eq!(story.check(&[ended(1, "completed"), running(2)]), ["DeliveryRunsEnded"]);
    assert_eq!(story.state().chunk_owners(), [PAYLOAD]);
    assert_eq!(story.check(&[ended(1, "completed"), ended(2, "cancelled")]), ["DeliveryRunsEnded", "PayloadForgotten"]);
    assert!(story.state().chunk_owners().is_empty());
    assert_eq!((story.wake(), story.state().status()), (DELIVERY_KEPT, "done"));
    assert_eq!(story.check(&[]), Vec::<&str>::new(), "nothing is left to do");
}

#[test]
fn the_same_delivery_again_is_a_duplicate_until_it_is_forgotten() {
    let mut story = DeliveryStory::of(&[]);
    assert_eq!(story.ask(receive(true, &[])), Err(DeliveryRefusal::Duplicate));
    story.now = story.now.plus(DELIVERY_KEPT);
    assert_eq!(story.check(&[]), ["DeliveryForgotten"]);
    assert!(story.state().is_over());
    assert_ne!(Delivery::id("push", "d-1"), Delivery::id("push", "d-2"));
    assert_ne!(Delivery::id("push", "d-1"), Delivery::id("pull", "d-1"));
}

#[test]
fn a_failed_run_keeps_the_payload_for_a_replay() {
    let mut story = DeliveryStory::of(&[1, 2]);
    story.check(&[running(1), running(2)]);
    assert_eq!(story.ask(DeliveryCommand::Replay { jobs: vec![job(1)] }), Err(DeliveryRefusal::NotOver));
    assert_eq!(story.check(&[ended(1, "failed"), ended(2, "completed")]), ["DeliveryRunsEnded"]);
    assert_eq!((story.state().status(), story.state().payload), ("failed", Some(PAYLOAD)));
    story.now = story.now.plus(Millis::from_hours(1));
    story.ask(DeliveryCommand::Replay { jobs: vec![job(1)] }).unwrap();
    assert_eq!((story.state().replays, story.wake()), (1, Millis::from_ms(0)));
    story.check(&[running(1)]);
    assert_eq!(story.check(&[ended(1, "completed")]), ["DeliveryRunsEnded", "PayloadForgotten"]);
    assert_eq!(story.ask(DeliveryCommand::Replay { jobs: vec![] }), Err(DeliveryRefusal::PayloadGone));
}

#[test]
fn what_no_job_took_can_be_replayed_for_seven_days() {
    for outcome in
        [None, Some(ended(1, "skipped")), Some(bound(1, DeliveryOutcome::Refused { reason: "cancelled".into() }))]
    {
        let mut story = DeliveryStory::of(if outcome.is_some() { &[1] } else { &[] });
        story.check(&outcome.clone().into_iter().collect::<Vec<_>>());
        assert_eq!((story.state().payload, story.wake()), (Some(PAYLOAD), DELIVERY_KEPT), "{outcome:?}");
        story.ask(DeliveryCommand::Replay { jobs: vec![job(7)] }).unwrap();
        assert_eq!(story.state().status(), "received");
    }
}

#[test]
fn nothing_is_kept_of_what_the_filter_holds_back_but_that_it_came() {
    let mut story = DeliveryStory { now: Timestamp::from_ms(0).unwrap(), state: None };
    story.ask(receive(false, &[1])).unwrap();
    assert_eq!((story.state().status(), story.state().bound.len()), ("filtered", 0));
    assert!(story.state().chunk_owners().is_empty());
    assert_eq!(story.ask(receive(false, &[1])), Err(DeliveryRefusal::Duplicate));
    assert_eq!(story.ask(DeliveryCommand::Replay { jobs: vec![] }), Err(DeliveryRefusal::PayloadGone));
}

#[test]
fn a_delivery_is_looked_after_ever_less_often() {
    let mut story = DeliveryStory::of(&[1]);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        story.now = story.state().next_turn().unwrap();
        assert_eq!(story.check(&[bound(1, DeliveryOutcome::Waiting)]), ["DeliveryLookedAfter"]);
        pauses.push(story.wake());
    }
    assert_eq!(pauses[..3], [1, 1, 2].map(Millis::from_secs));
    assert_eq!(pauses[7], DELIVERY_WAIT_MAX);
    story.check(&[running(1)]);
    for _ in 0..8 {
        story.now = story.state().next_turn().unwrap();
        story.check(&[running(1)]);
    }
    assert_eq!(story.wake(), DELIVERY_CHECK_MAX);
    // Checked early, because somebody thought there was news: the alarm stays where it is.
    let alarm = story.state().next_turn();
    story.now = story.now.plus(Millis::from_secs(1));
    assert_eq!(story.check(&[running(1)]), Vec::<&str>::new());
    assert_eq!(story.state().next_turn(), alarm);
}

#[test]
fn a_delivery_outlives_its_time_while_a_run_needs_it() {
    let mut story = DeliveryStory::of(&[1]);
    story.check(&[running(1)]);
    story.now = story.now.plus(DELIVERY_KEPT).plus(DELIVERY_KEPT);
    assert_eq!(story.check(&[running(1)]), ["DeliveryLookedAfter"]);
    assert_eq!(story.check(&[ended(1, "completed")]), ["DeliveryRunsEnded", "DeliveryForgotten"]);
}

#[test]
fn what_is_over_is_not_changed_by_a_late_check() {
    let mut story = DeliveryStory::of(&[1]);
    story.check(&[ended(1, "failed")]);
    assert_eq!(story.check(&[running(1)]), Vec::<&str>::new());
    assert_eq!(story.check(&[running(5)]), Vec::<&str>::new(), "a job that is not bound is none of its business");
}

/// Stores written before the field was renamed say `look_at`.
#[test]
fn a_delivery_stored_with_look_at_is_read_and_written_with_check_at() {
    let mut story = DeliveryStory::of(&[1]);
    story.check(&[running(1)]);
    let now = serde_json::to_value(story.state()).unwrap();
    let before = renamed(&now, "check_at", "look_at");
    assert_eq!(serde_json::from_value::<Delivery>(before).unwrap(), *story.state());

    let check_at = story.state().check_at;
    for event in [
        DeliveryEvent::DeliveryRouted { bound: vec![running(1)], check_at },
        DeliveryEvent::DeliveryRunsEnded { bound: vec![ended(1, "failed")], check_at },
        DeliveryEvent::DeliveryLookedAfter { check_at },
    ] {
        let now = serde_json::to_value(&event).unwrap();
        let before = json!({ "type": now["type"], "data": renamed(&now["data"], "check_at", "look_at") });
        assert_eq!(serde_json::from_value::<DeliveryEvent>(before).unwrap(), event);
    }
}

fn renamed(object: &Value, from: &str, to: &str) -> Value {
    let mut fields = object.as_object().unwrap().clone();
    let value = fields.remove(from).unwrap();
    fields.insert(to.to_owned(), value);
    Value::Object(fields)
}
