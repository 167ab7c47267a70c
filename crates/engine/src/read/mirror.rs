//! How a mirror of the events in another system is doing, and where it keeps how far it has come.
//!
//! Invariant: positions belong to one store. What a mirror keeps goes with the store when it is copied, its position
//! does not: the mirror then reads everything once more, and what is there already is recognised.

use std::collections::BTreeMap;

use ordo_model::Timestamp;
use ordo_store::Chunk;
use serde_json::Value;
use uuid::Uuid;

/// Under this owner, as one chunk, a store keeps how far its mirror has come.
pub const MIRROR_PROGRESS: Uuid = Uuid::from_u128(0x0d50_0000_0000_8000_8000_6d69_7272_6f72);

/// The field of it that only means something in the store where it was written.
pub const POSITION: &str = "position";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MirrorState {
    /// Another node mirrors, or this one has not begun.
    #[default]
    StandingBy,
    CatchingUp,
    CaughtUp,
    /// The last try failed; the next one is coming.
    Failing,
}

impl MirrorState {
    pub const fn name(self) -> &'static str {
        match self {
            MirrorState::StandingBy => "standing_by",
            MirrorState::CatchingUp => "catching_up",
            MirrorState::CaughtUp => "caught_up",
            MirrorState::Failing => "failing",
        }
    }
}

/// A mirror as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MirrorStatus {
    /// Where it writes to, without credentials.
    pub target: String,
    pub state: MirrorState,
    /// When the oldest event was written that is known not to be there yet.
    pub waiting_since: Option<Timestamp>,
    /// Since this process began.
    pub appended: u64,
    pub failures: u64,
    /// Events that were trimmed or purged before they could be mirrored, and such from before the mirror began.
    pub missing: u64,
    pub missing_before: u64,
    /// Streams that are halted, each with the reason.
    pub halted: BTreeMap<String, String>,
    pub last_error: Option<String>,
}

impl MirrorStatus {
    pub fn lag_ms(&self, now: Timestamp) -> u64 {
        self.waiting_since.map_or(0, |since| u64::try_from(now.ms() - since.ms()).unwrap_or(0))
    }
}

/// A chunk as it is put into another store.
pub fn carried_over(chunk: Chunk) -> Chunk {
    if chunk.owner != MIRROR_PROGRESS {
        return chunk;
    }
    let kept = match serde_json::from_slice(&chunk.bytes) {
        Ok(Value::Object(mut progress)) => {
            progress.remove(POSITION);
            Value::Object(progress).to_string()
        }
        Ok(_) | Err(_) => String::new(),
    };
    Chunk { bytes: kept.into_bytes(), ..chunk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_everything_but_the_position() {
        let chunk = |owner, text: &str| Chunk { owner, seq: 0, bytes: text.as_bytes().to_vec() };
        let text = |chunk: Chunk| String::from_utf8(chunk.bytes).unwrap();
        let progress = chunk(MIRROR_PROGRESS, r#"{"missing":3,"position":"17"}"#);
        assert_eq!(text(carried_over(progress)), r#"{"missing":3}"#);
        let log = r#"{"position":"17"}"#;
        assert_eq!(text(carried_over(chunk(Uuid::from_u128(1), log))), log, "the log of a run is nobody else's");
    }

    #[test]
    fn the_lag_counts_from_the_oldest_event_that_waits() {
        let at = |ms| Timestamp::from_ms(ms).unwrap();
        let mut status = MirrorStatus { waiting_since: Some(at(1_000)), ..MirrorStatus::default() };
        assert_eq!((status.lag_ms(at(4_500)), status.lag_ms(at(500))), (3_500, 0));
        status.waiting_since = None;
        assert_eq!(status.lag_ms(at(4_500)), 0);
    }
}
