//! Pings: what a sign of life says, and the path that it says it by.
//!
//! Invariant: the paths are those of Healthchecks, so that its wrappers need nothing but another address: `/ping/UUID` or
//! `/ping/KEY/NAME`, then nothing, `start`, `fail`, `log` or the exit status of a command.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::is_default;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PingSignal))]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    Success,
    Start,
    Fail,
    /// Something to write down; it says nothing about how the work goes.
    Log,
}

impl Signal {
    pub const fn name(self) -> &'static str {
        match self {
            Signal::Success => "success",
            Signal::Start => "start",
            Signal::Fail => "fail",
            Signal::Log => "log",
        }
    }
}

/// A ping as it comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPing {
    pub signal: Signal,
    /// Of the command that ended, where the ping names it.
    pub exit_status: Option<u8>,
    /// Which run of several at once: a start and its end bear the same.
    pub rid: Option<Uuid>,
    /// Which chunk holds what it said.
    pub body: Option<Uuid>,
}

impl SentPing {
    pub const fn of(signal: Signal) -> SentPing {
        SentPing { signal, exit_status: None, rid: None, body: None }
    }

    /// What the last part of a path says: `start`, `fail`, `log` or an exit status.
    pub fn from_word(word: &str) -> Option<SentPing> {
        match word {
            "start" => Some(SentPing::of(Signal::Start)),
            "fail" => Some(SentPing::of(Signal::Fail)),
            "log" => Some(SentPing::of(Signal::Log)),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let status: u8 = digits.parse().ok()?;
                let signal = if status == 0 { Signal::Success } else { Signal::Fail };
                Some(SentPing { exit_status: Some(status), ..SentPing::of(signal) })
            }
            _ => None,
        }
    }
}

/// A ping that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Ping {
    pub signal: Signal,
    pub at: Timestamp,
    /// How long the run took that this ping ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The exit status of the command, where the ping named it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exit_status: Option<u8>,
    /// Which run of several at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rid: Option<Uuid>,
    /// Which chunk holds what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Uuid>,
}

/// A run with an id of its own that said that it started and has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningPing {
    pub rid: Uuid,
    pub at: Timestamp,
}

/// Which monitor a ping is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingTarget<'a> {
    /// The one with this token.
    Token(Uuid),
    /// The one of this name, for whoever has a ping key.
    Named { key: &'a str, name: &'a str },
}

/// What the parts of a path after `/ping/` mean. None: nothing.
pub fn read_ping_path<'a>(parts: &[&'a str]) -> Option<(PingTarget<'a>, SentPing)> {
    let success = SentPing::of(Signal::Success);
    match *parts {
        [token] => Some((PingTarget::Token(ping_token(token)?), success)),
        [first, word] => Some(match ping_token(first) {
            Some(token) => (PingTarget::Token(token), SentPing::from_word(word)?),
            None => (PingTarget::Named { key: first, name: word }, success),
        }),
        [key, name, word] if ping_token(key).is_none() => {
            Some((PingTarget::Named { key, name }, SentPing::from_word(word)?))
        }
        _ => None,
    }
}

/// The token of a monitor is a UUID, written with hyphens or without.
fn ping_token(text: &str) -> Option<Uuid> {
    matches!(text.len(), 32 | 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3b1f8a52-6c0e-4d7e-9a55-0f3c2d1e4b5a";

    fn read(path: &str) -> Option<(PingTarget<'_>, Signal, Option<u8>)> {
        let parts: Vec<&str> = path.split('/').collect();
        read_ping_path(&parts).map(|(target, sent)| (target, sent.signal, sent.exit_status))
    }

    #[test]
    fn the_token_of_a_monitor_is_followed_by_what_happened() {
        let token = PingTarget::Token(UUID.parse().unwrap());
        for (rest, signal, status) in [
            ("", Signal::Success, None),
            ("/start", Signal::Start, None),
            ("/fail", Signal::Fail, None),
            ("/log", Signal::Log, None),
            ("/0", Signal::Success, Some(0)),
            ("/255", Signal::Fail, Some(255)),
        ] {
            assert_eq!(read(&format!("{UUID}{rest}")), Some((token, signal, status)), "{rest}");
            let simple = UUID.replace('-', "");
            assert_eq!(read(&format!("{simple}{rest}")), Some((token, signal, status)), "{rest}");
        }
        for rest in ["/256", "/-1", "/", "/success", "/1/start", "/start/1"] {
            assert_eq!(read(&format!("{UUID}{rest}")), None, "{rest}");
        }
    }

    #[test]
    fn after_a_key_comes_a_name_whatever_it_is() {
        let named = |name| PingTarget::Named { key: "ordo_p_abc", name };
        assert_eq!(read("ordo_p_abc/backup"), Some((named("backup"), Signal::Success, None)));
        assert_eq!(read("ordo_p_abc/start"), Some((named("start"), Signal::Success, None)));
        assert_eq!(read("ordo_p_abc/7"), Some((named("7"), Signal::Success, None)));
        assert_eq!(read("ordo_p_abc/backup/3"), Some((named("backup"), Signal::Fail, Some(3))));
        assert_eq!(read("ordo_p_abc"), None);
        assert_eq!(read("ordo_p_abc/backup/start/x"), None);
    }
}
