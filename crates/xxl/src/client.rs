//! Calls to one executor, through the egress guard and with the token of its group.
//!
//! Invariant: whether a call that failed may have reached the executor is never guessed: only a connection that was not
//! made says that it did not.

use std::time::Duration;

use ordo_egress_guard::Guarded;
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{JobParam, LogAnswer, LogParam, RunParam, SUCCESS, XxlAnswer, XxlLogPart};

const ACCESS_TOKEN: &str = "XXL-JOB-ACCESS-TOKEN";
const TIMEOUT: Duration = Duration::from_secs(5);
/// A page of a log is the largest answer.
const ANSWER_MAX_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct ExecutorClient {
    guarded: Guarded,
    token: String,
    url: Url,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum XxlCallError {
    #[error("it cannot be reached: {0}")]
    NotDelivered(String),
    #[error("it did not answer: {0}")]
    Unanswered(String),
    #[error("it refused: {0}")]
    Refused(String),
}

/// Why an address is not one of an executor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadAddress(String);

impl ExecutorClient {
    pub(crate) fn new(guarded: Guarded, token: String, address: &str) -> Result<ExecutorClient, BadAddress> {
        let url: Url = address.parse().map_err(|error| BadAddress(format!("{address:?} is no address: {error}")))?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_plain || url.fragment().is_some() {
            return Err(BadAddress(format!("{address:?} is no address of an executor: http://HOST:PORT")));
        }
        guarded.check(&url).map_err(|forbidden| BadAddress(forbidden.to_string()))?;
        Ok(ExecutorClient { guarded, token, url })
    }

    pub(crate) async fn beat(&self) -> Result<(), XxlCallError> {
        self.command("beat", &serde_json::json!({})).await
    }

    pub(crate) async fn run(&self, param: &RunParam) -> Result<(), XxlCallError> {
        self.command("run", param).await
    }

    pub(crate) async fn kill(&self, job_id: i32) -> Result<(), XxlCallError> {
        self.command("kill", &JobParam { job_id }).await
    }

    /// Whether the executor has nothing of this job.
    pub(crate) async fn is_idle(&self, job_id: i32) -> Result<bool, XxlCallError> {
        let answer: XxlAnswer = self.post("idleBeat", &JobParam { job_id }).await?;
        Ok(answer.code == SUCCESS)
    }

    pub(crate) async fn log(&self, param: LogParam) -> Result<Option<XxlLogPart>, XxlCallError> {
        let answer: LogAnswer = self.post("log", &param).await?;
        Ok(if answer.code == SUCCESS { answer.part() } else { None })
    }

    async fn command(&self, path: &str, body: &impl Serialize) -> Result<(), XxlCallError> {
        let answer: XxlAnswer = self.post(path, body).await?;
        match answer.code {
            SUCCESS => Ok(()),
            code => Err(XxlCallError::Refused(answer.msg.unwrap_or_else(|| format!("code {code}")))),
        }
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, XxlCallError> {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
        let client = self.guarded.client().map_err(|why| XxlCallError::NotDelivered(why.to_owned()))?;
        let sent = client.post(url).header(ACCESS_TOKEN, &self.token).timeout(TIMEOUT).json(body).send().await;
        let mut answer = sent.map_err(|error| match error.is_connect() || error.is_builder() {
            true => XxlCallError::NotDelivered(plain(&error)),
            false => XxlCallError::Unanswered(plain(&error)),
        })?;
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| XxlCallError::Unanswered(plain(&error)))? {
            if bytes.len() + part.len() > ANSWER_MAX_BYTES {
                return Err(XxlCallError::Unanswered(format!("its answer has more than {ANSWER_MAX_BYTES} bytes")));
            }
            bytes.extend_from_slice(&part);
        }
        let unreadable = |error| XxlCallError::Unanswered(format!("status {}, unreadable: {error}", answer.status()));
        serde_json::from_slice(&bytes).map_err(unreadable)
    }
}

/// The last cause says what happened.
fn plain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use ordo_egress_guard::Guard;

    use super::*;

    fn client(address: &str, allow: &[&str]) -> Result<ExecutorClient, BadAddress> {
        let allow = allow.iter().map(|entry| entry.parse().unwrap()).collect();
        ExecutorClient::new(Guarded::new(Guard::new("xxl.groups.NAME.allow", allow)), "t".into(), address)
    }

    #[test]
    fn an_address_inside_is_refused_unless_the_configuration_allows_it() {
        let refused = client("http://10.0.0.5:9999", &[]).unwrap_err().to_string();
        assert!(refused.contains("xxl.groups.NAME.allow"), "{refused}");
        assert!(client("http://10.0.0.5:9999/", &["10.0.0.0/8"]).is_ok());
        assert!(client("http://169.254.169.254/latest", &["10.0.0.0/8"]).is_err());
    }

    #[test]
    fn only_plain_addresses_are_those_of_an_executor() {
        for address in
            ["ftp://1.1.1.1/", "http://u:p@1.1.1.1/", "http://1.1.1.1/?x=", "http://1.1.1.1/#x", "nonsense", ""]
        {
            assert!(client(address, &[]).is_err(), "{address}");
        }
        assert!(client("https://1.1.1.1:9999/xxl/", &[]).is_ok());
    }
}
