//! A pattern for names: letters stand for themselves, `*` for any number of characters.
//!
//! Invariant: whether a name fits is found in time proportional to both lengths at most.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::job::Invalid;
use crate::job::definition::name;
use crate::limits::LABEL_MAX_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPattern(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a pattern has 1 to {LABEL_MAX_BYTES} bytes; * stands for anything: incident.*, nightly-*")]
pub struct NotAPattern;

impl EventPattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it looks like what it is. What was kept before is read as it is.
    pub(crate) fn check(&self, field: &str) -> Result<(), Invalid> {
        name(field, &self.0, LABEL_MAX_BYTES)
    }

    pub fn fits(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let mut rest = rest;
        let mut parts: Vec<&str> = parts.collect();
        // Without a * the whole name is the first part.
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl FromStr for EventPattern {
    type Err = NotAPattern;

    fn from_str(text: &str) -> Result<EventPattern, NotAPattern> {
        if (1..=LABEL_MAX_BYTES).contains(&text.len()) { Ok(EventPattern(text.to_owned())) } else { Err(NotAPattern) }
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EventPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EventPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        pattern.parse::<EventPattern>().unwrap().fits(name)
    }

    #[test]
    fn a_star_stands_for_anything_and_the_rest_for_itself() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "incident.started"),
            ("incident.*", "incident.started"),
            ("*.failed", "job.failed"),
            ("job.failed", "job.failed"),
            ("a*b*c", "axxbyyc"),
            ("a*b*c", "abbcbc"),
            ("a**", "a"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("incident.*", "incident"),
            ("job.failed", "job.failed2"),
            ("job", "job.failed"),
            ("a*b*c", "axxc"),
            ("ab*ba", "aba"),
            ("*.failed", "failed"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_does_not_take_forever() {
        assert!(!fits(&"*a".repeat(100), &"b".repeat(100_000)));
        assert!(!fits(&format!("{}c", "*a".repeat(90)), &"a".repeat(100_000)));
    }

    #[test]
    fn an_empty_or_endless_pattern_is_refused() {
        assert!("".parse::<EventPattern>().is_err() && "x".repeat(201).parse::<EventPattern>().is_err());
    }
}
