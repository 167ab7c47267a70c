//! A notification: one message on its way through one sender, until it is delivered or given up.
//!
//! Invariant: a notification that waits has an alarm; one that was given up stays where people see it, with why.

pub mod channel;
mod form;
mod message;
pub mod silence;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::limits::{DEAD_LETTER_RETENTION, NOTIFICATION_ATTEMPTS_MAX, NOTIFICATION_RETENTION, REASON_MAX_BYTES};
use crate::moment::ClockFrame;
use crate::object::{Misplaced, Object};
use crate::text::{is_default, shortened, visible_lines};
use crate::time::Timestamp;

pub use message::{IncidentSubject, JobSubject, Message, Subject};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    pub sender: String,
    pub message: Message,
    pub state: NotificationState,
    /// How often it was tried since it was written or replayed.
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub written_at: Timestamp,
    /// It was given up once and is tried again out of its turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replayed: bool,
    /// How the clock stood when its next try was laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<ClockFrame>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NotificationState {
    /// Until `next_try`, and until the notifications before it are settled.
    Waiting {
        next_try: Timestamp,
    },
    Delivered {
        at: Timestamp,
        /// What the receiver answered, in a word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Given up.
    #[serde(alias = "parked")]
    DeadLettered {
        at: Timestamp,
    },
    Forgotten,
    /// Nobody was to hear of it at the time.
    Silenced {
        at: Timestamp,
        silence: Uuid,
    },
}

impl NotificationState {
    pub const NAMES: [&'static str; 4] = ["waiting", "delivered", "dead_lettered", "silenced"];

    pub const fn name(&self) -> &'static str {
        match self {
            NotificationState::Waiting { .. } => "waiting",
            NotificationState::Delivered { .. } => "delivered",
            NotificationState::DeadLettered { .. } => "dead_lettered",
            NotificationState::Forgotten => "forgotten",
            NotificationState::Silenced { .. } => "silenced",
        }
    }

    /// Part of stored keys, so it never changes.
    pub const fn code(&self) -> u8 {
        match self {
            NotificationState::Waiting { .. } => 0,
            NotificationState::Delivered { .. } => 1,
            NotificationState::DeadLettered { .. } => 2,
            NotificationState::Forgotten => 3,
            NotificationState::Silenced { .. } => 4,
        }
    }

    pub fn code_of(name: &str) -> Option<u8> {
        match name {
            "waiting" => Some(0),
            "delivered" => Some(1),
            "dead_lettered" => Some(2),
            "silenced" => Some(4),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub enum NotificationCommand {
    /// Written once, however often it is asked for.
    Write {
        sender: String,
        message: Box<Message>,
        /// The silence that holds it back, if one does.
        silenced_by: Option<Uuid>,
    },
    Delivered {
        note: Option<String>,
    },
    /// A try failed; without `retry_at` it is given up.
    Failed {
        error: String,
        retry_at: Option<Timestamp>,
    },
    /// Tries a notification once more that was given up, held back or delivered.
    Replay,
    /// Its time is over.
    Forget,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum NotificationEvent {
    #[serde(alias = "LetterWritten")]
    NotificationQueued {
        sender: String,
        message: Box<Message>,
    },
    #[serde(alias = "LetterDelivered")]
    NotificationDelivered {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    #[serde(alias = "LetterFailed")]
    NotificationFailed {
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    #[serde(alias = "LetterReplayed")]
    NotificationReplayed {},
    #[serde(alias = "LetterForgotten")]
    NotificationForgotten {},
    NotificationSilenced {
        silence: Uuid,
    },
    /// The wall clock was set.
    ClockStepped {
        by_ms: i64,
        frame: ClockFrame,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotificationRefusal {
    #[error("there is no such notification")]
    NoSuchNotification,
    #[error("the notification is {state}: {advice}")]
    WrongState { state: &'static str, advice: &'static str },
}

impl Notification {
    /// The one notification of this message through this sender.
    pub fn id(message: &Message, sender: &str) -> Uuid {
        EntityId::named(Kind::Notification, &format!("{sender}\n{}", message.key())).id
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.state, NotificationState::Waiting { .. })
    }

    /// Whether the notifications behind it wait for it.
    pub fn holds_its_place(&self) -> bool {
        self.is_waiting() && !self.replayed
    }

    pub fn is_past_its_time(&self, now: Timestamp) -> bool {
        self.next_turn().is_some_and(|at| at <= now) && !self.is_waiting()
    }
}

impl Object for Notification {
    const KIND: Kind = Kind::Notification;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = NotificationCommand;
    type Event = NotificationEvent;
    type Refusal = NotificationRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Notification>,
        command: NotificationCommand,
        now: Timestamp,
    ) -> Result<Vec<NotificationEvent>, NotificationRefusal> {
        let Some(notification) = before else {
            return match command {
                NotificationCommand::Write { sender, message, silenced_by } => {
                    let silenced = silenced_by.map(|silence| NotificationEvent::NotificationSilenced { silence });
                    let queued = NotificationEvent::NotificationQueued { sender, message };
                    Ok(std::iter::once(queued).chain(silenced).collect())
                }
                _ => Err(NotificationRefusal::NoSuchNotification),
            };
        };
        match command {
            NotificationCommand::Write { .. } => Ok(Vec::new()),
            NotificationCommand::Delivered { note } if notification.is_waiting() => {
                Ok(vec![NotificationEvent::NotificationDelivered { note: note.as_deref().map(bounded) }])
            }
            NotificationCommand::Failed { error, retry_at } if notification.is_waiting() => {
                let retry_at = retry_at.filter(|_| notification.attempts + 1 < NOTIFICATION_ATTEMPTS_MAX);
                Ok(vec![NotificationEvent::NotificationFailed { error: bounded(&error), retry_at }])
            }
            // Somebody else settled it: that stands.
            NotificationCommand::Delivered { .. } | NotificationCommand::Failed { .. } => Ok(Vec::new()),
            NotificationCommand::Replay if notification.is_waiting() => {
                Err(NotificationRefusal::WrongState { state: "waiting", advice: "it is still being tried by itself" })
            }
            NotificationCommand::Replay => Ok(vec![NotificationEvent::NotificationReplayed {}]),
            NotificationCommand::Forget if notification.is_past_its_time(now) => {
                Ok(vec![NotificationEvent::NotificationForgotten {}])
            }
            NotificationCommand::Forget => Ok(Vec::new()),
        }
    }

    fn apply(
        _id: Uuid,
        before: Option<Notification>,
        event: &NotificationEvent,
        at: Timestamp,
    ) -> Result<Notification, Misplaced> {
        match (event, before) {
            (NotificationEvent::NotificationQueued { sender, message }, None) => Ok(Notification {
                sender: sender.clone(),
                message: Message::clone(message),
                state: NotificationState::Waiting { next_try: at },
                attempts: 0,
                last_error: None,
                written_at: at,
                replayed: false,
                frame: None,
            }),
            (NotificationEvent::NotificationQueued { .. }, Some(_)) => Err(Misplaced { event: "NotificationQueued" }),
            (_, None) => Err(Misplaced { event: "an event before NotificationQueued" }),
            (event, Some(notification)) => Ok(moved(notification, event, at)),
        }
    }

    /// A notification that waits is tried; one that is settled is forgotten after a while.
    fn next_turn(&self) -> Option<Timestamp> {
        match &self.state {
            NotificationState::Waiting { next_try } => Some(*next_try),
            NotificationState::Delivered { at, .. } | NotificationState::Silenced { at, .. } => {
                Some(at.plus(NOTIFICATION_RETENTION))
            }
            NotificationState::DeadLettered { at } => Some(at.plus(DEAD_LETTER_RETENTION)),
            NotificationState::Forgotten => None,
        }
    }

    fn clock(&self) -> Option<ClockFrame> {
        self.frame
    }

    fn clock_stepped(by_ms: i64, frame: ClockFrame) -> Option<NotificationEvent> {
        Some(NotificationEvent::ClockStepped { by_ms, frame })
    }

    fn is_urgent(&self) -> bool {
        self.is_waiting() && self.attempts == 0
    }

    fn is_over(&self) -> bool {
        self.state == NotificationState::Forgotten
    }
}

fn moved(mut notification: Notification, event: &NotificationEvent, at: Timestamp) -> Notification {
    match event {
        NotificationEvent::NotificationQueued { .. } => {}
        NotificationEvent::NotificationDelivered { note } => {
            notification.attempts += 1;
            notification.state = NotificationState::Delivered { at, note: note.clone() };
        }
        NotificationEvent::NotificationFailed { error, retry_at } => {
            notification.attempts += 1;
            notification.last_error = Some(error.clone());
            notification.state = match retry_at {
                Some(next_try) => NotificationState::Waiting { next_try: *next_try },
                None => NotificationState::DeadLettered { at },
            };
        }
        NotificationEvent::NotificationReplayed {} => {
            notification.attempts = 0;
            notification.replayed = true;
            notification.state = NotificationState::Waiting { next_try: at };
        }
        NotificationEvent::NotificationForgotten {} => notification.state = NotificationState::Forgotten,
        NotificationEvent::NotificationSilenced { silence } => {
            notification.state = NotificationState::Silenced { at, silence: *silence };
        }
        NotificationEvent::ClockStepped { by_ms, frame } => {
            notification.frame = Some(*frame);
            if let NotificationState::Waiting { next_try } = &mut notification.state {
                *next_try = next_try.moved(*by_ms);
            }
        }
    }
    notification
}

/// What a receiver said, as people may see it: a mail server may say anything.
fn bounded(text: &str) -> String {
    shortened(&visible_lines(text), REASON_MAX_BYTES).to_owned()
}
