//! How a job carries its definition: in a binary format as JSON bytes, since what people write has one form only.

use std::fmt;
use std::sync::Arc;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use super::definition::Definition;

pub(super) fn serialize<S: Serializer>(definition: &Arc<Definition>, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return definition.serialize(serializer);
    }
    serializer.serialize_bytes(&serde_json::to_vec(definition).map_err(ser::Error::custom)?)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Definition>, D::Error> {
    if deserializer.is_human_readable() {
        return Arc::deserialize(deserializer);
    }
    deserializer.deserialize_bytes(PackedDefinition)
}

struct PackedDefinition;

impl Visitor<'_> for PackedDefinition {
    type Value = Arc<Definition>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a definition")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Arc<Definition>, E> {
        serde_json::from_slice(bytes).map_err(E::custom)
    }
}
