//! What is kept of a response.
//!
//! Invariant: at most RESPONSE_BODY_MAX_BYTES of a body are read, whatever its headers promise; cookies are not kept.

use std::collections::BTreeMap;

use ordo_engine::tool::Failure;
use ordo_model::text::shortened;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, SET_COOKIE};
use serde_json::{Value, json};

use super::expect::Expect;
use crate::limits::{BODY_SHOWN_BYTES, RESPONSE_BODY_MAX_BYTES, RESPONSE_HEADER_MAX_BYTES, RESPONSE_HEADERS_MAX};

#[derive(Debug)]
pub(crate) struct HttpResponse {
    status: u16,
    headers: BTreeMap<String, String>,
    is_json: bool,
    body: Vec<u8>,
    truncated: bool,
}

impl HttpResponse {
    pub(crate) async fn read(mut response: Response) -> Result<HttpResponse, reqwest::Error> {
        let mut answer = HttpResponse {
            status: response.status().as_u16(),
            headers: keep_headers(response.headers()),
            is_json: says_json(response.headers()),
            body: Vec::new(),
            truncated: false,
        };
        while let Some(chunk) = response.chunk().await? {
            let room = RESPONSE_BODY_MAX_BYTES - answer.body.len();
            answer.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                answer.truncated = true;
                break;
            }
        }
        Ok(answer)
    }

    pub(crate) fn outcome(self, expect: &Expect) -> Result<Value, Failure> {
        if !expect.contains(self.status) {
            return Err(self.failure(expect));
        }
        let mut result = json!({"status": self.status, "headers": self.headers, "body": self.body()});
        if self.truncated {
            result["truncated"] = Value::Bool(true);
        }
        Ok(result)
    }

    fn body(&self) -> Value {
        let parsed = (self.is_json && !self.truncated).then(|| serde_json::from_slice(&self.body).ok()).flatten();
        parsed.unwrap_or_else(|| Value::String(String::from_utf8_lossy(&self.body).into_owned()))
    }

    fn failure(&self, expect: &Expect) -> Failure {
        let text = String::from_utf8_lossy(&self.body);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut reason = format!("status {} (expected {expect})", self.status);
        if !words.is_empty() {
            let short = shortened(&words, BODY_SHOWN_BYTES);
            reason.push_str(&format!(": {short}{}", if short.len() < words.len() { "…" } else { "" }));
        }
        Failure::new(reason)
    }
}

fn says_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media == "application/json" || media.ends_with("+json")
}

fn keep_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::<String, String>::new();
    for name in headers.keys().filter(|name| **name != SET_COOKIE).take(RESPONSE_HEADERS_MAX) {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let joined = values.collect::<Vec<_>>().join(", ");
        kept.insert(
            shortened(name.as_str(), RESPONSE_HEADER_MAX_BYTES).to_owned(),
            shortened(&joined, RESPONSE_HEADER_MAX_BYTES).to_owned(),
        );
    }
    kept
}
