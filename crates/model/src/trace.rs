//! The W3C trace context: which trace a request belongs to, and which span of it asks.
//!
//! Invariant: neither id is zero; what is not written as the standard says is no context at all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `00-<trace id>-<span id>-<flags>`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: u128,
    pub span_id: u64,
    /// Whether whoever began the trace wants it recorded.
    pub sampled: bool,
}

const SAMPLED: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a trace context (write it as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01)")]
pub struct NotATraceParent;

impl FromStr for TraceParent {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<TraceParent, NotATraceParent> {
        parse(text).ok_or(NotATraceParent)
    }
}

/// A later version may add parts behind the four that version 00 has.
fn parse(text: &str) -> Option<TraceParent> {
    let mut parts = text.split('-');
    let version = hex(parts.next()?, 2)?;
    let (trace_id, span_id) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
    let flags = hex(parts.next()?, 2)?;
    let is_known = version != 0xff && (version != 0 || parts.next().is_none());
    let sampled = flags & u128::from(SAMPLED) != 0;
    (is_known && trace_id != 0 && span_id != 0).then_some(TraceParent {
        trace_id,
        span_id: u64::try_from(span_id).ok()?,
        sampled,
    })
}

/// Exactly so many digits, none of them a capital.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let plain = text.len() == digits && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    plain.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceParent { trace_id, span_id, sampled } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", if *sampled { SAMPLED } else { 0 })
    }
}

impl Serialize for TraceParent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceParent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TraceParent, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_written_as_it_was_read() {
        let read: TraceParent = WRITTEN.parse().unwrap();
        assert_eq!((read.span_id, read.sampled), (0x00f0_67aa_0ba9_02b7, true));
        assert_eq!(read.to_string(), WRITTEN);
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<TraceParent>(&json).unwrap(), read);
    }

    #[test]
    fn later_versions_are_understood_as_far_as_they_are_known() {
        let later: TraceParent = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02-later".parse().unwrap();
        assert_eq!(later.to_string(), WRITTEN.replace("-01", "-00"));
    }

    #[test]
    fn what_is_not_written_as_the_standard_says_is_none() {
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-{\"level\":\"error\"}-00f067aa0ba902b7-01",
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(NotATraceParent), "{wrong}");
        }
    }
}
