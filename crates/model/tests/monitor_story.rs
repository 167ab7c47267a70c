//! Monitors as stories: a sign of life in time, silence, failure, recovery.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::Timestamp;
use ordo_model::monitor::{
    Monitor, MonitorCommand, MonitorEvent, MonitorNotice, MonitorRefusal, MonitorSettings, PINGS_KEPT, SentPing, Signal,
};
use ordo_model::object::Object;
use serde_json::{Value, json};
use uuid::Uuid;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_ms(1_700_000_000_000 - 1_700_000_000_000 % 86_400_000 + secs * 1_000).unwrap()
}

fn settings(form: Value) -> MonitorSettings {
    serde_json::from_value(form).unwrap()
}

#[derive(Default)]
struct MonitorStory {
    monitor: Option<Monitor>,
    events: Vec<(Timestamp, MonitorEvent)>,
}

impl MonitorStory {
    fn given(form: Value) -> MonitorStory {
        let mut story = MonitorStory::default();
        story.tell(0, MonitorCommand::Add { settings: settings(form), token: "t".into() }).unwrap();
        story
    }

    fn tell(&mut self, secs: i64, command: MonitorCommand) -> Result<usize, MonitorRefusal> {
        let events = Monitor::decide(Uuid::nil(), self.monitor.as_ref(), command, at(secs))?;
        for event in &events {
            self.monitor = Some(Monitor::apply(Uuid::nil(), self.monitor.take(), event, at(secs)).unwrap());
            self.events.push((at(secs), event.clone()));
        }
        Ok(events.len())
    }

    fn ping(&mut self, secs: i64, signal: Signal) {
        self.tell(secs, MonitorCommand::Ping(SentPing::of(signal))).unwrap();
    }

    fn now(&self) -> &Monitor {
        self.monitor.as_ref().unwrap()
    }

    fn notices(&self) -> Vec<MonitorNotice> {
        self.now().outbox.entries().iter().map(|entry| entry.what.clone()).collect()
    }

    fn publish(&mut self, secs: i64) {
        let through = self.now().outbox.last_version().unwrap();
        self.tell(secs, MonitorCommand::Published { through }).unwrap();
    }
}

fn hourly() -> MonitorStory {
    MonitorStory::given(json!({ "name": "backup", "every": "1h", "grace": "5m" }))
}

#[test]
fn pings_in_time_keep_it_quiet() {
    let mut story = hourly();
    assert_eq!(story.now().next_turn(), Some(at(3_900)), "the period and the grace, from the beginning");
    story.ping(3_000, Signal::Success);
    assert_eq!((story.now().status.name(), story.now().next_turn()), ("up", Some(at(6_900))));
    assert_eq!(story.tell(3_900, MonitorCommand::Wake), Ok(0));
    assert!(story.notices().is_empty());
}

#[test]
fn silence_is_announced_once_and_the_next_success_is_a_recovery() {
    let mut story = hourly();
    story.tell(3_900, MonitorCommand::Wake).unwrap();
    assert_eq!(story.notices(), [MonitorNotice::Silent { due_at: at(3_900) }]);
    assert!(story.now().is_urgent());
    story.publish(3_900);
    assert_eq!(story.now().next_turn(), None, "silent is silent");
    story.ping(9_000, Signal::Start);
    assert_eq!(story.now().status.name(), "silent", "a start says nothing yet");
    story.ping(9_060, Signal::Success);
    assert_eq!(story.notices(), [MonitorNotice::Recovered { since: at(3_900) }]);
    assert_eq!(story.now().pings.last().unwrap().took_ms, Some(60_000));
}

#[test]
fn what_started_must_end_within_the_grace() {
    let mut story = hourly();
    story.ping(100, Signal::Start);
    assert_eq!(story.now().next_turn(), Some(at(400)));
    story.tell(400, MonitorCommand::Wake).unwrap();
    assert_eq!(story.notices().len(), 1);
}

#[test]
fn a_failure_is_announced_at_once_and_each_one_counts() {
    let mut story = hourly();
    story.ping(10, Signal::Fail);
    story.ping(20, Signal::Fail);
    let failed = |failures_in_row| MonitorNotice::Failed { failures_in_row };
    assert_eq!(story.notices(), [failed(1), failed(2)]);
    story.publish(20);
    story.tell(3_920, MonitorCommand::Wake).unwrap();
    assert!(story.notices().is_empty(), "it is known to be down");
    story.ping(4_000, Signal::Success);
    assert_eq!(story.notices(), [MonitorNotice::Recovered { since: at(10) }]);
}

#[test]
fn a_cron_expression_says_when_a_ping_is_expected() {
    let mut story = MonitorStory::given(json!({ "name": "n", "cron": "0 2 * * *", "timezone": "UTC", "grace": "10m" }));
    assert_eq!(story.now().next_turn(), Some(at(2 * 3_600 + 600)));
    story.ping(2 * 3_600 + 60, Signal::Success);
    assert_eq!(story.now().next_turn(), Some(at(26 * 3_600 + 600)));
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    for (field, form) in [
        ("every", json!({ "name": "n" })),
        ("every", json!({ "name": "n", "every": "1h", "cron": "* * * * *" })),
        ("every", json!({ "name": "n", "every": "10ms" })),
        ("timezone", json!({ "name": "n", "every": "1h", "timezone": "UTC" })),
        ("name", json!({ "name": "a b", "every": "1h" })),
        ("cron", json!({ "name": "n", "cron": "nonsense" })),
        ("grace", json!({ "name": "n", "every": "1h", "grace": "9999d" })),
    ] {
        let add = MonitorCommand::Add { settings: settings(form), token: "t".into() };
        match MonitorStory::default().tell(0, add) {
            Err(MonitorRefusal::Invalid(invalid)) => assert_eq!(invalid.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn adding_it_again_changes_its_settings_and_keeps_its_token() {
    let mut story = hourly();
    let again = |every: &str| MonitorCommand::Add {
        settings: settings(json!({ "name": "backup", "every": every, "grace": "5m" })),
        token: "other".into(),
    };
    assert_eq!(story.tell(1, again("1h")), Ok(0));
    assert_eq!(story.tell(2, again("2h")), Ok(1));
    assert_eq!((story.now().token.as_str(), story.now().next_turn()), ("t", Some(at(2 + 7_500))));
    story.tell(3, MonitorCommand::Remove).unwrap();
    assert!(story.now().is_over());
}

#[test]
fn only_the_last_pings_are_kept_with_what_they_said_and_the_events_alone_give_the_same_monitor() {
    let mut story = hourly();
    for number in 0..PINGS_KEPT as u128 + 5 {
        let body = Some(Uuid::from_u128(number));
        story.tell(number as i64, MonitorCommand::Ping(SentPing { body, ..SentPing::of(Signal::Success) })).unwrap();
    }
    let owners = story.now().chunk_owners();
    assert_eq!((owners.len(), owners[0]), (PINGS_KEPT, Uuid::from_u128(5)));
    let mut folded = None;
    for (at, event) in &story.events {
        let text = serde_json::to_string(event).unwrap();
        folded = Some(Monitor::apply(Uuid::nil(), folded, &serde_json::from_str(&text).unwrap(), *at).unwrap());
    }
    assert_eq!(folded, story.monitor);
}

fn run(number: u128) -> Option<Uuid> {
    Some(Uuid::from_u128(number))
}

#[test]
fn runs_at_the_same_time_are_told_apart_by_their_ids() {
    let mut story = hourly();
    let mut ping = |secs, signal, rid| {
        story.tell(secs, MonitorCommand::Ping(SentPing { rid, ..SentPing::of(signal) })).unwrap();
        (story.now().next_turn(), story.now().pings.last().unwrap().took_ms)
    };
    assert_eq!(ping(100, Signal::Start, run(1)), (Some(at(400)), None));
    assert_eq!(ping(200, Signal::Start, run(2)), (Some(at(400)), None), "the first has to end first");
    assert_eq!(ping(250, Signal::Success, run(2)), (Some(at(400)), Some(50_000)), "the first still has to end");
    assert_eq!(ping(300, Signal::Success, run(1)), (Some(at(300 + 3_900)), Some(200_000)));
    assert_eq!(ping(310, Signal::Success, run(3)).1, None, "nobody said that it started");
}

#[test]
fn a_run_that_never_ends_is_announced_once_and_the_others_go_on() {
    let mut story = hourly();
    let ping = |story: &mut MonitorStory, secs, signal, rid| {
        story.tell(secs, MonitorCommand::Ping(SentPing { rid, ..SentPing::of(signal) })).unwrap();
    };
    ping(&mut story, 100, Signal::Start, run(1));
    story.tell(400, MonitorCommand::Wake).unwrap();
    assert_eq!(story.now().status.name(), "silent");
    ping(&mut story, 500, Signal::Start, run(2));
    ping(&mut story, 510, Signal::Success, run(2));
    assert_eq!((story.now().status.name(), story.now().next_turn()), ("up", Some(at(510 + 3_900))));
    story.ping(600, Signal::Success);
    assert_eq!(story.now().oldest_start(), None, "an end without an id is the end of all");
}

#[test]
fn a_log_is_written_down_and_changes_nothing_else() {
    let mut story = hourly();
    story.ping(10, Signal::Fail);
    story.publish(10);
    let before = (story.now().status, story.now().next_turn());
    story.ping(20, Signal::Log);
    assert_eq!((story.now().status, story.now().next_turn()), before);
    assert_eq!(story.now().pings.last().unwrap().signal, Signal::Log);
    assert!(story.notices().is_empty());
}

#[test]
fn a_ping_adds_a_missing_monitor_and_leaves_the_settings_of_another_alone() {
    let mut story = MonitorStory::default();
    let add = || MonitorCommand::AddIfMissing { settings: MonitorSettings::of_ping("backup"), token: "t".into() };
    assert_eq!(story.tell(0, add()), Ok(1));
    assert_eq!(story.now().next_turn(), Some(at(25 * 3_600)), "a day and an hour");
    assert_eq!(hourly().tell(1, add()), Ok(0));
    let bad = MonitorCommand::AddIfMissing { settings: MonitorSettings::of_ping("no name"), token: "t".into() };
    assert!(matches!(MonitorStory::default().tell(0, bad), Err(MonitorRefusal::Invalid(_))));
}

#[test]
fn a_badge_is_late_within_the_grace_and_down_after_it() {
    let mut story = hourly();
    let badge = |story: &MonitorStory, secs| story.now().badge_status(at(secs)).name();
    assert_eq!([badge(&story, 0), badge(&story, 3_599), badge(&story, 3_600)], ["up", "up", "late"]);
    story.ping(3_700, Signal::Start);
    assert_eq!(badge(&story, 3_800), "up", "it is at work");
    story.tell(4_000, MonitorCommand::Wake).unwrap();
    assert_eq!(badge(&story, 4_000), "down");
    let (key, other) = (story.now().badge_key(), Monitor { token: "u".into(), ..story.now().clone() }.badge_key());
    assert!(key.len() == 32 && key != other);
}
