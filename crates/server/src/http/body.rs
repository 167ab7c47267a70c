//! The body of a request: JSON of a known shape.
//!
//! Invariant: a body is refused for one of four reasons, each with its own code: too large, no JSON by its type, no
//! JSON by its text, JSON of another shape. The last names the field.

use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::http::code::Code;
use crate::http::problem::{FieldError, Problem};

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
    pub(crate) fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Problem> {
        if !self.is_json {
            let advice = "send the body with `Content-Type: application/json`";
            return Err(Problem::new(Code::UnsupportedMediaType, advice));
        }
        from_slice(&self.bytes)
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

fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| misread(&error))?;
    reader.end().map_err(|error| Problem::new(Code::InvalidJson, error.to_string()))?;
    Ok(read)
}

fn misread(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    match error.inner().classify() {
        Category::Data => shape(Code::InvalidBody, error),
        Category::Syntax | Category::Eof | Category::Io => Problem::new(Code::InvalidJson, error.inner().to_string()),
    }
}

/// JSON of another shape: says which field.
pub(crate) fn shape(code: Code, error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let text = error.inner().to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    let path = error.path().to_string();
    let path = if path == "." { String::new() } else { path };
    let field = match named_field(&message) {
        Some(name) if path.is_empty() => name.to_owned(),
        Some(name) if message.starts_with("missing") => format!("{path}.{name}"),
        Some(_) | None => path,
    };
    match field.is_empty() {
        true => Problem::new(code, message),
        false => {
            let detail = format!("{field}: {message}");
            Problem { code, detail, errors: vec![FieldError { field, message }] }
        }
    }
}

/// The name in "missing field `x`" and "unknown field `x`, expected …".
fn named_field(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("missing field `").or_else(|| message.strip_prefix("unknown field `"))?;
    rest.split_once('`').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[allow(dead_code)]
        inner: Inner,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[allow(dead_code)]
        n: u8,
    }

    fn refused(text: &str) -> (Code, String) {
        let problem = from_slice::<Outer>(text.as_bytes()).unwrap_err();
        (problem.code, problem.errors.into_iter().map(|error| error.field).collect())
    }

    #[test]
    fn a_wrong_field_is_named_by_its_path() {
        let invalid = |field: &str| (Code::InvalidBody, field.to_owned());
        assert_eq!(refused(r#"{"inner":{"n":"x"}}"#), invalid("inner.n"));
        assert_eq!(refused(r#"{"inner":{"n":1,"m":2}}"#), invalid("inner.m"));
        assert_eq!(refused(r#"{"inner":{}}"#), invalid("inner.n"));
        assert_eq!(refused(r#"{}"#), invalid("inner"));
        assert_eq!(refused(r#"{"inner":{"n":1},"x":1}"#), invalid("x"));
        assert_eq!(refused("[]").0, Code::InvalidBody);
    }

    #[test]
    fn what_is_not_json_is_told_apart_from_json_of_another_shape() {
        for text in ["", "{", "{\"inner\":", "nonsense", "{\"inner\":{\"n\":1}} x"] {
            assert_eq!(refused(text).0, Code::InvalidJson, "{text}");
        }
        let deep = "[".repeat(10_000);
        assert_eq!(from_slice::<Value>(deep.as_bytes()).unwrap_err().code, Code::InvalidJson);
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
