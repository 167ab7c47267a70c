//! The names of a struct's fields, asked of its own `Deserialize`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// All names on the wire; none for what is not a plain struct.
pub fn field_names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(FieldProbe) {
        Err(FieldsFound(fields)) => fields,
        Ok(_) => &[],
    }
}

struct FieldProbe;

#[derive(Debug)]
struct FieldsFound(&'static [&'static str]);

impl fmt::Display for FieldsFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for FieldsFound {}

impl serde::de::Error for FieldsFound {
    fn custom<T: fmt::Display>(_: T) -> FieldsFound {
        FieldsFound(&[])
    }
}

impl<'de> Deserializer<'de> for FieldProbe {
    type Error = FieldsFound;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, FieldsFound> {
        Err(FieldsFound(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, FieldsFound> {
        Err(FieldsFound(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
