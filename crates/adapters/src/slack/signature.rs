//! Whether a request really comes from Slack: the signing secret of the app.
//!
//! Invariant: what a signature is worth is decided where hooks decide it too, in `ordo_model::hook`.

use ordo_model::Timestamp;
use ordo_model::hook::{Unverified, sign_slack, verify_slack};

/// The secret that Slack and the app share.
#[derive(Clone)]
pub struct SigningSecret(String);

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// Why a request is not believed. The text goes into the log and to whoever sent it; it names no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} (slack.signing_secret must be the one of this app)")]
pub struct Unsigned(#[from] Unverified);

impl SigningSecret {
    pub fn new(secret: impl Into<String>) -> SigningSecret {
        SigningSecret(secret.into())
    }

    /// Checks the two headers of a request against its body, byte for byte as it came.
    pub fn verify(
        &self,
        timestamp: Option<&str>,
        signature: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(), Unsigned> {
        Ok(verify_slack(&self.0, timestamp, signature, body, now)?)
    }

    /// The signature Slack would send: for tests, and for doubles of Slack.
    pub fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        sign_slack(&self.0, timestamp, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Slack's documentation are checked with the function itself.
    #[test]
    fn what_it_signs_it_believes_for_five_minutes_and_it_shows_nothing() {
        let secret = SigningSecret::new("8f742231b10e8888abcd99yyyzzz85a5");
        let signature = secret.sign("1531420618", b"payload=1");
        let verify = |body: &[u8], seconds: i64| {
            let now = Timestamp::from_ms((1_531_420_618 + seconds) * 1_000).unwrap();
            secret.verify(Some("1531420618"), Some(&signature), body, now)
        };
        assert_eq!((verify(b"payload=1", 300), verify(b"payload=1", -300)), (Ok(()), Ok(())));
        assert_eq!(verify(b"payload=1", 301), Err(Unsigned(Unverified::OtherTime)));
        assert!(verify(b"payload=2", 0).unwrap_err().to_string().contains("slack.signing_secret"));
        assert_eq!(format!("{secret:?}"), "SigningSecret");
    }
}
