//! Letters told as stories: tried, given up, replayed, forgotten.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::job::Notice;
use ordo_model::letter::{JobCard, Letter, LetterCommand, LetterRefusal, LetterState, Message, Subject};
use ordo_model::limits::{LETTER_ATTEMPTS_MAX, LETTER_KEPT, LETTER_PARKED_KEPT};
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

fn write() -> LetterCommand {
    LetterCommand::Write { sender: "slack".into(), message: Box::new(message(3)) }
}

fn fail(retry_at: Option<Timestamp>) -> LetterCommand {
    LetterCommand::Failed { error: "500".into(), retry_at }
}

fn play(steps: Vec<(i64, LetterCommand)>) -> Result<Letter, LetterRefusal> {
    let mut letter = None;
    for (secs, command) in steps {
        for event in Letter::decide(Uuid::nil(), letter.as_ref(), command, at(secs))? {
            letter = Some(Letter::apply(Uuid::nil(), letter, &event, at(secs)).unwrap());
        }
    }
    letter.ok_or(LetterRefusal::NoSuchLetter)
}

#[test]
fn a_letter_is_written_once_and_tried_at_once() {
    let letter = play(vec![(0, write()), (5, write())]).unwrap();
    assert_eq!((letter.written_at, letter.next_wake()), (at(0), Some(at(0))));
    assert!(letter.is_urgent() && letter.holds_its_place());
    assert_eq!(Letter::id(&message(3), "slack"), Letter::id(&message(3), "slack"));
    assert_ne!(Letter::id(&message(3), "slack"), Letter::id(&message(4), "slack"));
    assert_ne!(Letter::id(&message(3), "slack"), Letter::id(&message(3), "mail"));
    assert_eq!(message(3).key(), format!("ordo-job-{}/3/JobFailed", Uuid::nil()));
}

#[test]
fn a_failed_try_is_followed_by_another_until_it_is_given_up() {
    let letter = play(vec![(0, write()), (1, fail(Some(at(2))))]).unwrap();
    assert_eq!((letter.attempts, letter.next_wake()), (1, Some(at(2))));
    assert!(!letter.is_urgent(), "it waits for its time");
    let letter = play(vec![(0, write()), (1, fail(Some(at(2)))), (2, fail(None))]).unwrap();
    assert_eq!((letter.state.name(), letter.last_error.as_deref()), ("parked", Some("500")));
    assert!(!letter.holds_its_place(), "it is in nobody's way");
    assert_eq!(letter.next_wake(), Some(at(2).plus(LETTER_PARKED_KEPT)));
}

#[test]
fn no_schedule_tries_a_letter_for_ever() {
    let tries = (0..LETTER_ATTEMPTS_MAX).map(|n| (i64::from(n), fail(Some(at(i64::from(n) + 1)))));
    let letter = play([(0, write())].into_iter().chain(tries).collect()).unwrap();
    assert_eq!((letter.attempts, letter.state.name()), (LETTER_ATTEMPTS_MAX, "parked"));
}

#[test]
fn a_parked_letter_can_be_replayed_and_then_blocks_nobody() {
    let letter = play(vec![(0, write()), (1, fail(None)), (9, LetterCommand::Replay)]).unwrap();
    assert_eq!((letter.attempts, letter.next_wake()), (0, Some(at(9))));
    assert!(letter.is_urgent() && !letter.holds_its_place());
    let refused = play(vec![(0, write()), (1, LetterCommand::Replay)]).unwrap_err();
    assert!(matches!(refused, LetterRefusal::WrongState { state: "waiting", .. }));
}

#[test]
fn what_is_settled_stays_so_and_is_forgotten_after_a_while() {
    let delivered = || vec![(0, write()), (1, LetterCommand::Delivered { note: Some("200".into()) })];
    let letter = play([delivered(), vec![(2, fail(None))]].concat()).unwrap();
    assert_eq!(letter.state, LetterState::Delivered { at: at(1), note: Some("200".into()) });
    let kept = i64::try_from(LETTER_KEPT.ms() / 1_000).unwrap();
    assert!(!play([delivered(), vec![(kept, LetterCommand::Forget)]].concat()).unwrap().is_over());
    assert!(play([delivered(), vec![(kept + 1, LetterCommand::Forget)]].concat()).unwrap().is_over());
    assert_eq!(Millis::from_days(7), LETTER_KEPT);
}
