//! A job as a client writes it down: the fields of its definition, and whether it is held.

use std::fmt;

use ordo_model::job::Definition;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(examples(
    json!({ "label": "nightly-report", "tool_name": "shell", "tool_input": { "command": "make", "args": ["report"] },
        "trigger": { "type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin" } }),
    json!({ "label": "on demand", "tool_name": "noop", "trigger": { "type": "manual" } }),
))]
pub struct NewJob {
    #[serde(flatten)]
    pub definition: Definition,
    /// The job does not run before it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// A derived reader would buffer the fields of the definition, and forget to refuse those that it does not have.
impl<'de> Deserialize<'de> for NewJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NewJob, D::Error> {
        deserializer.deserialize_map(NewJobVisitor)
    }
}

struct NewJobVisitor;

impl<'de> Visitor<'de> for NewJobVisitor {
    type Value = NewJob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<NewJob, A::Error> {
        let mut held = None;
        let fields = Rest { fields, held: &mut held };
        let definition = Definition::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(NewJob { definition, held: held.unwrap_or_default() })
    }
}

/// All fields but `held`, which is put aside.
struct Rest<'a, A> {
    fields: A,
    held: &'a mut Option<bool>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.fields.next_key::<String>()? {
            if key != "held" {
                let key: StringDeserializer<A::Error> = key.into_deserializer();
                return seed.deserialize(key).map(Some);
            }
            *self.held = self.fields.next_value::<Option<bool>>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}
