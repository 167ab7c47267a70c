//! A letter: one message on its way through one sender, until it is delivered or given up.
//!
//! Invariant: a letter that waits has an alarm; one that was given up stays where people see it, with why.

mod message;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::limits::{LETTER_ATTEMPTS_MAX, LETTER_KEPT, LETTER_PARKED_KEPT, REASON_MAX_BYTES};
use crate::object::{Misplaced, Object};
use crate::time::Timestamp;

pub use message::{Event, IncidentCard, JobCard, Message, Subject};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    pub sender: String,
    pub message: Message,
    pub state: LetterState,
    /// How often it was tried since it was written or replayed.
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub written_at: Timestamp,
    /// It was given up once and is tried again out of its turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replayed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LetterState {
    /// Until `next_try`, and until the letters before it are settled.
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
    Parked {
        at: Timestamp,
    },
    Forgotten,
}

impl LetterState {
    pub const NAMES: [&'static str; 3] = ["waiting", "delivered", "parked"];

    pub const fn name(&self) -> &'static str {
        match self {
            LetterState::Waiting { .. } => "waiting",
            LetterState::Delivered { .. } => "delivered",
            LetterState::Parked { .. } => "parked",
            LetterState::Forgotten => "forgotten",
        }
    }

    /// Part of stored keys, so it never changes.
    pub const fn code(&self) -> u8 {
        match self {
            LetterState::Waiting { .. } => 0,
            LetterState::Delivered { .. } => 1,
            LetterState::Parked { .. } => 2,
            LetterState::Forgotten => 3,
        }
    }

    pub fn code_of(name: &str) -> Option<u8> {
        Self::NAMES.iter().position(|known| *known == name).and_then(|place| u8::try_from(place).ok())
    }
}

#[derive(Debug, Clone)]
pub enum LetterCommand {
    /// Written once, however often it is asked for.
    Write {
        sender: String,
        message: Box<Message>,
    },
    Delivered {
        note: Option<String>,
    },
    /// A try failed; without `retry_at` it is given up.
    Failed {
        error: String,
        retry_at: Option<Timestamp>,
    },
    /// Tries a letter once more that was given up or delivered.
    Replay,
    /// Its time is over.
    Forget,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum LetterEvent {
    LetterWritten {
        sender: String,
        message: Box<Message>,
    },
    LetterDelivered {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    LetterFailed {
        error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    LetterReplayed {},
    LetterForgotten {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LetterRefusal {
    #[error("there is no such letter")]
    NoSuchLetter,
    #[error("the letter is {state}: {advice}")]
    WrongState { state: &'static str, advice: &'static str },
}

impl Letter {
    /// The one letter of this message through this sender.
    pub fn id(message: &Message, sender: &str) -> Uuid {
        EntityId::named(Kind::Letter, &format!("{sender}\n{}", message.key())).id
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.state, LetterState::Waiting { .. })
    }

    /// Whether the letters behind it wait for it.
    pub fn holds_its_place(&self) -> bool {
        self.is_waiting() && !self.replayed
    }

    pub fn is_past_its_time(&self, now: Timestamp) -> bool {
        self.next_wake().is_some_and(|at| at <= now) && !self.is_waiting()
    }
}

impl Object for Letter {
    const KIND: Kind = Kind::Letter;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = LetterCommand;
    type Event = LetterEvent;
    type Refusal = LetterRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Letter>,
        command: LetterCommand,
        now: Timestamp,
    ) -> Result<Vec<LetterEvent>, LetterRefusal> {
        let Some(letter) = before else {
            return match command {
                LetterCommand::Write { sender, message } => Ok(vec![LetterEvent::LetterWritten { sender, message }]),
                _ => Err(LetterRefusal::NoSuchLetter),
            };
        };
        match command {
            LetterCommand::Write { .. } => Ok(Vec::new()),
            LetterCommand::Delivered { note } if letter.is_waiting() => {
                Ok(vec![LetterEvent::LetterDelivered { note: note.map(shortened) }])
            }
            LetterCommand::Failed { error, retry_at } if letter.is_waiting() => {
                let retry_at = retry_at.filter(|_| letter.attempts + 1 < LETTER_ATTEMPTS_MAX);
                Ok(vec![LetterEvent::LetterFailed { error: shortened(error), retry_at }])
            }
            // Somebody else settled it: that stands.
            LetterCommand::Delivered { .. } | LetterCommand::Failed { .. } => Ok(Vec::new()),
            LetterCommand::Replay if letter.is_waiting() => {
                Err(LetterRefusal::WrongState { state: "waiting", advice: "it is still being tried by itself" })
            }
            LetterCommand::Replay => Ok(vec![LetterEvent::LetterReplayed {}]),
            LetterCommand::Forget if letter.is_past_its_time(now) => Ok(vec![LetterEvent::LetterForgotten {}]),
            LetterCommand::Forget => Ok(Vec::new()),
        }
    }

    fn apply(_id: Uuid, before: Option<Letter>, event: &LetterEvent, at: Timestamp) -> Result<Letter, Misplaced> {
        match (event, before) {
            (LetterEvent::LetterWritten { sender, message }, None) => Ok(Letter {
                sender: sender.clone(),
                message: Message::clone(message),
                state: LetterState::Waiting { next_try: at },
                attempts: 0,
                last_error: None,
                written_at: at,
                replayed: false,
            }),
            (LetterEvent::LetterWritten { .. }, Some(_)) => Err(Misplaced { event: "LetterWritten" }),
            (_, None) => Err(Misplaced { event: "an event before LetterWritten" }),
            (event, Some(letter)) => Ok(moved(letter, event, at)),
        }
    }

    /// A letter that waits is tried; one that is settled is forgotten after a while.
    fn next_wake(&self) -> Option<Timestamp> {
        match &self.state {
            LetterState::Waiting { next_try } => Some(*next_try),
            LetterState::Delivered { at, .. } => Some(at.plus(LETTER_KEPT)),
            LetterState::Parked { at } => Some(at.plus(LETTER_PARKED_KEPT)),
            LetterState::Forgotten => None,
        }
    }

    fn is_urgent(&self) -> bool {
        self.is_waiting() && self.attempts == 0
    }

    fn is_over(&self) -> bool {
        self.state == LetterState::Forgotten
    }
}

fn moved(mut letter: Letter, event: &LetterEvent, at: Timestamp) -> Letter {
    match event {
        LetterEvent::LetterWritten { .. } => {}
        LetterEvent::LetterDelivered { note } => {
            letter.attempts += 1;
            letter.state = LetterState::Delivered { at, note: note.clone() };
        }
        LetterEvent::LetterFailed { error, retry_at } => {
            letter.attempts += 1;
            letter.last_error = Some(error.clone());
            letter.state = match retry_at {
                Some(next_try) => LetterState::Waiting { next_try: *next_try },
                None => LetterState::Parked { at },
            };
        }
        LetterEvent::LetterReplayed {} => {
            letter.attempts = 0;
            letter.replayed = true;
            letter.state = LetterState::Waiting { next_try: at };
        }
        LetterEvent::LetterForgotten {} => letter.state = LetterState::Forgotten,
    }
    letter
}

fn shortened(mut text: String) -> String {
    if text.len() > REASON_MAX_BYTES {
        text.truncate(text.floor_char_boundary(REASON_MAX_BYTES));
    }
    text
}

fn is_false(flag: &bool) -> bool {
    !flag
}
