//! What can go wrong between asking and the answer.
//!
//! Invariant: only after `Protocol` it is unknown whether the request was carried out. After `Unusable`, `Unreachable` and
//! `Untrusted` nobody has seen it, neither its token nor its body.

use std::io;

use ordo_api::FieldError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Target;
use crate::certificate::Distrust;
use crate::transport::{causes, innermost};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client was given something that cannot work: an address, a token, a certificate, a path.
    #[error("{0}")]
    Unusable(String),
    /// Nobody listens at the target.
    #[error("no Ordo server at {target}")]
    Unreachable {
        /// The socket or address that was tried.
        target: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server could not prove that it is the one that was asked.
    #[error("the certificate of {target} is refused: {why}")]
    Untrusted {
        /// The address that was tried.
        target: String,
        /// What is wrong with its certificate.
        why: Distrust,
    },
    /// The server points elsewhere. Nothing was sent there: a token is for one server.
    #[error("{target} redirects to {location}, which is not followed")]
    Redirected {
        /// The address that was asked.
        target: String,
        /// Where it points.
        location: String,
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
        /// The server that refused: its socket or address.
        server: Box<str>,
    },
    /// The connection broke, or what answered is not an Ordo server.
    #[error("{0}")]
    Protocol(String),
}

#[derive(Deserialize)]
struct ProblemForm {
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

    /// Why a request was not answered.
    pub(crate) fn unsent(target: &Target, error: &reqwest::Error) -> Error {
        if error.is_builder() {
            return Error::Unusable(format!("the request cannot be sent: {}", innermost(error)));
        }
        let shown = target.to_string();
        if let Some(tls) = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
            return match Distrust::of(tls) {
                Some(why) => Error::Untrusted { target: shown, why },
                None => Error::protocol(&format!("{shown} does not speak TLS as it should, is it http://?"), tls),
            };
        }
        if error.is_connect() {
            return Error::Unreachable { target: shown, source: refusal(error) };
        }
        Error::cut_off(&format!("the connection to {shown} broke"), error)
    }

    pub(crate) fn cut_off(what: &str, error: &reqwest::Error) -> Error {
        Error::protocol(what, innermost(error))
    }

    /// What an answer with a status of refusal says.
    pub(crate) fn from_answer(target: &Target, status: u16, body: &[u8]) -> Error {
        match serde_json::from_slice::<ProblemForm>(body) {
            Ok(ProblemForm { code, title, detail, errors }) => {
                let detail = if detail.is_empty() { title.clone() } else { detail };
                Error::Problem { status, code, title, detail, errors, server: target.to_string().into() }
            }
            Err(_) => {
                Error::Protocol(format!("{target} is no Ordo server: it answers {status} with {}", beginning(body)))
            }
        }
    }

    /// The server's code, if the server said no.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem { code, .. } => Some(code),
            Error::Unusable(_)
            | Error::Unreachable { .. }
            | Error::Untrusted { .. }
            | Error::Redirected { .. }
            | Error::Protocol(_) => None,
        }
    }
}

/// What the operating system said to a connection.
fn refusal(error: &reqwest::Error) -> io::Error {
    let said = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    match said.and_then(io::Error::raw_os_error) {
        Some(code) => io::Error::from_raw_os_error(code),
        None if error.is_timeout() => io::Error::new(io::ErrorKind::TimedOut, "it does not take the connection"),
        None => io::Error::new(said.map_or(io::ErrorKind::Other, io::Error::kind), innermost(error)),
    }
}

/// An empty answer is null.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|e| Error::protocol("the answer is not the JSON that was expected", e))
}

fn beginning(body: &[u8]) -> String {
    const SHOWN_BYTES: usize = 120;
    let shown = &body[..body.len().min(SHOWN_BYTES)];
    format!("{:?}", String::from_utf8_lossy(shown))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answer(status: u16, body: &[u8]) -> Error {
        Error::from_answer(&Target::Http { url: "http://ordo.example".into() }, status, body)
    }

    #[test]
    fn a_problem_keeps_its_code_and_its_fields() {
        let body = br#"{"type":"urn:ordo:error:invalid_job","title":"Invalid job","status":422,
            "detail":"label: must not be empty","code":"invalid_job",
            "errors":[{"field":"label","message":"must not be empty"}]}"#;
        let error = answer(422, body);
        assert_eq!(error.code(), Some("invalid_job"));
        assert_eq!(error.to_string(), "label: must not be empty");
        let Error::Problem { status: 422, title, errors, .. } = error else { panic!("not a problem: {error:?}") };
        assert_eq!(title, "Invalid job");
        assert_eq!(errors, [FieldError { field: "label".into(), message: "must not be empty".into() }]);
    }

    #[test]
    fn a_problem_without_detail_shows_its_title() {
        let error = answer(404, br#"{"code":"route_not_found","title":"No such route"}"#);
        assert_eq!(error.to_string(), "No such route");
    }

    #[test]
    fn an_answer_of_some_other_server_is_no_problem_of_ordo() {
        let error = answer(502, b"<html>Bad Gateway</html>");
        assert!(matches!(&error, Error::Protocol(text) if text.contains("502") && text.contains("Bad Gateway")));
        assert!(error.to_string().contains("http://ordo.example"));
        assert!(matches!(answer(500, b""), Error::Protocol(_)));
    }

    #[test]
    fn an_empty_answer_is_null_and_a_broken_one_an_error() {
        assert_eq!(parse::<Value>(b"").unwrap(), Value::Null);
        assert!(matches!(parse::<Value>(b"{"), Err(Error::Protocol(_))));
        assert!(matches!(parse::<Vec<u8>>(b"{}"), Err(Error::Protocol(_))));
    }
}
