//! What every entity but a job has in common: hooks, tokens, incidents and the like are small state machines.
//!
//! Invariant: `decide` and `apply` are pure; whatever follows from a state (its alarm, its chunks, whether it may be
//! forgotten) is asked of the state, so that it can never be stored without.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::id::Kind;
use crate::moment::ClockFrame;
use crate::outbox;
use crate::time::{Millis, Timestamp};

pub trait Object: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    const KIND: Kind;
    /// After so many events the stream becomes one checkpoint; None: all of it is kept.
    const CHECKPOINT_EVERY: Option<u64> = None;

    type Command: Clone + Debug + Send + Sync + 'static;
    /// Written as `{"type": name, "data": …}`: `#[serde(tag = "type", content = "data")]`.
    type Event: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    type Refusal: Clone + std::error::Error + Send + Sync + 'static;

    /// Chooses. No events: nothing to do, and that is fine.
    fn decide(
        id: Uuid,
        before: Option<&Self>,
        command: Self::Command,
        now: Timestamp,
    ) -> Result<Vec<Self::Event>, Self::Refusal>;

    /// Moves. Carries out what happened, whatever the rules are by now.
    fn apply(id: Uuid, before: Option<Self>, event: &Self::Event, at: Timestamp) -> Result<Self, Misplaced>;

    /// The next moment at which something must be decided: what waits in the outbox needs no decision.
    fn next_turn(&self) -> Option<Timestamp> {
        None
    }

    /// Since when the oldest entry of its outbox has been waiting.
    fn outbox_since(&self) -> Option<Timestamp> {
        None
    }

    /// The next moment at which something must be done without anybody asking. What waits in the outbox is looked at
    /// within the delay.
    fn next_wake(&self, flush_delay: Millis) -> Option<Timestamp> {
        outbox::wake(self.next_turn(), self.outbox_since(), flush_delay)
    }

    /// Whether it has something to do now that need not wait for its alarm.
    fn is_urgent(&self) -> bool {
        false
    }

    /// How it ranks among others of the same moment: 0 comes first.
    fn rank(&self) -> u8 {
        4
    }

    /// How the clock stood when its lengths of time were laid out.
    fn clock(&self) -> Option<ClockFrame> {
        None
    }

    /// What happens to it when the wall clock is set: its lengths of time move by as much. None: it measures nothing.
    fn clock_stepped(_by_ms: i64, _frame: ClockFrame) -> Option<Self::Event> {
        None
    }

    /// Owners of the chunks that live as long as this state names them.
    fn chunk_owners(&self) -> Vec<Uuid> {
        Vec::new()
    }

    /// The whole stream may be forgotten.
    fn is_over(&self) -> bool {
        false
    }
}

/// The event cannot follow on the state it stands behind: the stream is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} cannot stand here")]
pub struct Misplaced {
    pub event: &'static str,
}
