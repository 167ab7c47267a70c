//! A JSON value as a source for serde, which gives a type only what it asked for.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::error::{Misread, PathStep};

pub(super) struct JsonNode(pub(super) Value);

impl JsonNode {
    fn must_be<T>(&self, wanted: &str) -> Result<T, Misread> {
        let given = match &self.0 {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Err(Misread::new(format!("must be {wanted}, not {given}")))
    }

    fn object<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Object(fields) => visitor.visit_map(ObjectFields::of(fields)),
            _ => self.must_be("an object"),
        }
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        let Value::Array(items) = self.0 else { return self.must_be("a list") };
        let count = items.len();
        let mut items = Items { rest: items.into_iter(), index: 0 };
        let read = visitor.visit_seq(&mut items)?;
        match items.rest.len() {
            0 => Ok(read),
            more => Err(Misread::new(format!("has {count} entries, {more} too many"))),
        }
    }

    fn whole<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match &self.0 {
            Value::Number(number) if !number.is_f64() => self.deserialize_any(visitor),
            Value::Number(_) => Err(Misread::new("must be a whole number")),
            _ => self.must_be("a whole number"),
        }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            _ => self.must_be("a text"),
        }
    }
}

/// One method for each kind of thing that a type may ask for.
macro_rules! ask {
    ($reader:ident: $($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
            self.$reader(visitor)
        })+
    };
}

impl<'de> Deserializer<'de> for JsonNode {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Misread::new("is a number out of range")),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(_) => self.list(visitor),
            Value::Object(_) => self.object(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => self.must_be("true or false"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        self.object(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Misread> {
        self.list(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        let refuse = || Misread::new(format!("must be one of {}", variants.join(", ")));
        let (name, value) = match self.0 {
            Value::String(name) => (name, None),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, value) = fields.into_iter().next().ok_or_else(refuse)?;
                (name, Some(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return Err(refuse());
            }
        };
        visitor.visit_enum(NamedVariant { name, value })
    }

    ask!(object: deserialize_map);
    ask!(list: deserialize_seq);
    ask!(whole: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_i8
        deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128);
    ask!(text: deserialize_str deserialize_string deserialize_char deserialize_identifier);

    forward_to_deserialize_any! { f32 f64 bytes byte_buf unit unit_struct tuple_struct ignored_any }
}

struct ObjectFields {
    rest: serde_json::map::IntoIter,
    current: Option<(String, Value)>,
}

impl ObjectFields {
    fn of(fields: Map<String, Value>) -> ObjectFields {
        ObjectFields { rest: fields.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for ObjectFields {
    type Error = Misread;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misread> {
        self.current = self.rest.next();
        let Some((key, _)) = &self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Misread> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misread> {
        let (key, value) = self.current.take().ok_or_else(|| Misread::new("a value is asked for before its key"))?;
        seed.deserialize(JsonNode(value)).map_err(|error| error.within(PathStep::Key(key)))
    }
}

struct Items {
    rest: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Misread;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misread> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(JsonNode(value)).map(Some).map_err(|error| error.within(PathStep::Index(index)))
    }
}

/// A variant by its name, or by its name and what it holds.
struct NamedVariant {
    name: String,
    value: Option<Value>,
}

impl<'de> EnumAccess<'de> for NamedVariant {
    type Error = Misread;
    type Variant = HeldVariant;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, HeldVariant), Misread> {
        let key: StrDeserializer<'_, Misread> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(key)?, HeldVariant { name: self.name, value: self.value }))
    }
}

struct HeldVariant {
    name: String,
    value: Option<Value>,
}

impl HeldVariant {
    fn node(self) -> Result<(String, JsonNode), Misread> {
        match self.value {
            Some(value) => Ok((self.name, JsonNode(value))),
            None => Err(Misread::new(format!("{} cannot stand alone: write {{\"{}\": …}}", self.name, self.name))),
        }
    }
}

impl<'de> VariantAccess<'de> for HeldVariant {
    type Error = Misread;

    fn unit_variant(self) -> Result<(), Misread> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(Misread::new(format!("{} stands alone: write \"{}\"", self.name, self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misread> {
        let (name, node) = self.node()?;
        seed.deserialize(node).map_err(|error| error.within(PathStep::Key(name)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Misread> {
        let (name, node) = self.node()?;
        node.list(visitor).map_err(|error| error.within(PathStep::Key(name)))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        let (name, node) = self.node()?;
        node.object(visitor).map_err(|error| error.within(PathStep::Key(name)))
    }
}
