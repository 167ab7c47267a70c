//! How a job carries its definition: in a binary format as JSON bytes, since what people write has one form only.
//!
//! Invariant: the bytes are those of the definition they stand in. A definition that is shared does not change, and a
//! copy, which may, begins without them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use super::Definition;

pub(in crate::job) fn serialize<S: Serializer>(definition: &Arc<Definition>, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return definition.serialize(serializer);
    }
    let Packed(packed) = &definition.packed;
    if let Some(bytes) = packed.get() {
        return serializer.serialize_bytes(bytes);
    }
    let bytes = serde_json::to_vec(definition).map_err(ser::Error::custom)?;
    serializer.serialize_bytes(packed.get_or_init(|| bytes.into_boxed_slice()))
}

pub(in crate::job) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Definition>, D::Error> {
    if deserializer.is_human_readable() {
        return Arc::deserialize(deserializer);
    }
    deserializer.deserialize_bytes(PackedDefinition)
}

/// The bytes of a definition, if somebody has asked for them.
#[derive(Default)]
pub(super) struct Packed(OnceLock<Box<[u8]>>);

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
        let definition: Definition = serde_json::from_slice(bytes).map_err(E::custom)?;
        definition.packed.0.get_or_init(|| bytes.into());
        Ok(Arc::new(definition))
    }
}
