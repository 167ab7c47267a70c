//! Reading a tool's input field by field.
//!
//! Invariant: a field is either read with its one type or refused by its name; nothing is ignored. `null` is absent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::near::did_you_mean;

/// Why an input can never work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("{tool} takes an object such as {example}, not {found}")]
    NotAnObject { tool: String, example: String, found: &'static str },
    #[error("{tool} has no field {field:?}{hint}")]
    UnknownField { tool: String, field: String, hint: String },
    #[error("{field} must be {wanted}, not {found}")]
    WrongType { field: String, wanted: &'static str, found: &'static str },
    #[error("{field}: {why}")]
    Invalid { field: String, why: String },
    #[error("{0}")]
    Incomplete(String),
}

impl InputError {
    pub(crate) fn invalid(field: impl Into<String>, why: impl Into<String>) -> InputError {
        InputError::Invalid { field: field.into(), why: why.into() }
    }

    fn wrong(field: impl Into<String>, wanted: &'static str, found: &Value) -> InputError {
        InputError::WrongType { field: field.into(), wanted, found: kind(found) }
    }
}

/// An input whose field names are all known.
#[derive(Debug)]
pub(crate) struct InputFields<'a>(&'a Map<String, Value>);

impl<'a> InputFields<'a> {
    pub(crate) fn of(
        tool: &str,
        input: &'a Value,
        known: &[&str],
        example: &str,
    ) -> Result<InputFields<'a>, InputError> {
        let Value::Object(map) = input else {
            let example = example.to_owned();
            return Err(InputError::NotAnObject { tool: tool.to_owned(), example, found: kind(input) });
        };
        if let Some(field) = map.keys().find(|field| !known.contains(&field.as_str())) {
            let hint = hint(field, known);
            return Err(InputError::UnknownField { tool: tool.to_owned(), field: field.clone(), hint });
        }
        Ok(InputFields(map))
    }

    pub(crate) fn value(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, field: &str) -> Result<Option<String>, InputError> {
        self.value(field).map(|value| text(field, value)).transpose()
    }

    pub(crate) fn texts(&self, field: &str) -> Result<Vec<String>, InputError> {
        match self.value(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| text(&format!("{field}[{at}]"), item)).collect()
            }
            Some(other) => Err(InputError::wrong(field, "a list of text", other)),
        }
    }

    pub(crate) fn text_map(&self, field: &str) -> Result<BTreeMap<String, String>, InputError> {
        match self.value(field) {
            None => Ok(BTreeMap::new()),
            Some(Value::Object(entries)) => {
                entries.iter().map(|(key, item)| Ok((key.clone(), text(&format!("{field}.{key}"), item)?))).collect()
            }
            Some(other) => Err(InputError::wrong(field, "an object of text", other)),
        }
    }
}

fn text(field: &str, value: &Value) -> Result<String, InputError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(InputError::wrong(field, "text (in quotes)", other)),
    }
}

fn hint(field: &str, known: &[&str]) -> String {
    let near = did_you_mean(field, known.iter().copied());
    if !near.is_empty() || known.is_empty() {
        return near;
    }
    format!("; its fields are {}", known.join(", "))
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(input: &Value) -> String {
        let read = || {
            let fields = InputFields::of("shell", input, &["command", "args", "env"], r#"{"command": "echo"}"#)?;
            Ok::<_, InputError>((fields.text("command")?, fields.texts("args")?, fields.text_map("env")?))
        };
        read().expect_err("refused").to_string()
    }

    #[test]
    fn every_refusal_names_the_field_and_what_it_wants() {
        assert_eq!(refusal(&json!("ls")), r#"shell takes an object such as {"command": "echo"}, not text"#);
        assert_eq!(refusal(&json!({"comand": "ls"})), r#"shell has no field "comand", did you mean "command"?"#);
        assert_eq!(refusal(&json!({"zebra": 1})), r#"shell has no field "zebra"; its fields are command, args, env"#);
        assert_eq!(refusal(&json!({"command": 5})), "command must be text (in quotes), not a number");
        assert_eq!(refusal(&json!({"args": "x"})), "args must be a list of text, not text");
        assert_eq!(refusal(&json!({"args": ["x", 5]})), "args[1] must be text (in quotes), not a number");
        assert_eq!(refusal(&json!({"env": {"N": true}})), "env.N must be text (in quotes), not a boolean");
    }

    #[test]
    fn null_is_absent() {
        let input = json!({"command": null});
        let fields = InputFields::of("shell", &input, &["command"], "").unwrap();
        assert_eq!(fields.text("command").unwrap(), None);
    }
}
