//! Notifications told as stories: tried, given up, replayed, forgotten.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::job::Notice;
use ordo_model::limits::{DEAD_LETTER_RETENTION, NOTIFICATION_ATTEMPTS_MAX, NOTIFICATION_RETENTION};
use ordo_model::notification::{
    JobCard, Message, Notification, NotificationCommand, NotificationRefusal, NotificationState, Subject,
};
use ordo_model::object::Object;
use ordo_model::{JobId, Millis, RunId, Timestamp};
use uuid::Uuid;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_ms(1_000_000_000_000 + secs * 1_000).unwrap()
}

fn message(version: u64) -> Message {
    let notice = Notice::Failed { run_id: RunId(Uuid::nil()), reason: "no".into(), failures_in_row: 1 };
    let card = JobCard { id: JobId(Uuid::nil()), label: "backup".into(), tool_name: "shell".into(), notice };
    let data = serde_json::json!({});
    Message { version, at: at(0), event: "JobFailed".into(), data, subject: Subject::Job(card) }
}

fn write() -> NotificationCommand {
    NotificationCommand::Write { sender: "slack".into(), message: Box::new(message(3)) }
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
fn a_notification_is_written_once_and_tried_at_once() {
    let notification = play(vec![(0, write()), (5, write())]).unwrap();
    assert_eq!((notification.written_at, notification.next_wake()), (at(0), Some(at(0))));
    assert!(notification.is_urgent() && notification.holds_its_place());
    assert_eq!(Notification::id(&message(3), "slack"), Notification::id(&message(3), "slack"));
    assert_ne!(Notification::id(&message(3), "slack"), Notification::id(&message(4), "slack"));
    assert_ne!(Notification::id(&message(3), "slack"), Notification::id(&message(3), "mail"));
    assert_eq!(message(3).key(), format!("ordo-job-{}/3/JobFailed", Uuid::nil()));
}

#[test]
fn a_failed_try_is_followed_by_another_until_it_is_given_up() {
    let notification = play(vec![(0, write()), (1, fail(Some(at(2))))]).unwrap();
    assert_eq!((notification.attempts, notification.next_wake()), (1, Some(at(2))));
    assert!(!notification.is_urgent(), "it waits for its time");
    let notification = play(vec![(0, write()), (1, fail(Some(at(2)))), (2, fail(None))]).unwrap();
    assert_eq!((notification.state.name(), notification.last_error.as_deref()), ("dead_lettered", Some("500")));
    assert!(!notification.holds_its_place(), "it is in nobody's way");
    assert_eq!(notification.next_wake(), Some(at(2).plus(DEAD_LETTER_RETENTION)));
}

#[test]
fn no_schedule_tries_a_notification_for_ever() {
    let tries = (0..NOTIFICATION_ATTEMPTS_MAX).map(|n| (i64::from(n), fail(Some(at(i64::from(n) + 1)))));
    let notification = play([(0, write())].into_iter().chain(tries).collect()).unwrap();
    assert_eq!((notification.attempts, notification.state.name()), (NOTIFICATION_ATTEMPTS_MAX, "dead_lettered"));
}

#[test]
fn a_parked_notification_can_be_replayed_and_then_blocks_nobody() {
    let notification = play(vec![(0, write()), (1, fail(None)), (9, NotificationCommand::Replay)]).unwrap();
    assert_eq!((notification.attempts, notification.next_wake()), (0, Some(at(9))));
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
