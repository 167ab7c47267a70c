//! What can go wrong between asking and the answer.
//!
//! Invariant: `Unreachable` means that nobody took the request; after `Protocol` it is unknown whether it was carried out.

use serde::Deserialize;
use serde_json::Value;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody listens at the target.
    #[error("no Ordo server at {target}")]
    Unreachable {
        /// The socket or address that was tried.
        target: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The server said no. `code` stays the same over versions and has a page under `docs/errors/`.
    #[error("{detail}")]
    Problem {
        /// The HTTP status.
        status: u16,
        /// The stable name of the error.
        code: String,
        /// The kind of error in words.
        title: String,
        /// What was wrong this time and what to do about it.
        detail: String,
        /// The fields of the request that were refused, if it was about fields.
        errors: Vec<FieldError>,
    },
    /// The connection broke, or what answered is not an Ordo server.
    #[error("{0}")]
    Protocol(String),
}

/// One field of a request that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldError {
    /// The path of the field, such as `trigger.cron`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

#[derive(Deserialize)]
struct Form {
    code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<FieldError>,
}

impl Error {
    pub(crate) fn protocol(doing: &str, cause: impl std::fmt::Display) -> Error {
        Error::Protocol(format!("{doing}: {cause}"))
    }

    /// What an answer with a status of refusal says.
    pub(crate) fn from_answer(status: u16, body: &[u8]) -> Error {
        match serde_json::from_slice::<Form>(body) {
            Ok(Form { code, title, detail, errors }) => {
                let detail = if detail.is_empty() { title.clone() } else { detail };
                Error::Problem { status, code, title, detail, errors }
            }
            Err(_) => Error::Protocol(format!("answer {status} is not from an Ordo server: {}", beginning(body))),
        }
    }

    /// The server's code, if the server said no.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem { code, .. } => Some(code),
            Error::Unreachable { .. } | Error::Protocol(_) => None,
        }
    }
}

pub(crate) fn parse(body: &[u8]) -> Result<Value, Error> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|e| Error::protocol("the answer is not JSON", e))
}

fn beginning(body: &[u8]) -> String {
    const SHOWN_BYTES: usize = 120;
    let shown = &body[..body.len().min(SHOWN_BYTES)];
    format!("{:?}", String::from_utf8_lossy(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_its_code_and_its_fields() {
        let body = br#"{"type":"urn:ordo:error:invalid_job","title":"Invalid job","status":422,
            "detail":"label: must not be empty","code":"invalid_job",
            "errors":[{"field":"label","message":"must not be empty"}]}"#;
        let error = Error::from_answer(422, body);
        assert_eq!(error.code(), Some("invalid_job"));
        assert_eq!(error.to_string(), "label: must not be empty");
        let Error::Problem { status: 422, title, errors, .. } = error else { panic!("not a problem: {error:?}") };
        assert_eq!(title, "Invalid job");
        assert_eq!(errors, [FieldError { field: "label".into(), message: "must not be empty".into() }]);
    }

    #[test]
    fn a_problem_without_detail_shows_its_title() {
        let error = Error::from_answer(404, br#"{"code":"route_not_found","title":"No such route"}"#);
        assert_eq!(error.to_string(), "No such route");
    }

    #[test]
    fn an_answer_of_some_other_server_is_no_problem_of_ordo() {
        let error = Error::from_answer(502, b"<html>Bad Gateway</html>");
        assert!(matches!(&error, Error::Protocol(text) if text.contains("502") && text.contains("Bad Gateway")));
        assert!(matches!(Error::from_answer(500, b""), Error::Protocol(_)));
    }

    #[test]
    fn an_empty_answer_is_null_and_a_broken_one_an_error() {
        assert_eq!(parse(b"").unwrap(), Value::Null);
        assert!(matches!(parse(b"{"), Err(Error::Protocol(_))));
    }
}
