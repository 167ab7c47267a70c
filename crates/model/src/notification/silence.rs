//! A silence: for a while nobody is notified of what concerns the jobs, monitors and incidents of some names.
//!
//! Invariant: it holds back notifications and nothing else. Runs, incidents and timelines go on as they would, and each
//! notification that was held back says so. A silence ends by itself: its end is its alarm.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::Kind;
use crate::incident::By;
use crate::job::Invalid;
use crate::job::definition::text;
use crate::limits::{INCIDENT_SNOOZE_MAX, NOTE_MAX_BYTES};
use crate::notification::Message;
use crate::object::{Misplaced, Object};
use crate::subscription::EventPattern;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// The label of a job, the name of a monitor or the identifier of an incident; `*` stands for anything.
    pub matching: EventPattern,
    pub until: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub by: By,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::text::is_default")]
    pub is_ended: bool,
}

#[derive(Debug, Clone)]
pub enum SilenceCommand {
    Add {
        matching: EventPattern,
        until: Timestamp,
        reason: String,
        by: By,
    },
    /// Somebody ends it before its time.
    End,
    /// The alarm rang.
    Wake,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum SilenceEvent {
    SilenceAdded {
        matching: EventPattern,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        by: By,
    },
    SilenceEnded {},
    SilenceExpired {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SilenceRefusal {
    #[error("there is no such silence")]
    NoSuchSilence,
    #[error("there is such a silence already")]
    Exists,
    #[error("{0}")]
    Invalid(#[from] Invalid),
}

impl Silence {
    /// Whether it holds back what is to be said at this moment.
    pub fn covers(&self, message: &Message, now: Timestamp) -> bool {
        let names = [message.label(), message.origin()];
        !self.is_ended && now < self.until && names.into_iter().flatten().any(|name| self.matching.fits(name))
    }
}

impl Object for Silence {
    const KIND: Kind = Kind::Silence;
    type Command = SilenceCommand;
    type Event = SilenceEvent;
    type Refusal = SilenceRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Silence>,
        command: SilenceCommand,
        now: Timestamp,
    ) -> Result<Vec<SilenceEvent>, SilenceRefusal> {
        match (before, command) {
            (None, SilenceCommand::Add { matching, until, reason, by }) => {
                if until <= now || until > now.plus(INCIDENT_SNOOZE_MAX) {
                    let message = format!("must be in the future and at most {INCIDENT_SNOOZE_MAX} from now");
                    return Err(Invalid::new("until", message).into());
                }
                matching.check("matching")?;
                if !reason.is_empty() {
                    text("reason", &reason, NOTE_MAX_BYTES)?;
                }
                Ok(vec![SilenceEvent::SilenceAdded { matching, until, reason, by }])
            }
            (None, SilenceCommand::End | SilenceCommand::Wake) => Err(SilenceRefusal::NoSuchSilence),
            (Some(_), SilenceCommand::Add { .. }) => Err(SilenceRefusal::Exists),
            (Some(_), SilenceCommand::End) => Ok(vec![SilenceEvent::SilenceEnded {}]),
            (Some(silence), SilenceCommand::Wake) if silence.until <= now => Ok(vec![SilenceEvent::SilenceExpired {}]),
            (Some(_), SilenceCommand::Wake) => Ok(Vec::new()),
        }
    }

    fn apply(_id: Uuid, before: Option<Silence>, event: &SilenceEvent, at: Timestamp) -> Result<Silence, Misplaced> {
        match (event, before) {
            (SilenceEvent::SilenceAdded { matching, until, reason, by }, None) => Ok(Silence {
                matching: matching.clone(),
                until: *until,
                reason: reason.clone(),
                by: by.clone(),
                created_at: at,
                is_ended: false,
            }),
            (SilenceEvent::SilenceAdded { .. }, Some(_)) => Err(Misplaced { event: "SilenceAdded" }),
            (SilenceEvent::SilenceEnded {} | SilenceEvent::SilenceExpired {}, Some(silence)) => {
                Ok(Silence { is_ended: true, ..silence })
            }
            (SilenceEvent::SilenceEnded {} | SilenceEvent::SilenceExpired {}, None) => {
                Err(Misplaced { event: "an event before SilenceAdded" })
            }
        }
    }

    fn next_turn(&self) -> Option<Timestamp> {
        (!self.is_ended).then_some(self.until)
    }

    fn is_over(&self) -> bool {
        self.is_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{JobId, RunId};
    use crate::incident::IncidentSource;
    use crate::job::Notice;
    use crate::notification::{JobSubject, Subject};

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000_000_000 + secs * 1_000).unwrap()
    }

    fn add(pattern: &str, until: Timestamp) -> SilenceCommand {
        let by = By::new("ana", IncidentSource::Cli);
        SilenceCommand::Add { matching: pattern.parse().unwrap(), until, reason: "the disk is replaced".into(), by }
    }

    fn after(before: Option<Silence>, command: SilenceCommand, secs: i64) -> Result<Option<Silence>, SilenceRefusal> {
        let events = Silence::decide(Uuid::nil(), before.as_ref(), command, at(secs))?;
        Ok(events
            .iter()
            .fold(before, |before, event| Some(Silence::apply(Uuid::nil(), before, event, at(secs)).unwrap())))
    }

    fn failure_of(label: &str) -> Message {
        let job = JobSubject { id: JobId(Uuid::nil()), label: label.into(), tool_name: "shell".into() };
        let notice = Notice::Recovered { run_id: RunId(Uuid::nil()), failures: 1, missed: 0 };
        Message { version: 1, at: at(0), subject: Subject::Job { job, notice } }
    }

    #[test]
    fn it_covers_the_names_it_was_made_for_until_its_end() {
        let silence = after(None, add("backup-*", at(60)), 0).unwrap().unwrap();
        assert!(silence.covers(&failure_of("backup-db"), at(59)));
        assert!(!silence.covers(&failure_of("backup-db"), at(60)), "it is over by the clock, whenever its alarm rings");
        assert!(!silence.covers(&failure_of("nightly"), at(1)));
        assert_eq!(silence.next_turn(), Some(at(60)));
        let early = after(Some(silence.clone()), SilenceCommand::Wake, 59).unwrap().unwrap();
        assert!(!early.is_over(), "an alarm that rings early ends nothing");
        assert!(after(Some(silence.clone()), SilenceCommand::Wake, 60).unwrap().unwrap().is_over());
        let ended = after(Some(silence), SilenceCommand::End, 10).unwrap().unwrap();
        assert!(ended.is_over() && !ended.covers(&failure_of("backup-db"), at(11)));
    }

    #[test]
    fn one_without_an_end_in_sight_is_refused() {
        let refused = |until| matches!(after(None, add("*", until), 0), Err(SilenceRefusal::Invalid(_)));
        assert!(
            refused(at(0))
                && refused(at(-1))
                && refused(at(0).plus(INCIDENT_SNOOZE_MAX).plus(crate::Millis::from_ms(1)))
        );
        assert!(!refused(at(0).plus(INCIDENT_SNOOZE_MAX)));
        assert_eq!(after(None, SilenceCommand::End, 0), Err(SilenceRefusal::NoSuchSilence));
    }

    #[test]
    fn a_pattern_looks_like_what_it_is() {
        for bad in ["a\u{1b}[2Jb*", "a\u{202e}b", "a\u{200b}b"] {
            let refused = after(None, add(bad, at(60)), 0);
            assert!(matches!(refused, Err(SilenceRefusal::Invalid(Invalid { field, .. })) if field == "matching"));
        }
    }
}
