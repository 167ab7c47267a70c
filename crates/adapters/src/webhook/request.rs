//! One attempt: a request, signed or not, judged by the status of its answer.
//!
//! Invariant: what went wrong is reported without the path of the address, which may be a key. Only 2xx counts, redirects are not followed, and of an answer nothing is used but its status, its
//! Retry-After and, for the eyes of people, the first KiB of its text.

use std::time::Duration;

use ordo_egress_guard::{Guarded, explain_at};
use ordo_engine::sender::SendError;
use ordo_model::Millis;
use ordo_model::credential::covered_address;
use reqwest::{Response, StatusCode, Url};

/// How long a receiver may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// What is kept of an answer that is no success.
const ERROR_TEXT_BYTES: usize = 1_024;
/// A longer wait than this is not believed.
const RETRY_AFTER_MAX_SECS: u64 = 24 * 3_600;

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTaken {
    /// The receiver wants no more messages: 410.
    Gone(String),
    Failed(SendError),
}

/// The status that the receiver took it with.
pub async fn post(
    guarded: &Guarded,
    url: &str,
    headers: &[(&'static str, &str)],
    body: Vec<u8>,
) -> Result<u16, NotTaken> {
    let failed = |error: SendError| NotTaken::Failed(error);
    let url = Url::parse(url).map_err(|error| failed(SendError::permanent(format!("not a URL: {error}"))))?;
    guarded.check(&url).map_err(|error| failed(SendError::permanent(error.to_string())))?;
    let client = guarded.client().map_err(|why| failed(SendError::passing(why)))?;
    let mut request = client.post(url.clone()).timeout(TIMEOUT).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body).send().await.map_err(|error| failed(unanswered(&error, &url)))?;
    judge(response, &url).await
}

fn unanswered(error: &reqwest::Error, url: &Url) -> SendError {
    match error.is_timeout() {
        true => SendError::passing(format!("no answer from {} within {TIMEOUT:?}", covered_address(url.as_str()))),
        false => SendError::passing(explain_at(error, &covered_address(url.as_str()))),
    }
}

async fn judge(response: Response, url: &Url) -> Result<u16, NotTaken> {
    let status = response.status();
    if status.is_success() {
        return Ok(status.as_u16());
    }
    let wait = retry_after(&response);
    let said = beginning(response).await;
    let text = match status.is_redirection() {
        true => format!("status {}: redirects are not followed, give the URL it leads to", status.as_u16()),
        false => {
            let place = covered_address(url.as_str());
            format!("status {} from {place}{}{said}", status.as_u16(), if said.is_empty() { "" } else { ": " })
        }
    };
    match status {
        StatusCode::GONE => Err(NotTaken::Gone(text)),
        _ => Err(NotTaken::Failed(SendError { retry_after: wait, ..SendError::passing(text) })),
    }
}

fn retry_after(response: &Response) -> Option<Millis> {
    let seconds: u64 = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Millis::from_secs(seconds.min(RETRY_AFTER_MAX_SECS)))
}

/// The first KiB, as far as it came.
async fn beginning(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < ERROR_TEXT_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk[..chunk.len().min(ERROR_TEXT_BYTES - bytes.len())]),
            Ok(None) | Err(_) => break,
        }
    }
    crate::message::one_line(&String::from_utf8_lossy(&bytes))
}
