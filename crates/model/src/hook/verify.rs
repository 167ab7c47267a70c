//! Whether a delivery comes from whom it says: the signatures that senders use.
//!
//! Invariant: secrets and signatures are compared in constant time; a signature that names its time is good for
//! SIGNATURE_WINDOW only. However many signatures a delivery brings, its payload is hashed at most once, and not at all
//! if its time is wrong or none of them can be one: whoever is refused costs little.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::sender::Headers;
use crate::limits::{SIGNATURE_WINDOW, SIGNATURES_MAX};
use crate::time::Timestamp;

/// How a hook knows its senders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {
    #[serde(flatten)]
    pub scheme: Scheme,
    /// The name of the secret.
    pub secret: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Scheme {
    /// `X-Hub-Signature-256`
    Github,
    /// `X-Slack-Signature`, version v0
    Slack,
    /// `Stripe-Signature`
    Stripe,
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`
    Standard,
    /// HMAC-SHA256 of the payload in hex, in a header of one's choice
    Hmac {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header: Option<String>,
    },
    /// `Authorization: Bearer <secret>`
    Bearer,
}

impl Scheme {
    pub const NAMES: [&'static str; 6] = ["github", "slack", "stripe", "standard", "hmac", "bearer"];

    pub const fn name(&self) -> &'static str {
        match self {
            Scheme::Github => Self::NAMES[0],
            Scheme::Slack => Self::NAMES[1],
            Scheme::Stripe => Self::NAMES[2],
            Scheme::Standard => Self::NAMES[3],
            Scheme::Hmac { .. } => Self::NAMES[4],
            Scheme::Bearer => Self::NAMES[5],
        }
    }
}

/// Where a plain HMAC is looked for unless the hook names a header.
const HMAC_HEADERS: [&str; 2] = ["X-Signature-256", "X-Signature"];

/// Why a delivery is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    #[error("the header {0} is missing")]
    Missing(String),
    #[error("the header {0} cannot be read")]
    Unreadable(String),
    #[error("the signature is from another time: it must be no more than {SIGNATURE_WINDOW} away from now")]
    OtherTime,
    #[error("the signature does not belong to this payload and the secret")]
    Wrong,
    #[error("the hook's secret cannot be used: a Standard Webhooks secret is base64, with or without whsec_ before it")]
    BadSecret,
}

pub fn verify(
    scheme: &Scheme,
    secret: &str,
    headers: Headers<'_>,
    payload: &[u8],
    now: Timestamp,
) -> Result<(), Unverified> {
    match scheme {
        Scheme::Github => {
            let given = hex_of("X-Hub-Signature-256", headers.get("X-Hub-Signature-256"), Some("sha256="))?;
            belongs(given, secret, &[payload])
        }
        Scheme::Slack => verify_slack(secret, headers.get(SLACK_TIME), headers.get(SLACK_SIGNATURE), payload, now),
        Scheme::Stripe => stripe(secret, headers, payload, now),
        Scheme::Standard => standard(secret, headers, payload, now),
        Scheme::Hmac { header } => {
            let name = header.as_deref().unwrap_or_else(|| {
                HMAC_HEADERS.into_iter().find(|name| headers.get(name).is_some()).unwrap_or(HMAC_HEADERS[0])
            });
            belongs(hex_of(name, headers.get(name), None)?, secret, &[payload])
        }
        Scheme::Bearer => bearer(secret, headers),
    }
}

const SLACK_TIME: &str = "X-Slack-Request-Timestamp";
const SLACK_SIGNATURE: &str = "X-Slack-Signature";

/// Whether Slack signed this body, by the values of its two headers: for hooks and for Slack's own routes.
pub fn verify_slack(
    secret: &str,
    time: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Unverified> {
    let time = present(SLACK_TIME, time)?;
    check_time(time, SLACK_TIME, now)?;
    let given = hex_of(SLACK_SIGNATURE, signature, Some("v0="))?;
    belongs(given, secret, &slack_signed(time, body))
}

/// The signature that Slack would send.
pub fn sign_slack(secret: &str, time: &str, body: &[u8]) -> String {
    format!("v0={}", hex::encode(tag_of(secret.as_bytes(), &slack_signed(time, body))))
}

fn slack_signed<'a>(time: &'a str, body: &'a [u8]) -> [&'a [u8]; 4] {
    [b"v0:", time.as_bytes(), b":", body]
}

fn stripe(secret: &str, headers: Headers<'_>, payload: &[u8], now: Timestamp) -> Result<(), Unverified> {
    const HEADER: &str = "Stripe-Signature";
    let header = required(headers, HEADER)?;
    let all = |wanted: &'static str| {
        let pairs = header.split(',').filter_map(|part| part.trim().split_once('='));
        pairs.filter(move |(name, _)| *name == wanted).map(|(_, value)| value)
    };
    let time = all("t").next_back().ok_or_else(|| Unverified::Unreadable(HEADER.into()))?;
    check_time(time, HEADER, now)?;
    let given = all("v1").filter_map(|value| hex::decode(value).ok());
    any_of(given, || tag_of(secret.as_bytes(), &[time.as_bytes(), b".", payload]))
}

fn standard(secret: &str, headers: Headers<'_>, payload: &[u8], now: Timestamp) -> Result<(), Unverified> {
    // The parts are signed with a '.' between them: with one inside, the same signature could be read in two ways.
    let id = required(headers, "webhook-id")?;
    if id.is_empty() || id.contains('.') {
        return Err(Unverified::Unreadable("webhook-id".into()));
    }
    let time = required(headers, "webhook-timestamp")?;
    let signatures = required(headers, "webhook-signature")?;
    check_time(time, "webhook-timestamp", now)?;
    let secret = secret.trim();
    let secret = unbase64(secret.strip_prefix("whsec_").unwrap_or(secret)).ok_or(Unverified::BadSecret)?;
    // Several stand there while a secret is being replaced.
    let given = signatures.split_whitespace().filter_map(|part| unbase64(part.strip_prefix("v1,")?));
    any_of(given, || tag_of(&secret, &[id.as_bytes(), b".", time.as_bytes(), b".", payload]))
}

/// Both are hashed with a key of their own length: neither the length nor the place of a difference shows in time.
fn bearer(secret: &str, headers: Headers<'_>) -> Result<(), Unverified> {
    let given = required(headers, "Authorization")?;
    let unreadable = || Unverified::Unreadable("Authorization".into());
    let (scheme, given) = given.split_once(' ').ok_or_else(unreadable)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unreadable());
    }
    let hashed = |text: &str| tag_of(b"bearer", &[text.trim().as_bytes()]);
    any_of([hashed(given).to_vec()], || hashed(secret))
}

/// An HMAC-SHA256.
type Tag = [u8; 32];

fn belongs(given: Vec<u8>, secret: &str, signed: &[&[u8]]) -> Result<(), Unverified> {
    any_of([given], || tag_of(secret.as_bytes(), signed))
}

/// Whether one of the first SIGNATURES_MAX that can be signatures is the right one. Which that is follows from the whole
/// payload: it is computed once, and only if there is something to compare it with.
fn any_of(given: impl IntoIterator<Item = Vec<u8>>, right: impl FnOnce() -> Tag) -> Result<(), Unverified> {
    let well_formed = given.into_iter().filter_map(|bytes| Tag::try_from(bytes).ok());
    let given: Vec<Tag> = well_formed.take(SIGNATURES_MAX).collect();
    if given.is_empty() {
        return Err(Unverified::Wrong);
    }
    let right = right();
    let fits = given.iter().any(|given| bool::from(given.ct_eq(&right)));
    if fits { Ok(()) } else { Err(Unverified::Wrong) }
}

fn tag_of(secret: &[u8], signed: &[&[u8]]) -> Tag {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    signed.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn required<'a>(headers: Headers<'a>, name: &str) -> Result<&'a str, Unverified> {
    present(name, headers.get(name))
}

fn present<'a>(name: &str, value: Option<&'a str>) -> Result<&'a str, Unverified> {
    value.map(str::trim).ok_or_else(|| Unverified::Missing(name.to_owned()))
}

/// A signature in hex. `sha256=` may stand before it; where a scheme has a prefix of its own, that one must.
fn hex_of(name: &str, value: Option<&str>, prefix: Option<&str>) -> Result<Vec<u8>, Unverified> {
    let unreadable = || Unverified::Unreadable(name.to_owned());
    let given = present(name, value)?;
    let given = match prefix {
        Some(prefix) => given.strip_prefix(prefix).ok_or_else(unreadable)?,
        None => given.strip_prefix("sha256=").unwrap_or(given),
    };
    hex::decode(given).ok().filter(|bytes| !bytes.is_empty()).ok_or_else(unreadable)
}

fn check_time(seconds: &str, header: &str, now: Timestamp) -> Result<(), Unverified> {
    let unreadable = || Unverified::Unreadable(header.to_owned());
    let is_plain = seconds.bytes().all(|byte| byte.is_ascii_digit());
    let at = seconds
        .parse::<i64>()
        .ok()
        .filter(|_| is_plain)
        .and_then(|seconds| seconds.checked_mul(1_000))
        .ok_or_else(unreadable)?;
    if at.abs_diff(now.ms()) <= SIGNATURE_WINDOW.ms() { Ok(()) } else { Err(Unverified::OtherTime) }
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often the HMAC of the payload is computed for so many signatures, and how many of them are read.
    fn cost(count: usize, signature: &[u8]) -> (u32, usize) {
        let (computed, read) = (Cell::new(0), Cell::new(0));
        let given = (0..count).map(|_| {
            read.set(read.get() + 1);
            signature.to_vec()
        });
        let right = || {
            computed.set(computed.get() + 1);
            [7; 32]
        };
        assert_eq!(any_of(given, right), Err(Unverified::Wrong));
        (computed.get(), read.get())
    }

    #[test]
    fn ten_thousand_signatures_cost_one_hmac_and_five_comparisons() {
        assert_eq!(cost(10_000, &[0; 32]), (1, SIGNATURES_MAX));
        assert_eq!(cost(1, &[0; 32]), (1, 1));
    }

    #[test]
    fn without_anything_that_can_be_a_signature_the_payload_is_not_hashed() {
        assert_eq!(cost(0, &[]), (0, 0));
        assert_eq!(cost(100, &[0; 31]).0, 0);
    }
}
