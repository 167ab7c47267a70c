//! What two definitions differ in, field by field.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A field that differs. Lists are compared as a whole: a part of a command is no change of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldChange {
    /// Where it stands: `trigger.cron`.
    pub field: String,
    /// Left out: it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Left out: it is not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// In the order of the fields' names.
pub fn field_changes(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare(String::new(), Some(before), Some(after), &mut found);
    found
}

fn compare(field: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<FieldChange>) {
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            let mut names: Vec<&String> = old.keys().chain(added).collect();
            names.sort();
            for name in names {
                let inner = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                compare(inner, old.get(name), new.get(name), found);
            }
        }
        (before, after) if before == after => {}
        (before, after) => found.push(FieldChange { field, before: before.cloned(), after: after.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_differ_are_named_by_where_they_stand() {
        let before = json!({ "label": "a", "trigger": { "type": "scheduled", "cron": "0 2 * * *" }, "tool_input": { "args": [1, 2] } });
        let after = json!({ "label": "a", "trigger": { "type": "scheduled", "every": "5m" }, "tool_input": { "args": [1, 3] } });
        let found: Vec<(String, bool, bool)> = field_changes(&before, &after)
            .into_iter()
            .map(|change| (change.field, change.before.is_some(), change.after.is_some()))
            .collect();
        assert_eq!(
            found,
            [
                ("tool_input.args".to_owned(), true, true),
                ("trigger.cron".to_owned(), true, false),
                ("trigger.every".to_owned(), false, true)
            ]
        );
        assert_eq!(field_changes(&before, &before), []);
    }
}
