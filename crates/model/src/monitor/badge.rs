//! What a badge says of a monitor, and the key in its address.
//!
//! Invariant: whoever has the address of a badge learns how the monitor is and can do nothing: its key follows from the
//! token of the monitor, and not the other way round.

use sha2::{Digest, Sha256};

use super::{Monitor, MonitorStatus};
use crate::time::Timestamp;

const KEY_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadgeStatus {
    Up,
    /// A ping is overdue, within the grace.
    Late,
    Down,
}

impl BadgeStatus {
    pub const fn name(self) -> &'static str {
        match self {
            BadgeStatus::Up => "up",
            BadgeStatus::Late => "late",
            BadgeStatus::Down => "down",
        }
    }
}

impl Monitor {
    pub fn badge_status(&self, now: Timestamp) -> BadgeStatus {
        match self.status {
            MonitorStatus::Silent { .. } | MonitorStatus::Failing { .. } => BadgeStatus::Down,
            MonitorStatus::New | MonitorStatus::Up if self.is_late(now) => BadgeStatus::Late,
            MonitorStatus::New | MonitorStatus::Up => BadgeStatus::Up,
        }
    }

    /// Whether its time is over and only the grace is left. What has started has until the end of it.
    fn is_late(&self, now: Timestamp) -> bool {
        !self.is_started() && self.due_at.is_some_and(|due_at| due_at <= now.plus(self.settings.grace))
    }

    /// What the address of its badge ends in.
    pub fn badge_key(&self) -> String {
        let digest = Sha256::new().chain_update(b"badge of ").chain_update(self.token.as_bytes()).finalize();
        hex::encode(&digest[..KEY_BYTES])
    }
}
