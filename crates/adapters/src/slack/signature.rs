//! Whether a request really comes from Slack: its signature, scheme `v0`.
//!
//! Invariant: the comparison takes the same time wherever two signatures differ, and a request older or newer than
//! the window is refused whatever its signature says.

use hmac::{Hmac, KeyInit, Mac};
use ordo_model::Timestamp;
use sha2::Sha256;

/// How far a request's time may be from ours, in either direction.
pub const WINDOW_SECS: i64 = 300;

const VERSION: &str = "v0";

/// The secret that Slack and the app share.
#[derive(Clone)]
pub struct SigningSecret(String);

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// Why a request is not believed. The text goes into the log and to whoever sent it; it names no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    #[error("X-Slack-Request-Timestamp and X-Slack-Signature are needed")]
    Missing,
    #[error("X-Slack-Request-Timestamp is not a number of seconds")]
    NotATime,
    #[error(
        "the request's time is more than {WINDOW_SECS} seconds from the server's: is a clock wrong, or is it a replay?"
    )]
    OutsideWindow,
    #[error("X-Slack-Signature does not fit: is slack.signing_secret the one of this app?")]
    Mismatch,
}

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
        let (timestamp, signature) = timestamp.zip(signature).ok_or(Unsigned::Missing)?;
        let sent_at: i64 = timestamp.parse().map_err(|_| Unsigned::NotATime)?;
        let distance = (now.ms() / 1_000).checked_sub(sent_at).and_then(i64::checked_abs);
        if distance.is_none_or(|seconds| seconds > WINDOW_SECS) {
            return Err(Unsigned::OutsideWindow);
        }
        let given = signature.strip_prefix("v0=").and_then(from_hex).ok_or(Unsigned::Mismatch)?;
        self.mac(timestamp, body).verify_slice(&given).map_err(|_| Unsigned::Mismatch)
    }

    /// The signature Slack would send: for tests, and for doubles of Slack.
    pub fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        let digest = self.mac(timestamp, body).finalize().into_bytes();
        format!("{VERSION}={}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    fn mac(&self, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("a key of any length will do");
        for part in [VERSION.as_bytes(), b":", timestamp.as_bytes(), b":", body] {
            mac.update(part);
        }
        mac
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits = text.as_bytes().iter().map(digit).collect::<Option<Vec<u8>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of Slack's page "Verifying requests from Slack".
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const SENT_AT: &str = "1531420618";
    const BODY: &[u8] = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const SIGNATURE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    fn verify(timestamp: &str, signature: &str, body: &[u8], skew_secs: i64) -> Result<(), Unsigned> {
        let now = Timestamp::from_ms((SENT_AT.parse::<i64>().unwrap() + skew_secs) * 1_000).unwrap();
        SigningSecret::new(SECRET).verify(Some(timestamp), Some(signature), body, now)
    }

    #[test]
    fn the_published_example_is_believed_and_made_again() {
        assert_eq!(verify(SENT_AT, SIGNATURE, BODY, 0), Ok(()));
        assert_eq!(SigningSecret::new(SECRET).sign(SENT_AT, BODY), SIGNATURE);
    }

    #[test]
    fn five_minutes_either_way_are_believed_and_a_second_more_is_not() {
        for skew in [-300, -1, 1, 300] {
            assert_eq!(verify(SENT_AT, SIGNATURE, BODY, skew), Ok(()), "{skew}");
        }
        for skew in [-301, 301, 100_000] {
            assert_eq!(verify(SENT_AT, SIGNATURE, BODY, skew), Err(Unsigned::OutsideWindow), "{skew}");
        }
    }

    #[test]
    fn any_change_is_noticed() {
        let mut body = BODY.to_vec();
        body[0] ^= 1;
        assert_eq!(verify(SENT_AT, SIGNATURE, &body, 0), Err(Unsigned::Mismatch));
        assert_eq!(verify("1531420619", SIGNATURE, BODY, 0), Err(Unsigned::Mismatch));
        let others =
            ["", "v0=", "v0=zz", &SIGNATURE[..60], &SIGNATURE.replace("v0=", "v1="), &SIGNATURE.replace('b', "c")];
        for other in others {
            assert_eq!(verify(SENT_AT, other, BODY, 0), Err(Unsigned::Mismatch), "{other}");
        }
    }

    #[test]
    fn what_is_missing_or_no_time_is_said() {
        let secret = SigningSecret::new(SECRET);
        let now = Timestamp::from_ms(1_531_420_618_000).unwrap();
        assert_eq!(secret.verify(None, Some(SIGNATURE), BODY, now), Err(Unsigned::Missing));
        assert_eq!(secret.verify(Some(SENT_AT), None, BODY, now), Err(Unsigned::Missing));
        assert_eq!(secret.verify(Some("noon"), Some(SIGNATURE), BODY, now), Err(Unsigned::NotATime));
        assert_eq!(
            secret.verify(Some("-9223372036854775808"), Some(SIGNATURE), BODY, now),
            Err(Unsigned::OutsideWindow)
        );
        assert_eq!(format!("{secret:?}"), "SigningSecret");
    }
}
