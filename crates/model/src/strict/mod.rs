//! Strict reading of JSON that others wrote: one mechanism for every type, at every depth.
//!
//! Invariant: an object is an object. A derived `Deserialize` also takes a list for a struct; read through here it does
//! not, and what is refused is named by its path and explained without the name of a Rust type. A key stands once in
//! its object.

mod error;
mod fields;
mod node;
mod text_or;
mod unique;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use error::Misread;
pub use fields::field_names;
pub use text_or::TextOr;

/// Why a text is not a value of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON, or not JSON with one meaning.
    #[error("{0}")]
    Json(String),
    /// It is JSON of another shape.
    #[error(transparent)]
    Shape(#[from] Misread),
}

pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    Ok(from_value(value(bytes)?)?)
}

pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Misread> {
    T::deserialize(node::JsonNode(value))
}

/// The fields of an object, for whoever reads each by itself.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    match value(bytes)? {
        Value::Object(fields) => Ok(fields),
        other => Ok(from_value(other)?),
    }
}

/// Any JSON in which no object has a key twice.
pub fn value(bytes: &[u8]) -> Result<Value, Unreadable> {
    serde_json::from_slice::<unique::Unique>(bytes)
        .map(|unique| unique.0)
        .map_err(|error| Unreadable::Json(error.to_string()))
}

/// Whether more than so many values stand inside each other. Looks no deeper than that.
pub fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let is_deeper = |inner: &Value| is_deeper_than(inner, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(is_deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
