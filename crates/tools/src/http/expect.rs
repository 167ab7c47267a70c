//! Which statuses count as done.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::fields::{InputError, kind};

/// Statuses a server can finally answer with.
const STATUSES: RangeInclusive<u16> = 200..=599;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expect(Vec<RangeInclusive<u16>>);

impl Default for Expect {
    fn default() -> Expect {
        Expect(vec![200..=299])
    }
}

impl Expect {
    /// A status, a range such as `"200-299"`, or a list of these.
    pub(crate) fn parse(value: &Value) -> Result<Expect, InputError> {
        match value {
            Value::Array(items) if items.is_empty() => {
                Err(InputError::invalid("expect", "an empty list can never be met; leave it out for 200-299"))
            }
            Value::Array(items) => items.iter().map(parse_one).collect::<Result<_, _>>().map(Expect),
            one => Ok(Expect(vec![parse_one(one)?])),
        }
    }

    pub(crate) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

fn parse_one(value: &Value) -> Result<RangeInclusive<u16>, InputError> {
    let refuse = |found: &str| {
        let why = format!("write a status from 200 to 599, a range like \"200-299\" or a list of these, not {found}");
        InputError::invalid("expect", why)
    };
    let range = match value {
        Value::Number(number) => number.as_u64().and_then(|status| u16::try_from(status).ok()).map(|one| one..=one),
        Value::String(text) => parse_range(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(refuse(kind(value))),
    };
    let valid = |range: &RangeInclusive<u16>| {
        !range.is_empty() && STATUSES.contains(range.start()) && STATUSES.contains(range.end())
    };
    range.filter(valid).ok_or_else(|| refuse(&value.to_string()))
}

fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            match (range.start(), range.end()) {
                (from, to) if from == to => write!(f, "{comma}{from}")?,
                (from, to) => write!(f, "{comma}{from}-{to}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expectation_is_shown_as_it_is_meant() {
        for (given, shown) in [
            (json!(204), "204"),
            (json!("200-299"), "200-299"),
            (json!("404"), "404"),
            (json!([200, "300-399"]), "200, 300-399"),
        ] {
            assert_eq!(Expect::parse(&given).unwrap().to_string(), shown);
        }
        assert!(Expect::default().contains(299) && !Expect::default().contains(300));
    }

    #[test]
    fn an_expectation_that_can_never_be_met_is_refused() {
        for given in [json!([]), json!(99), json!(600), json!("299-200"), json!("2xx"), json!(true), json!([[200]])] {
            assert!(Expect::parse(&given).is_err(), "{given}");
        }
    }
}
