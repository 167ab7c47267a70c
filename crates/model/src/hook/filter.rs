//! Which deliveries a hook lets through: one test on one place of a JSON payload.
//!
//! Invariant: a payload that is no JSON has nothing at any place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::FILTER_VALUES_MAX;

/// A JSON pointer (RFC 6901) and what must be true of the value there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Filter {
    pub pointer: String,
    pub test: Test,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    Equals(Value),
    NotEquals(Value),
    Exists(bool),
    OneOf(Vec<Value>),
}

impl Filter {
    pub fn passes(&self, payload: &[u8]) -> bool {
        let payload: Value = serde_json::from_slice(payload).unwrap_or(Value::Null);
        let found = payload.pointer(&self.pointer);
        match &self.test {
            Test::Equals(wanted) => found == Some(wanted),
            Test::NotEquals(unwanted) => found != Some(unwanted),
            Test::Exists(wanted) => found.is_some() == *wanted,
            Test::OneOf(wanted) => found.is_some_and(|found| wanted.contains(found)),
        }
    }
}

impl Test {
    const NAMES: [&'static str; 4] = ["equals", "not_equals", "exists", "one_of"];

    fn read(name: &str, value: Value) -> Result<Test, String> {
        match (name, value) {
            ("equals", value) => Ok(Test::Equals(value)),
            ("not_equals", value) => Ok(Test::NotEquals(value)),
            ("exists", Value::Bool(wanted)) => Ok(Test::Exists(wanted)),
            ("exists", _) => Err("exists is true or false".into()),
            ("one_of", Value::Array(values)) if (1..=FILTER_VALUES_MAX).contains(&values.len()) => {
                Ok(Test::OneOf(values))
            }
            ("one_of", _) => Err(format!("one_of is a list of 1 to {FILTER_VALUES_MAX} values")),
            (other, _) => Err(format!("unknown test {other:?}: use one of {}", Test::NAMES.join(", "))),
        }
    }

    fn write(self) -> (&'static str, Value) {
        match self {
            Test::Equals(value) => ("equals", value),
            Test::NotEquals(value) => ("not_equals", value),
            Test::Exists(wanted) => ("exists", Value::Bool(wanted)),
            Test::OneOf(values) => ("one_of", Value::Array(values)),
        }
    }
}

impl TryFrom<Map<String, Value>> for Filter {
    type Error = String;

    fn try_from(mut form: Map<String, Value>) -> Result<Filter, String> {
        let pointer = match form.remove("pointer") {
            Some(Value::String(pointer)) if pointer.is_empty() || pointer.starts_with('/') => pointer,
            _ => return Err("a filter needs a pointer: a JSON pointer such as \"/action\"".into()),
        };
        let mut tests = form.into_iter();
        match (tests.next(), tests.next()) {
            (Some((name, value)), None) => Ok(Filter { pointer, test: Test::read(&name, value)? }),
            _ => Err(format!("a filter has a pointer and one of {}", Test::NAMES.join(", "))),
        }
    }
}

impl From<Filter> for Map<String, Value> {
    fn from(filter: Filter) -> Map<String, Value> {
        let (name, value) = filter.test.write();
        Map::from_iter([("pointer".to_owned(), Value::String(filter.pointer)), (name.to_owned(), value)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(form: Value) -> Filter {
        serde_json::from_value(form).unwrap()
    }

    #[test]
    fn a_filter_tests_one_value() {
        let payload = br#"{"action": "opened", "pull": {"draft": false, "a/b": [1, 2]}}"#;
        for (form, passes) in [
            (json!({"pointer": "/action", "equals": "opened"}), true),
            (json!({"pointer": "/action", "equals": "closed"}), false),
            (json!({"pointer": "/action", "not_equals": "closed"}), true),
            (json!({"pointer": "/action", "not_equals": "opened"}), false),
            (json!({"pointer": "/action", "one_of": ["closed", "opened"]}), true),
            (json!({"pointer": "/action", "one_of": ["closed"]}), false),
            (json!({"pointer": "/pull/draft", "equals": false}), true),
            (json!({"pointer": "/pull/a~1b/1", "equals": 2}), true),
            (json!({"pointer": "/pull/draft", "exists": true}), true),
            (json!({"pointer": "/pull/title", "exists": true}), false),
            (json!({"pointer": "/pull/title", "exists": false}), true),
            (json!({"pointer": "/pull/title", "equals": null}), false),
            (json!({"pointer": "/pull/title", "not_equals": 1}), true),
        ] {
            assert_eq!(filter(form.clone()).passes(payload), passes, "{form}");
        }
    }

    #[test]
    fn a_payload_that_is_no_json_has_nothing_anywhere() {
        assert!(!filter(json!({"pointer": "/a", "exists": true})).passes(b"a=1&b=2"));
        assert!(filter(json!({"pointer": "/a", "exists": false})).passes(&[0xff, 0]));
    }

    #[test]
    fn a_filter_reads_back_and_says_what_is_wrong() {
        for form in [json!({"pointer": "", "equals": null}), json!({"pointer": "/a", "one_of": [1]})] {
            assert_eq!(serde_json::to_value(filter(form.clone())).unwrap(), form);
        }
        for bad in [
            json!({}),
            json!({"pointer": "a", "exists": true}),
            json!({"pointer": "/a"}),
            json!({"pointer": "/a", "equals": 1, "exists": true}),
            json!({"pointer": "/a", "matches": "x"}),
            json!({"pointer": "/a", "one_of": []}),
            json!({"pointer": "/a", "exists": 1}),
        ] {
            assert!(serde_json::from_value::<Filter>(bad.clone()).is_err(), "{bad}");
        }
    }
}
