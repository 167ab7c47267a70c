//! What the http tool is asked to send.
//!
//! Invariant: the method is GET unless one is given; a body never goes out by a method nobody chose.

use bytes::Bytes;
use ordo_engine::tool::DeliveryPayload;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;

use super::expect::Expect;
use crate::fields::{InputError, InputFields};
use crate::near::did_you_mean;

const FIELDS: [&str; 6] = ["method", "url", "headers", "body", "expect", "after"];
const EXAMPLE: &str = r#"{"url": "https://example.com/hook", "method": "POST", "body": {"a": 1}}"#;
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// These follow from the URL and the body, or belong to the connection.
const OURS: [&str; 8] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"];

#[derive(Debug, Clone)]
pub(crate) struct HttpInput {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) expect: Expect,
}

impl HttpInput {
    pub(crate) fn parse(input: &Value) -> Result<HttpInput, InputError> {
        let fields = InputFields::of("http", input, &FIELDS, EXAMPLE)?;
        let url = fields.text("url")?.ok_or_else(|| {
            InputError::Incomplete(
                "http needs \"url\", such as \"https://example.com/hook\": did you forget it?".into(),
            )
        })?;
        let method = fields.text("method")?.map(|name| parse_method(&name)).transpose()?;
        if method.is_none() && fields.value("body").is_some() {
            return Err(InputError::Incomplete("a body needs a method: did you forget \"method\": \"POST\"?".into()));
        }
        let mut headers = parse_headers(&fields)?;
        let is_method_given = method.is_some();
        let mut input = HttpInput {
            method: method.unwrap_or(Method::GET),
            url: parse_url(&url)?,
            body: fields.value("body").map(|body| parse_body(body, &mut headers)),
            headers,
            expect: fields.value("expect").map(Expect::parse).transpose()?.unwrap_or_default(),
        };
        if let Some(after) = fields.value("after") {
            input.take_body(after.to_string().into(), Some("application/json"), is_method_given);
        }
        Ok(input)
    }
}

impl HttpInput {
    /// A request without a body of its own passes on what came with the webhook, as it came.
    pub(crate) fn pass_on(&mut self, payload: &DeliveryPayload, is_method_given: bool) {
        self.take_body(payload.body.clone(), payload.header("content-type"), is_method_given);
    }

    fn take_body(&mut self, body: Bytes, kind: Option<&str>, is_method_given: bool) {
        if !is_method_given {
            self.method = Method::POST;
        }
        if self.body.is_some() || self.method == Method::GET || self.method == Method::HEAD {
            return;
        }
        self.body = Some(body);
        if let Some(Ok(value)) = kind.map(HeaderValue::from_str) {
            self.headers.entry(CONTENT_TYPE).or_insert(value);
        }
    }
}

fn parse_method(name: &str) -> Result<Method, InputError> {
    let upper = name.to_ascii_uppercase();
    let known = METHODS.contains(&upper.as_str()).then(|| Method::from_bytes(upper.as_bytes()).ok()).flatten();
    known.ok_or_else(|| {
        let near = did_you_mean(&upper, METHODS);
        InputError::invalid("method", format!("{name:?} is none of {}{near}", METHODS.join(", ")))
    })
}

fn parse_url(text: &str) -> Result<Url, InputError> {
    let refuse = |why: String| InputError::invalid("url", why);
    let url = Url::parse(text).map_err(|error| refuse(format!("{error}; write it as https://example.com/path")))?;
    check_scheme(&url).map_err(refuse)?;
    Ok(url)
}

pub(crate) fn check_scheme(url: &Url) -> Result<(), String> {
    match url.scheme() {
        "http" | "https" => Ok(()),
        other => Err(format!("only http and https are spoken, not {other:?}")),
    }
}

fn parse_headers(fields: &InputFields<'_>) -> Result<HeaderMap, InputError> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields.text_map("headers")? {
        let refuse = |why: &str| InputError::invalid(format!("headers.{name}"), why);
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("not a header name"))?;
        if OURS.contains(&parsed.as_str()) {
            return Err(refuse("set from the url and the body, leave it out"));
        }
        let value = HeaderValue::from_str(&value).map_err(|_| refuse("a value is one line of visible characters"))?;
        if headers.insert(parsed, value).is_some() {
            return Err(refuse("given twice"));
        }
    }
    Ok(headers)
}

/// Text goes out as it is; anything else as JSON, saying so unless the headers already say what it is.
fn parse_body(body: &Value, headers: &mut HeaderMap) -> Bytes {
    match body {
        Value::String(text) => text.clone().into(),
        json => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            json.to_string().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_url_alone_is_a_get_that_expects_2xx() {
        let input = HttpInput::parse(&json!({"url": "https://example.com"})).unwrap();
        assert_eq!((input.method, input.body, input.expect.to_string()), (Method::GET, None, "200-299".to_owned()));
    }

    #[test]
    fn a_json_body_says_what_it_is_and_text_does_not() {
        let send = |body: Value, headers: Value| {
            let input = json!({"url": "http://x/", "method": "post", "body": body, "headers": headers});
            let input = HttpInput::parse(&input).unwrap();
            let content_type = input.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
            (String::from_utf8(input.body.unwrap().to_vec()).unwrap(), content_type)
        };
        assert_eq!(send(json!({"a": 1}), json!({})), (r#"{"a":1}"#.into(), Some("application/json".into())));
        assert_eq!(send(json!("a=1"), json!({})), ("a=1".into(), None));
        assert_eq!(send(json!([]), json!({"Content-Type": "x/y"})), ("[]".into(), Some("x/y".into())));
    }

    #[test]
    fn a_request_without_a_body_passes_on_what_came() {
        let payload = DeliveryPayload {
            hook: "push".into(),
            delivery: uuid::Uuid::nil(),
            headers: vec![("Content-Type".into(), "text/csv".into())],
            body: Bytes::from_static(b"\xff,1"),
        };
        let sent = |mut form: Value| {
            form["url"] = json!("http://x/");
            let mut input = HttpInput::parse(&form).unwrap();
            input.pass_on(&payload, form.get("method").is_some());
            let content_type = input.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
            (input.method.to_string(), input.body.map(|body| body.to_vec()), content_type)
        };
        let body = || Some(b"\xff,1".to_vec());
        assert_eq!(sent(json!({})), ("POST".into(), body(), Some("text/csv".into())));
        assert_eq!(sent(json!({"method": "PUT"})), ("PUT".into(), body(), Some("text/csv".into())));
        assert_eq!(sent(json!({"method": "GET"})), ("GET".into(), None, None));
        let typed = json!({"headers": {"content-type": "x/y"}});
        assert_eq!(sent(typed), ("POST".into(), body(), Some("x/y".into())));
        assert_eq!(sent(json!({"method": "POST", "body": "own"})), ("POST".into(), Some(b"own".to_vec()), None));
    }

    #[test]
    fn what_cannot_work_is_refused_with_what_to_do() {
        let refused = |input: Value| HttpInput::parse(&input).expect_err("refused").to_string();
        let with = |field: &str, value: Value| {
            let mut input = json!({"url": "http://x/"});
            input[field] = value;
            refused(input)
        };
        assert!(refused(json!({})).contains("did you forget"));
        assert!(refused(json!({"url": "example.com"})).starts_with("url: "));
        assert!(refused(json!({"url": "ftp://example.com"})).contains("only http and https"));
        assert!(refused(json!({"url": "file:///etc/passwd"})).contains("only http and https"));
        assert!(with("body", json!("x")).contains(r#"did you forget "method": "POST""#));
        assert!(with("method", json!("PSOT")).contains(r#"did you mean "POST"?"#));
        assert!(with("method", json!("CONNECT")).contains("none of"));
        assert!(with("headers", json!({"Host": "y"})).contains("leave it out"));
        assert!(with("headers", json!({"X": "a\r\nY: b"})).contains("one line"));
        assert!(with("headers", json!({"a b": "x"})).contains("not a header name"));
        assert!(with("headers", json!({"A": "1", "a": "2"})).contains("given twice"));
        assert!(with("header", json!({})).contains(r#"did you mean "headers"?"#));
    }
}
