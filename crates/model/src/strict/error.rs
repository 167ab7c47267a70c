//! What was wrong with a value, and where.

use std::fmt;

use serde::de::{Expected, Unexpected};

/// One value that cannot be taken as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// From the innermost name outwards: it grows while the error goes up.
    path: Vec<PathStep>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    Key(String),
    Index(usize),
}

impl Misread {
    pub(super) fn new(message: impl Into<String>) -> Misread {
        Misread { path: Vec::new(), message: message.into() }
    }

    pub(super) fn within(mut self, step: PathStep) -> Misread {
        self.path.push(step);
        self
    }

    /// `jobs[2].retry.backoff`; empty when the value as a whole is meant.
    pub fn field(&self) -> String {
        let mut field = String::new();
        for step in self.path.iter().rev() {
            match step {
                PathStep::Key(key) if field.is_empty() => field.push_str(key),
                PathStep::Key(key) => field.extend([".", key]),
                PathStep::Index(index) => field.push_str(&format!("[{index}]")),
            }
        }
        field
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.field(), self.message),
        }
    }
}

impl std::error::Error for Misread {}

impl serde::de::Error for Misread {
    fn custom<T: fmt::Display>(message: T) -> Misread {
        Misread::new(message.to_string())
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Misread {
        Misread::new(format!("must be {}, not {}", wanted(&expected.to_string()), found(given)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Misread {
        Misread::new(format!("must be {}", wanted(&expected.to_string())))
    }

    fn invalid_length(count: usize, _: &dyn Expected) -> Misread {
        Misread::new(format!("has a wrong number of entries: {count}"))
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Misread {
        Misread::new(format!("must be one of {}", known.join(", ")))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Misread {
        let message = match known {
            [] => "is not known here: no field is".to_owned(),
            known => format!("is not known here; known are {}", known.join(", ")),
        };
        Misread::new(message).within(PathStep::Key(name.to_owned()))
    }

    fn missing_field(name: &'static str) -> Misread {
        Misread::new("is missing").within(PathStep::Key(name.to_owned()))
    }

    fn duplicate_field(name: &'static str) -> Misread {
        Misread::new("is given twice").within(PathStep::Key(name.to_owned()))
    }
}

/// What serde expects, in plain words: it speaks of Rust.
fn wanted(expected: &str) -> String {
    let plain = match expected {
        "bool" | "a boolean" => "true or false",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "unit" => "null",
        "a string" | "string" | "path string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if ["struct", "enum", "tuple", "variant", "map", "field"].iter().any(|word| expected.starts_with(word)) => {
            "of another shape"
        }
        _ => expected,
    };
    plain.to_owned()
}

fn found(given: Unexpected<'_>) -> &'static str {
    match given {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Str(_) | Unexpected::Char(_) | Unexpected::Bytes(_) => "a text",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map | Unexpected::NewtypeStruct => "an object",
        Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_) => "this",
    }
}
