//! An executor that dials in from elsewhere: what it offers, and whether it is still there.
//!
//! Invariant: an id is one generation of one process. A generation that is over never comes back: whoever returns registers anew.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::api_token::TokenIdentity;
use crate::id::{Incarnation, Kind};
use crate::limits::{
    EXECUTOR_CAPACITY_MAX, EXECUTOR_NAME_MAX_BYTES, EXECUTOR_TOOLS_MAX, EXECUTORS_MAX, EXECUTORS_PER_TOKEN_MAX,
    GROUP_MAX_BYTES, LEASE, LOST_SHOWN, TOOL_NAME_MAX_BYTES,
};
use crate::object::{Misplaced, Object};
use crate::text::is_name;
use crate::time::{Millis, Timestamp};

/// What an executor says of itself when it registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub name: String,
    pub group: String,
    pub tools: BTreeSet<String>,
    /// How many attempts it takes at once.
    pub capacity: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The token that an executor was registered with: it belongs to that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    #[serde(flatten)]
    pub token: TokenIdentity,
    /// The name of the token.
    pub name: String,
}

/// Whoever speaks for executors: registers them, takes their runs, reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// An admin, for all of them.
    Admin,
    /// The holder of a token, for those that were registered with it.
    Token(TokenIdentity),
}

impl Speaker {
    /// Whether it may speak for an executor with this owner. One without belongs to the admins.
    pub fn may_speak_for(self, owner: Option<TokenIdentity>) -> bool {
        match self {
            Speaker::Admin => true,
            Speaker::Token(token) => owner == Some(token),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executor {
    #[serde(flatten)]
    pub offer: Offer,
    /// None: it was registered through the server's own socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    pub registered_at: Timestamp,
    /// When it was last known to be there; heartbeats in between are not written down.
    pub seen_at: Timestamp,
    pub presence: Presence,
    /// The node that it talks to, and that hands out its work.
    pub node: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Presence {
    Alive,
    /// Takes nothing new and leaves when what it has is done.
    Draining,
    /// Not heard of within its lease.
    Lost {
        at: Timestamp,
    },
    Left,
}

impl Presence {
    pub const fn name(&self) -> &'static str {
        match self {
            Presence::Alive => "alive",
            Presence::Draining => "draining",
            Presence::Lost { .. } => "lost",
            Presence::Left => "left",
        }
    }
}

#[derive(Debug, Clone)]
pub enum ExecutorCommand {
    Register {
        offer: Offer,
        node: String,
        owner: Option<Owner>,
    },
    /// It was heard of.
    Seen,
    /// It counts as heard of then, whatever was written down.
    Renew {
        heard_at: Timestamp,
    },
    /// It went to this node.
    Move {
        node: String,
    },
    Drain,
    Lose,
    Leave,
    /// Nobody needs to see it any more.
    Forget,
    /// It was lost, and is back as another generation.
    Return,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum ExecutorEvent {
    ExecutorRegistered {
        offer: Offer,
        node: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    ExecutorSeen {
        /// When that was, if it was not just now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heard_at: Option<Timestamp>,
    },
    ExecutorMoved {
        node: String,
    },
    ExecutorDraining {},
    ExecutorLost {},
    ExecutorLeft {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorRefusal {
    #[error("there is no such executor, or its lease has expired: register again")]
    NoSuchExecutor,
    #[error("this generation of the executor is registered already")]
    Exists,
    #[error("{field}: {message}")]
    Invalid { field: &'static str, message: String },
    #[error("{registered} executors are registered {with}, and more than {max} may not be")]
    TooMany { registered: usize, with: &'static str, max: usize },
}

/// Refuses one executor more, beside those of the same owner and all others, alive or lost not long ago.
pub fn check_room(of_owner: usize, all: usize) -> Result<(), ExecutorRefusal> {
    match () {
        () if of_owner >= EXECUTORS_PER_TOKEN_MAX => Err(ExecutorRefusal::TooMany {
            registered: of_owner,
            with: "with this token",
            max: EXECUTORS_PER_TOKEN_MAX,
        }),
        () if all >= EXECUTORS_MAX => {
            Err(ExecutorRefusal::TooMany { registered: all, with: "with this server", max: EXECUTORS_MAX })
        }
        () => Ok(()),
    }
}

/// How much of its lease may pass before it is written down that an executor is still there.
const SEEN_EVERY: Millis = Millis::from_ms(LEASE.ms() / 3);

impl Offer {
    pub fn validate(&self) -> Result<(), ExecutorRefusal> {
        text("name", &self.name, EXECUTOR_NAME_MAX_BYTES)?;
        text("group", &self.group, GROUP_MAX_BYTES)?;
        if self.tools.is_empty() || self.tools.len() > EXECUTOR_TOOLS_MAX {
            return Err(invalid("tools", format!("name between 1 and {EXECUTOR_TOOLS_MAX} tools")));
        }
        self.tools.iter().try_for_each(|tool| text("tools", tool, TOOL_NAME_MAX_BYTES))?;
        self.version.as_ref().map_or(Ok(()), |version| text("version", version, EXECUTOR_NAME_MAX_BYTES))?;
        match (1..=EXECUTOR_CAPACITY_MAX).contains(&self.capacity) {
            true => Ok(()),
            false => Err(invalid("capacity", format!("must be between 1 and {EXECUTOR_CAPACITY_MAX}"))),
        }
    }
}

fn text(field: &'static str, value: &str, max_bytes: usize) -> Result<(), ExecutorRefusal> {
    if !is_name(value, max_bytes) {
        return Err(invalid(field, format!("must be 1 to {max_bytes} bytes of text without control characters")));
    }
    Ok(())
}

fn invalid(field: &'static str, message: String) -> ExecutorRefusal {
    ExecutorRefusal::Invalid { field, message }
}

impl Executor {
    pub fn incarnation(&self, id: Uuid) -> Incarnation {
        Incarnation { executor: self.offer.name.clone(), generation: id }
    }

    /// Whether it may still run something.
    pub fn is_there(&self) -> bool {
        match self.presence {
            Presence::Alive | Presence::Draining => true,
            Presence::Lost { .. } | Presence::Left => false,
        }
    }

    /// Whether its lease has passed at `now`, as far as it is written down.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_there() && self.seen_at.plus(LEASE) <= now
    }
}

impl Object for Executor {
    const KIND: Kind = Kind::Executor;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = ExecutorCommand;
    type Event = ExecutorEvent;
    type Refusal = ExecutorRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Executor>,
        command: ExecutorCommand,
        now: Timestamp,
    ) -> Result<Vec<ExecutorEvent>, ExecutorRefusal> {
        let known = before.ok_or(ExecutorRefusal::NoSuchExecutor);
        let there = known.clone().and_then(|executor| match executor.is_there() {
            true => Ok(executor),
            false => Err(ExecutorRefusal::NoSuchExecutor),
        });
        match command {
            ExecutorCommand::Register { .. } if before.is_some() => Err(ExecutorRefusal::Exists),
            ExecutorCommand::Register { offer, node, owner } => {
                offer.validate()?;
                Ok(vec![ExecutorEvent::ExecutorRegistered { offer, node, owner }])
            }
            ExecutorCommand::Seen => {
                // A clock that was set back must not keep it from being seen.
                let seen_at = there?.seen_at;
                let due = now >= seen_at.plus(SEEN_EVERY) || now < seen_at;
                Ok(if due { vec![ExecutorEvent::ExecutorSeen { heard_at: None }] } else { Vec::new() })
            }
            // What lies in the future was taken from a clock that has been set back since.
            ExecutorCommand::Renew { heard_at } => {
                there.map(|_| vec![ExecutorEvent::ExecutorSeen { heard_at: (heard_at < now).then_some(heard_at) }])
            }
            ExecutorCommand::Move { node } => there.map(|_| vec![ExecutorEvent::ExecutorMoved { node }]),
            ExecutorCommand::Drain => there.map(|executor| match executor.presence {
                Presence::Draining => Vec::new(),
                Presence::Alive | Presence::Lost { .. } | Presence::Left => vec![ExecutorEvent::ExecutorDraining {}],
            }),
            ExecutorCommand::Lose => there.map(|_| vec![ExecutorEvent::ExecutorLost {}]),
            ExecutorCommand::Leave => there.map(|_| vec![ExecutorEvent::ExecutorLeft {}]),
            ExecutorCommand::Forget => match known?.presence {
                Presence::Lost { at } if at.plus(LOST_SHOWN) <= now => Ok(vec![ExecutorEvent::ExecutorLeft {}]),
                Presence::Lost { .. } | Presence::Alive | Presence::Draining | Presence::Left => Ok(Vec::new()),
            },
            ExecutorCommand::Return => match known?.presence {
                Presence::Lost { .. } => Ok(vec![ExecutorEvent::ExecutorLeft {}]),
                Presence::Alive | Presence::Draining | Presence::Left => Ok(Vec::new()),
            },
        }
    }

    fn apply(_id: Uuid, before: Option<Executor>, event: &ExecutorEvent, at: Timestamp) -> Result<Executor, Misplaced> {
        let misplaced = |event| Misplaced { event };
        match (event, before) {
            (ExecutorEvent::ExecutorRegistered { offer, node, owner }, None) => Ok(Executor {
                offer: offer.clone(),
                owner: owner.clone(),
                registered_at: at,
                seen_at: at,
                presence: Presence::Alive,
                node: node.clone(),
            }),
            (ExecutorEvent::ExecutorRegistered { .. }, Some(_)) => Err(misplaced("ExecutorRegistered")),
            (ExecutorEvent::ExecutorSeen { heard_at }, Some(executor)) => {
                Ok(Executor { seen_at: heard_at.unwrap_or(at), ..executor })
            }
            (ExecutorEvent::ExecutorMoved { node }, Some(executor)) => {
                Ok(Executor { node: node.clone(), seen_at: at, ..executor })
            }
            (ExecutorEvent::ExecutorDraining {}, Some(executor)) => {
                Ok(Executor { presence: Presence::Draining, seen_at: at, ..executor })
            }
            (ExecutorEvent::ExecutorLost {}, Some(executor)) => {
                Ok(Executor { presence: Presence::Lost { at }, ..executor })
            }
            (ExecutorEvent::ExecutorLeft {}, Some(executor)) => Ok(Executor { presence: Presence::Left, ..executor }),
            (ExecutorEvent::ExecutorSeen { .. }, None) => Err(misplaced("ExecutorSeen")),
            (ExecutorEvent::ExecutorMoved { .. }, None) => Err(misplaced("ExecutorMoved")),
            (ExecutorEvent::ExecutorDraining {}, None) => Err(misplaced("ExecutorDraining")),
            (ExecutorEvent::ExecutorLost {}, None) => Err(misplaced("ExecutorLost")),
            (ExecutorEvent::ExecutorLeft {}, None) => Err(misplaced("ExecutorLeft")),
        }
    }

    fn next_turn(&self) -> Option<Timestamp> {
        match self.presence {
            Presence::Alive | Presence::Draining => Some(self.seen_at.plus(LEASE)),
            Presence::Lost { at } => Some(at.plus(LOST_SHOWN)),
            Presence::Left => None,
        }
    }

    fn is_over(&self) -> bool {
        self.presence == Presence::Left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(1_000_000).unwrap().plus(Millis::from_ms(ms))
    }

    fn offer() -> Offer {
        Offer {
            name: "worker-1".into(),
            group: "gpu".into(),
            tools: BTreeSet::from(["render".to_owned()]),
            capacity: 4,
            version: None,
        }
    }

    fn register() -> ExecutorCommand {
        ExecutorCommand::Register { offer: offer(), node: "local".into(), owner: None }
    }

    fn play(steps: &[(u64, ExecutorCommand)]) -> Result<(Executor, usize), ExecutorRefusal> {
        let (mut state, mut events) = (None, 0);
        for (ms, command) in steps {
            for event in Executor::decide(Uuid::nil(), state.as_ref(), command.clone(), at(*ms))? {
                state = Some(Executor::apply(Uuid::nil(), state, &event, at(*ms)).unwrap());
                events += 1;
            }
        }
        Ok((state.unwrap(), events))
    }

    #[test]
    fn heartbeats_are_written_down_only_now_and_then() {
        let mut steps = vec![(0, register())];
        steps.extend((1..=30).map(|second| (second * 1_000, ExecutorCommand::Seen)));
        let (executor, events) = play(&steps).unwrap();
        assert_eq!((events, executor.seen_at), (7, at(30_000)));
        assert_eq!(executor.next_turn(), Some(at(30_000).plus(LEASE)));
    }

    #[test]
    fn one_that_falls_silent_is_lost_shown_for_a_while_and_forgotten() {
        let lease = LEASE.ms();
        let steps = vec![(0, register()), (lease, ExecutorCommand::Lose)];
        let (executor, _) = play(&steps).unwrap();
        assert!(!executor.is_there() && !executor.is_over());
        let forget = |ms| {
            let mut all = steps.clone();
            all.push((ms, ExecutorCommand::Forget));
            play(&all).unwrap().0.is_over()
        };
        assert!(!forget(lease + LOST_SHOWN.ms() - 1) && forget(lease + LOST_SHOWN.ms()));
    }

    #[test]
    fn a_lease_that_is_renewed_ends_a_lease_after_it_was_heard_of() {
        let renewed = |heard, now| {
            let renew = ExecutorCommand::Renew { heard_at: at(heard) };
            play(&[(0, register()), (now, renew)]).unwrap().0.next_turn()
        };
        assert_eq!(renewed(9_000, 15_000), Some(at(9_000).plus(LEASE)), "not a lease after somebody looked");
        assert_eq!(renewed(20_000, 15_000), Some(at(15_000).plus(LEASE)), "the clock was set back");
    }

    #[test]
    fn one_that_goes_to_another_node_is_there_from_then_on() {
        let moved = ExecutorCommand::Move { node: "b".into() };
        let (executor, _) = play(&[(0, register()), (9_000, moved.clone())]).unwrap();
        assert_eq!((executor.node.as_str(), executor.next_turn()), ("b", Some(at(9_000).plus(LEASE))));
        let late = [(0, register()), (1, ExecutorCommand::Lose), (2, moved)];
        assert_eq!(play(&late), Err(ExecutorRefusal::NoSuchExecutor));
    }

    #[test]
    fn a_generation_that_is_over_does_not_come_back() {
        for end in [ExecutorCommand::Lose, ExecutorCommand::Leave] {
            for more in [ExecutorCommand::Seen, ExecutorCommand::Renew { heard_at: at(2) }, ExecutorCommand::Drain] {
                let steps = [(0, register()), (1, end.clone()), (2, more)];
                assert_eq!(play(&steps), Err(ExecutorRefusal::NoSuchExecutor));
            }
        }
    }

    #[test]
    fn an_executor_belongs_to_the_token_that_registered_it() {
        let token = |id, ms| TokenIdentity { id: Uuid::from_u128(id), issued_at: at(ms) };
        let mine = Speaker::Token(token(1, 0));
        assert!(mine.may_speak_for(Some(token(1, 0))));
        assert!(!mine.may_speak_for(Some(token(2, 0))), "of somebody else");
        assert!(!mine.may_speak_for(Some(token(1, 5))), "of another token of the same name");
        assert!(!mine.may_speak_for(None), "of the socket");
        assert!(Speaker::Admin.may_speak_for(Some(token(2, 0))) && Speaker::Admin.may_speak_for(None));
    }

    #[test]
    fn registrations_have_a_limit_for_a_token_and_one_for_all() {
        assert!(check_room(EXECUTORS_PER_TOKEN_MAX - 1, EXECUTORS_MAX - 1).is_ok());
        for (of_owner, all) in [(EXECUTORS_PER_TOKEN_MAX, EXECUTORS_PER_TOKEN_MAX), (0, EXECUTORS_MAX)] {
            assert!(matches!(check_room(of_owner, all), Err(ExecutorRefusal::TooMany { .. })));
        }
    }

    #[test]
    fn an_offer_that_says_too_little_or_too_much_is_refused() {
        let refused = |change: fn(&mut Offer)| {
            let mut offer = offer();
            change(&mut offer);
            offer.validate().is_err()
        };
        assert!(refused(|offer| offer.name = " ".into()));
        assert!(refused(|offer| offer.group = "a\nb".into()));
        assert!(refused(|offer| offer.tools.clear()));
        assert!(refused(|offer| offer.capacity = 0));
        assert!(refused(|offer| offer.capacity = EXECUTOR_CAPACITY_MAX + 1));
        assert!(!refused(|_| ()));
    }
}
