//! A refusal or a fault as clients see it: RFC 9457, with a stable code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::code::Code;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDetails {
    /// `urn:ordo:error:<code>`
    pub r#type: String,
    pub title: String,
    pub status: u16,
    /// What was wrong this time, and what to do.
    pub detail: String,
    /// Stable: branch on it.
    #[schema(value_type = Code)]
    pub code: String,
    /// The fields that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// One field of a request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The path of the field, such as `trigger.cron`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl ProblemDetails {
    pub fn new(code: Code, detail: impl Into<String>, errors: Vec<FieldError>) -> ProblemDetails {
        ProblemDetails {
            r#type: format!("urn:ordo:error:{}", code.text()),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            code: code.text().to_owned(),
            errors,
        }
    }
}
