//! Calls to Slack's Web API.
//!
//! Invariant: a call that fails says whether trying again can help, and after how long; the token is in no error.

use std::time::Duration;

use ordo_model::Millis;
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// When Slack names no time.
const RETRY_AFTER_DEFAULT: Millis = Millis::from_secs(30);
/// A longer wait than this is not believed.
const RETRY_AFTER_MAX_SECS: u64 = 3_600;
/// What Slack answers when the fault is its own, or soon over.
const PASSING: [&str; 8] = [
    "fatal_error",
    "internal_error",
    "org_login_required",
    "ratelimited",
    "rate_limited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
];

#[derive(Clone)]
pub struct Api {
    base: Url,
    token: String,
    client: Client,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("Slack asks to wait {after} before {method}")]
    RateLimited { method: &'static str, after: Millis },
    /// Trying the same again can help.
    #[error("{method}: {why}")]
    Passing { method: &'static str, why: String },
    /// It cannot.
    #[error("{method}: Slack refuses: {why}{}", advice(.why))]
    Refused { method: &'static str, why: String },
}

impl CallError {
    /// The error is Slack's answer with this word.
    pub fn is(&self, word: &str) -> bool {
        matches!(self, CallError::Refused { why, .. } if why == word)
    }
}

/// What the usual refusals mean for whoever set this up.
fn advice(why: &str) -> &'static str {
    match why {
        "channel_not_found" | "not_in_channel" => {
            " (invite the app to the channel, and name the channel by its id or its name)"
        }
        "invalid_auth" | "not_authed" | "token_revoked" | "account_inactive" => " (the token is not one of this app)",
        "missing_scope" => " (the app needs the scopes chat:write and app_mentions:read)",
        _ => "",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoApi {
    #[error("slack.api_url: {0:?} is not a URL: write it as https://slack.com/api")]
    Url(String),
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

impl Api {
    pub fn new(base: &str, token: impl Into<String>) -> Result<Api, NoApi> {
        let refuse = || NoApi::Url(base.to_owned());
        let slashed = if base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
        let base = Url::parse(&slashed).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let tls = ordo_tls::https([]).map_err(|error| NoApi::Client(error.to_string()))?;
        let client = Client::builder()
            .timeout(CALL_TIMEOUT)
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ordo/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Api {
            base: base.ok_or_else(refuse)?,
            token: token.into(),
            client: client.map_err(|error| NoApi::Client(format!("{error:?}")))?,
        })
    }

    /// The same with another token.
    #[must_use]
    pub fn with_token(&self, token: impl Into<String>) -> Api {
        Api { token: token.into(), ..self.clone() }
    }

    /// Calls a method with its arguments; the answer of a call that succeeded.
    pub async fn call(&self, method: &'static str, arguments: &Value) -> Result<Value, CallError> {
        let passing = |why: String| CallError::Passing { method, why };
        let url = self.base.join(method).map_err(|error| passing(error.to_string()))?;
        let request = self.client.post(url).bearer_auth(&self.token);
        let request = request.header("content-type", "application/json; charset=utf-8").body(arguments.to_string());
        let response = request.send().await.map_err(|error| passing(why(&error)))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let named = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
            return Err(CallError::RateLimited { method, after: retry_after(named) });
        }
        let body = response.bytes().await.map_err(|error| passing(why(&error)))?;
        match serde_json::from_slice::<Value>(&body) {
            Ok(answer) if status.is_success() => judged(method, answer),
            Ok(_) | Err(_) => Err(passing(format!("Slack answered with status {}", status.as_u16()))),
        }
    }
}

fn judged(method: &'static str, answer: Value) -> Result<Value, CallError> {
    if answer["ok"] == Value::Bool(true) {
        return Ok(answer);
    }
    let why = answer["error"].as_str().unwrap_or("an answer without \"ok\"").to_owned();
    match why.as_str() {
        "ratelimited" | "rate_limited" => Err(CallError::RateLimited { method, after: RETRY_AFTER_DEFAULT }),
        passing if PASSING.contains(&passing) => Err(CallError::Passing { method, why }),
        _ => Err(CallError::Refused { method, why }),
    }
}

fn retry_after(named: Option<&str>) -> Millis {
    let seconds = named.and_then(|text| text.trim().parse::<u64>().ok());
    seconds.map_or(RETRY_AFTER_DEFAULT, |seconds| Millis::from_secs(seconds.min(RETRY_AFTER_MAX_SECS)))
}

/// Without the URL: it may hold what nobody should read.
fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {CALL_TIMEOUT:?}");
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let cause = causes.last().map(ToString::to_string).unwrap_or_else(|| "unknown cause".to_owned());
    let doing = if error.is_connect() { "cannot connect" } else { "the connection broke" };
    format!("{doing}: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_judged_by_what_can_be_done_about_it() {
        assert!(judged("chat.update", json!({"ok": true, "ts": "1"})).is_ok());
        let refused = judged("chat.update", json!({"ok": false, "error": "channel_not_found"})).unwrap_err();
        assert!(refused.is("channel_not_found") && refused.to_string().contains("invite the app"));
        let passing = judged("chat.update", json!({"ok": false, "error": "internal_error"})).unwrap_err();
        assert!(matches!(passing, CallError::Passing { .. }));
        let limited = judged("chat.update", json!({"ok": false, "error": "ratelimited"})).unwrap_err();
        assert!(matches!(limited, CallError::RateLimited { .. }));
        assert!(judged("chat.update", json!([])).is_err());
    }

    #[test]
    fn the_wait_that_slack_names_is_believed_up_to_an_hour() {
        assert_eq!(retry_after(Some("7")), Millis::from_secs(7));
        assert_eq!(retry_after(Some("999999999")), Millis::from_secs(3_600));
        assert_eq!(retry_after(Some("soon")), RETRY_AFTER_DEFAULT);
        assert_eq!(retry_after(None), RETRY_AFTER_DEFAULT);
    }

    #[test]
    fn a_base_is_a_url_and_the_token_is_not_shown() {
        assert!(Api::new("slack.com/api", "t").is_err() && Api::new("ftp://slack.com", "t").is_err());
        let api = Api::new("http://127.0.0.1:1/api", "xoxb-1").unwrap();
        assert_eq!(api.base.join("chat.update").unwrap().path(), "/api/chat.update");
        assert!(!format!("{api:?}").contains("xoxb"));
    }
}
