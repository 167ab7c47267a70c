//! A job as a file asks for it, before it meets the server.

use ordo_model::Timestamp;
use ordo_model::job::Definition;
use ordo_model::limits::NOTE_MAX_BYTES;
use ordo_model::text::shortened;
use serde_json::{Map, Value};

/// Everything a file led to.
#[derive(Debug, Default)]
pub struct Imported {
    pub drafts: Vec<JobDraft>,
    pub refused: Vec<Refused>,
    /// What is true of the file as a whole.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JobDraft {
    /// Where in the file: `line 12`.
    pub place: String,
    /// The same for the same entry, however often it is imported.
    pub label: String,
    /// The fields of a new job, besides its label.
    pub fields: Map<String, Value>,
    /// The fields about which the file speaks: a later import brings these up to date. The others are only where the
    /// job begins; what somebody makes of them later stays.
    pub stated: &'static [&'static str],
    pub held: bool,
    /// What could not be carried over.
    pub warnings: Vec<String>,
}

/// An entry that does not become a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub place: String,
    pub why: String,
}

impl JobDraft {
    /// The fields with their defaults, as the server will show them; or why it would refuse them.
    pub fn normal(&self, now: Timestamp) -> Result<Map<String, Value>, String> {
        let mut form = self.fields.clone();
        form.insert("label".to_owned(), Value::from(self.label.clone()));
        let definition: Definition = serde_json::from_value(Value::Object(form)).map_err(|error| error.to_string())?;
        let definition = definition.prepared(now).map_err(|invalid| invalid.to_string())?;
        match serde_json::to_value(definition) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(other) => Err(format!("{other} is no job")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The request that creates it.
    pub fn body(&self, held: bool) -> Value {
        let mut body = self.fields.clone();
        body.insert("label".to_owned(), Value::from(self.label.clone()));
        if held || self.held {
            body.insert("held".to_owned(), Value::Bool(true));
        }
        Value::Object(body)
    }
}

/// Entries may share a label; jobs of one import may not, or the second import would take one for the other.
pub(crate) fn tell_apart(drafts: &mut [JobDraft]) {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for draft in drafts {
        let count = seen.entry(draft.label.clone()).or_default();
        *count += 1;
        if *count > 1 {
            draft.label = format!("{} ({count})", draft.label);
        }
    }
}

/// At most as many bytes as a description may have, and nothing it may not hold.
pub(crate) fn description(text: &str) -> String {
    const MORE: &str = " …";
    let plain: String = text.chars().filter(|character| !character.is_control() || *character == '\n').collect();
    if plain.len() <= NOTE_MAX_BYTES {
        return plain;
    }
    format!("{}{MORE}", shortened(&plain, NOTE_MAX_BYTES - MORE.len()))
}
