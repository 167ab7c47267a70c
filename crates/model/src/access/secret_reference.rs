//! References to secrets inside the input of a tool: `{"secret": "name"}` wherever a text may stand, or
//! `{"secret": "name", "prefix": "Bearer "}` for a text that begins in the clear.
//!
//! Invariant: an input is stored with its references; only a copy of it, made for one attempt, ever holds a value.

use std::collections::BTreeSet;

use serde_json::Value;

/// One reference: the text it stands for is the prefix and the value of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretMention<'a> {
    pub name: &'a str,
    pub prefix: &'a str,
}

impl<'a> SecretMention<'a> {
    /// An object that has a text `secret`, perhaps a text `prefix`, and nothing else.
    pub fn of(value: &'a Value) -> Option<SecretMention<'a>> {
        let fields = value.as_object()?;
        let name = fields.get("secret")?.as_str()?;
        match (fields.len(), fields.get("prefix")) {
            (1, _) => Some(SecretMention { name, prefix: "" }),
            (2, Some(Value::String(prefix))) => Some(SecretMention { name, prefix }),
            _ => None,
        }
    }
}

/// The names of all secrets that an input refers to.
pub fn referred(input: &Value) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    gather(input, &mut names);
    names
}

fn gather<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) {
    if let Some(reference) = SecretMention::of(value) {
        names.insert(reference.name);
        return;
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|value| gather(value, names)),
        Value::Array(items) => items.iter().for_each(|value| gather(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The input with each reference replaced by its text. A name that `find` does not know stays as it is.
pub fn resolved<'a>(input: &Value, find: &impl Fn(&str) -> Option<&'a str>) -> Value {
    if let Some(SecretMention { name, prefix }) = SecretMention::of(input) {
        return find(name).map_or_else(|| input.clone(), |value| Value::String(format!("{prefix}{value}")));
    }
    match input {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), resolved(value, find))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|value| resolved(value, find)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => input.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_stands_wherever_a_text_may() {
        let input = json!({
            "url": { "secret": "place" },
            "headers": { "Authorization": { "secret": "key", "prefix": "Bearer " } },
            "body": { "list": [1, { "secret": "key" }] },
        });
        assert_eq!(referred(&input), BTreeSet::from(["key", "place"]));
        let value = |name: &str| if name == "key" { Some("s3cret") } else { Some("https://x") };
        let wanted = json!({
            "url": "https://x",
            "headers": { "Authorization": "Bearer s3cret" },
            "body": { "list": [1, "s3cret"] },
        });
        assert_eq!(resolved(&input, &value), wanted);
    }

    #[test]
    fn what_only_looks_similar_is_left_alone() {
        let input = json!([
            { "secret": 5 },
            { "secret": "a", "more": 1 },
            { "secret": "a", "prefix": 1 },
            { "secret": null },
            "secret",
        ]);
        assert!(referred(&input).is_empty());
        assert_eq!(resolved(&input, &|_| Some("x")), input);
    }
}
