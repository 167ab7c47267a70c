//! A definition as JSON, written once: for the event, the snapshot of the job and the answer to whoever asked for it. A
//! binary format has it as bytes, since what people write has one form only.
//!
//! Invariant: the text is that of the definition it stands in. A definition that is shared does not change, a copy, which
//! may, begins without it, and the one change of a definition that may have it, its anchor, drops it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::Definition;
use crate::schedule::Schedule;

impl Definition {
    /// The definition as a JSON object, written when it is first asked for.
    pub fn json(&self) -> &str {
        self.text().as_str()
    }

    /// Writes the JSON now, so that whoever decides on the definition finds it there; not if scheduling still changes it.
    pub fn write_ahead(&self) {
        if !self.trigger.schedule().is_some_and(Schedule::awaits_anchor) {
            self.text();
        }
    }

    /// How long the JSON is, if it was written.
    pub(super) fn written_bytes(&self) -> Option<usize> {
        let Packed(packed) = &self.packed;
        packed.get().map(|text| text.as_str().len())
    }

    fn text(&self) -> &Text {
        let Packed(packed) = &self.packed;
        packed.get_or_init(|| Text::Written(to_raw_value(self).expect("a definition is plain data")))
    }
}

pub(in crate::job) fn serialize<S: Serializer>(definition: &Definition, serializer: S) -> Result<S::Ok, S::Error> {
    match (serializer.is_human_readable(), definition.text()) {
        (false, text) => serializer.serialize_bytes(text.as_str().as_bytes()),
        (true, Text::Written(json)) => json.serialize(serializer),
        (true, Text::Read(_)) => definition.serialize(serializer),
    }
}

pub(in crate::job) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Definition>, D::Error> {
    if deserializer.is_human_readable() {
        return Arc::deserialize(deserializer);
    }
    deserializer.deserialize_bytes(PackedDefinition)
}

/// The text of a definition, if somebody has asked for it.
#[derive(Default)]
pub(super) struct Packed(OnceLock<Text>);

enum Text {
    Written(Box<RawValue>),
    /// As it stood in a snapshot: to lay it into other JSON it would have to be checked again.
    Read(Box<str>),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Text::Written(json) => json.get(),
            Text::Read(text) => text,
        }
    }
}

impl Clone for Packed {
    fn clone(&self) -> Packed {
        Packed::default()
    }
}

/// It follows from the definition: two that are equal may differ in whether somebody has asked.
impl PartialEq for Packed {
    fn eq(&self, _: &Packed) -> bool {
        true
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "packed" } else { "not packed" })
    }
}

struct PackedDefinition;

impl Visitor<'_> for PackedDefinition {
    type Value = Arc<Definition>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a definition")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Arc<Definition>, E> {
        let text = std::str::from_utf8(bytes).map_err(E::custom)?;
        let definition: Definition = serde_json::from_str(text).map_err(E::custom)?;
        definition.packed.0.get_or_init(|| Text::Read(text.into()));
        Ok(Arc::new(definition))
    }
}
