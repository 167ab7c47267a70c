//! Notifications as stories: tried, given up, replayed, forgotten.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::job::Notice;
use ordo_model::limits::{DEAD_LETTER_RETENTION, NOTIFICATION_ATTEMPTS_MAX, NOTIFICATION_RETENTION};
use ordo_model::notification::{
    JobSubject, Message, Notification, NotificationCommand, NotificationEvent, NotificationRefusal, NotificationState,
    Subject,
};
use ordo_model::object::Object;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_ms(1_000_000_000_000 + secs * 1_000).unwrap()
}

fn message(version: u64) -> Message {
    let notice = Notice::Failed { run_id: RunId(Uuid::nil()), reason: "no".into(), failures_in_row: 1 };
    let job = JobSubject { id: JobId(Uuid::nil()), label: "backup".into(), tool_name: "shell".into() };
    Message { version, at: at(0), subject: Subject::Job { job, notice } }
}

fn write() -> NotificationCommand {
    NotificationCommand::Write { sender: "slack".into(), message: Box::new(message(3)), silenced_by: None }
}

fn fail(retry_at: Option<Timestamp>) -> NotificationCommand {
    NotificationCommand::Failed { error: "500".into(), retry_at }
}

fn play(steps: Vec<(i64, NotificationCommand)>) -> Result<Notification, NotificationRefusal> {
    let mut notification = None;
    for (secs, command) in steps {
        for event in Notification::decide(Uuid::nil(), notification.as_ref(), command, at(secs))? {
            notification = Some(Notification::apply(Uuid::nil(), notification, &event, at(secs)).unwrap());
        }
    }
    notification.ok_or(NotificationRefusal::NoSuchNotification)
}

#[test]
fn a_notification_that_is_silenced_is_settled_and_can_be_sent_after_all() {
    let (id, silence) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let write = NotificationCommand::Write {
        sender: "slack".into(),
        message: Box::new(message(3)),
        silenced_by: Some(silence),
    };
    let mut state = None;
    for event in Notification::decide(id, None, write, at(0)).unwrap() {
        state = Some(Notification::apply(id, state, &event, at(0)).unwrap());
    }
    let silenced = state.unwrap();
    assert_eq!(silenced.state, NotificationState::Silenced { at: at(0), silence });
    assert!(!silenced.is_waiting() && !silenced.holds_its_place(), "those behind it do not wait for it");
    assert_eq!(NotificationState::code_of(silenced.state.name()), Some(silenced.state.code()));
    let events = Notification::decide(id, Some(&silenced), NotificationCommand::Replay, at(5)).unwrap();
    let again = Notification::apply(id, Some(silenced), &events[0], at(5)).unwrap();
    assert!(again.is_waiting());
}

#[test]
fn a_notification_is_written_once_and_tried_at_once() {
    let notification = play(vec![(0, write()), (5, write())]).unwrap();
    assert_eq!((notification.written_at, notification.next_turn()), (at(0), Some(at(0))));
    assert!(notification.is_urgent() && notification.holds_its_place());
    assert_eq!(Notification::id(&message(3), "slack"), Notification::id(&message(3), "slack"));
    assert_ne!(Notification::id(&message(3), "slack"), Notification::id(&message(4), "slack"));
    assert_ne!(Notification::id(&message(3), "slack"), Notification::id(&message(3), "mail"));
    assert_eq!(message(3).key(), format!("ordo-job-{}/3/JobFailed", Uuid::nil()));
}

#[test]
fn a_failed_try_is_followed_by_another_until_it_is_given_up() {
    let notification = play(vec![(0, write()), (1, fail(Some(at(2))))]).unwrap();
    assert_eq!((notification.attempts, notification.next_turn()), (1, Some(at(2))));
    assert!(!notification.is_urgent(), "it waits for its time");
    let notification = play(vec![(0, write()), (1, fail(Some(at(2)))), (2, fail(None))]).unwrap();
    assert_eq!((notification.state.name(), notification.last_error.as_deref()), ("dead_lettered", Some("500")));
    assert!(!notification.holds_its_place(), "it is in nobody's way");
    assert_eq!(notification.next_turn(), Some(at(2).plus(DEAD_LETTER_RETENTION)));
}

#[test]
fn no_schedule_tries_a_notification_for_ever() {
    let tries = (0..NOTIFICATION_ATTEMPTS_MAX).map(|n| (i64::from(n), fail(Some(at(i64::from(n) + 1)))));
    let notification = play([(0, write())].into_iter().chain(tries).collect()).unwrap();
    assert_eq!((notification.attempts, notification.state.name()), (NOTIFICATION_ATTEMPTS_MAX, "dead_lettered"));
}

#[test]
fn a_dead_lettered_notification_can_be_replayed_and_then_blocks_nobody() {
    let notification = play(vec![(0, write()), (1, fail(None)), (9, NotificationCommand::Replay)]).unwrap();
    assert_eq!((notification.attempts, notification.next_turn()), (0, Some(at(9))));
    assert!(notification.is_urgent() && !notification.holds_its_place());
    let refused = play(vec![(0, write()), (1, NotificationCommand::Replay)]).unwrap_err();
    assert!(matches!(refused, NotificationRefusal::WrongState { state: "waiting", .. }));
}

#[test]
fn what_is_settled_stays_so_and_is_forgotten_after_a_while() {
    let delivered = || vec![(0, write()), (1, NotificationCommand::Delivered { note: Some("200".into()) })];
    let notification = play([delivered(), vec![(2, fail(None))]].concat()).unwrap();
    assert_eq!(notification.state, NotificationState::Delivered { at: at(1), note: Some("200".into()) });
    let kept = i64::try_from(NOTIFICATION_RETENTION.ms() / 1_000).unwrap();
    assert!(!play([delivered(), vec![(kept, NotificationCommand::Forget)]].concat()).unwrap().is_over());
    assert!(play([delivered(), vec![(kept + 1, NotificationCommand::Forget)]].concat()).unwrap().is_over());
    assert_eq!(Millis::from_days(7), NOTIFICATION_RETENTION);
}

/// As the first version of Ordo wrote them into streams.
fn stored() -> [Value; 3] {
    let incident = json!({
        "type": "incident", "id": Uuid::from_u128(5), "title": "Checkout is down", "description": "500", "identifier": "shop",
        "severity": "sev2", "status": "open", "assignee": "anna", "links": [{"type": "job", "id": Uuid::from_u128(9)}],
        "started_by": {"actor": "anna", "source": "api"}, "created_at": "2026-11-15T02:00:00.000Z"
    });
    let by = json!({"actor": "escalation", "source": "escalation"});
    let escalated = json!({"step": 1, "notify": "#ops", "via": "slack", "by": by});
    let notice = json!({"type": "failed", "run_id": Uuid::from_u128(7), "reason": "exit code 1", "failures_in_row": 2});
    let job =
        json!({"type": "job", "id": Uuid::from_u128(9), "label": "backup", "tool_name": "shell", "notice": notice});
    let message = |event: &str, data: &Value, subject: &Value| json!({"version": 3, "at": "2026-11-15T02:12:05.000Z", "event": event, "data": data, "subject": subject});
    [
        message("Escalated", &escalated, &incident),
        message("SeveritySet", &json!({"severity": "sev1", "by": by}), &incident),
        message("JobFailed", &notice, &job),
    ]
}

#[test]
fn a_message_that_an_earlier_version_stored_is_read_and_written_as_it_was() {
    for written in stored() {
        let message: Message = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(message.event(), written["event"]);
        assert_eq!(message.details(), written["data"]);
        assert_eq!(serde_json::to_value(&message).unwrap(), written);
        let old = json!({"type": "LetterWritten", "data": {"sender": "slack", "message": written}});
        let NotificationEvent::NotificationQueued { message: read, .. } = serde_json::from_value(old).unwrap() else {
            panic!("an old name is understood")
        };
        assert_eq!(*read, message);
    }
    let [escalated, ..] = stored();
    let escalated: Message = serde_json::from_value(escalated).unwrap();
    assert_eq!((escalated.notify("slack"), escalated.notify("email")), (Some("#ops"), None));
}

#[test]
fn a_message_whose_event_cannot_be_read_is_refused_by_its_name() {
    let [mut unknown, ..] = stored();
    unknown["event"] = "Teleported".into();
    let error = serde_json::from_value::<Message>(unknown).unwrap_err().to_string();
    assert!(error.contains("Teleported"), "{error}");
}

#[test]
fn what_a_receiver_said_is_shown_as_it_is() {
    let said = "550 \u{1b}[2J\u{1b}[1;1Hall is well\u{202e}\r\nbye";
    let failed = NotificationCommand::Failed { error: said.into(), retry_at: Some(at(60)) };
    let after = play(vec![(0, write()), (1, failed)]).unwrap();
    assert_eq!(after.last_error.as_deref(), Some("550 \\u{1b}[2J\\u{1b}[1;1Hall is well\\u{202e}\nbye"));
    let delivered = NotificationCommand::Delivered { note: Some("ok\u{9b}".into()) };
    let after = play(vec![(0, write()), (1, delivered)]).unwrap();
    assert!(matches!(after.state, NotificationState::Delivered { note: Some(note), .. } if note == "ok\\u{9b}"));
}
