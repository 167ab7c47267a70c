//! The body of a request: JSON of a known shape.
//!
//! Invariant: a body is refused for one of four reasons, each with its own code: too large, no JSON by its type, no
//! JSON by its text, JSON of another shape. The last names the field.

use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use ordo_api::Code;
use ordo_model::strict::{self, Unreadable};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::http::problem::Problem;

/// How long a client may take to send a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    is_json: bool,
}

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Body, Problem> {
        let is_json = is_json(request.headers());
        let bytes = tokio::time::timeout(READ_TIMEOUT, Bytes::from_request(request, state)).await;
        let late = |_| Problem::new(Code::RequestTimeout, format!("the body must arrive within {READ_TIMEOUT:?}"));
        Ok(Body { bytes: bytes.map_err(late)?.map_err(|rejection| unread(&rejection))?, is_json })
    }
}

fn unread(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        axum::http::StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(Code::BodyTooLarge, "the body is larger than this route takes")
        }
        _ => Problem::new(Code::InvalidJson, format!("the body could not be read: {}", rejection.body_text())),
    }
}

impl Body {
    /// What a page writes down for a handler of the API.
    pub(crate) const fn json(bytes: Bytes) -> Body {
        Body { bytes, is_json: true }
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.check_type()?;
        strict::from_slice(&self.bytes).map_err(unreadable)
    }

    /// The fields of a body that is looked at before it is read.
    pub(crate) fn fields(&self) -> Result<Map<String, Value>, Problem> {
        self.check_type()?;
        strict::object(&self.bytes).map_err(unreadable)
    }

    /// An object whose parts stay as they were written, for whoever reads each by itself.
    pub(crate) fn parts<'b, T: Deserialize<'b>>(&'b self) -> Result<T, Problem> {
        self.check_type()?;
        serde_json::from_slice(&self.bytes).map_err(|error| match error.classify() {
            Category::Data => Problem::new(Code::InvalidBody, "must be an object"),
            Category::Syntax | Category::Eof | Category::Io => Problem::new(Code::InvalidJson, error.to_string()),
        })
    }

    fn check_type(&self) -> Result<(), Problem> {
        match self.is_json {
            true => Ok(()),
            false => {
                let advice = "send the body with `Content-Type: application/json`";
                Err(Problem::new(Code::UnsupportedMediaType, advice))
            }
        }
    }

    /// For routes whose body may be left out.
    pub(crate) fn parse_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.bytes.is_empty() { Ok(T::default()) } else { self.parse() }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn unreadable(error: Unreadable) -> Problem {
    match error {
        Unreadable::Json(message) => Problem::new(Code::InvalidJson, message),
        Unreadable::Shape(misread) => Problem::misread(Code::InvalidBody, misread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::job::Retry;

    fn refused(text: &str) -> (Code, String) {
        let body = Body { bytes: Bytes::copy_from_slice(text.as_bytes()), is_json: true };
        let problem = body.parse::<Retry>().unwrap_err();
        (problem.code, problem.errors.into_iter().map(|error| error.field).collect())
    }

    #[test]
    fn what_is_not_json_is_distinguished_from_json_of_another_shape() {
        assert_eq!(refused(r#"{"max_attempts":"x"}"#), (Code::InvalidBody, "max_attempts".to_owned()));
        assert_eq!(refused("[3]"), (Code::InvalidBody, String::new()));
        for text in ["", "{", "nonsense", "{} x", r#"{"backoff":"1s","backoff":"2s"}"#] {
            assert_eq!(refused(text).0, Code::InvalidJson, "{text}");
        }
    }

    #[test]
    fn json_is_known_by_its_content_type() {
        let of = |text: &str| is_json(&HeaderMap::from_iter([(header::CONTENT_TYPE, text.parse().unwrap())]));
        assert!(of("application/json") && of("Application/JSON; charset=utf-8") && of("application/merge-patch+json"));
        assert!(!of("text/plain") && !of("application/x-www-form-urlencoded") && !is_json(&HeaderMap::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_given_up() {
        let never = axum::body::Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let refused = Body::from_request(Request::new(never), &()).await.unwrap_err();
        assert_eq!(refused.code, Code::RequestTimeout);
    }
}
