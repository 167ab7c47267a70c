//! Whether a delivery comes from whom it says: the signatures that senders use.
//!
//! Invariant: secrets and signatures are compared in constant time; a signature that names its time is good for
//! SIGNATURE_WINDOW only.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::sender::Headers;
use crate::limits::SIGNATURE_WINDOW;
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
    #[error("the signature does not belong to this payload and the hook's secret")]
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
        Scheme::Github => hex_in(headers, "X-Hub-Signature-256", Some("sha256="))?.belongs_to(secret, &[payload]),
        Scheme::Slack => slack(secret, headers, payload, now),
        Scheme::Stripe => stripe(secret, headers, payload, now),
        Scheme::Standard => standard(secret, headers, payload, now),
        Scheme::Hmac { header } => {
            let name = header.as_deref().unwrap_or_else(|| {
                HMAC_HEADERS.into_iter().find(|name| headers.get(name).is_some()).unwrap_or(HMAC_HEADERS[0])
            });
            hex_in(headers, name, None)?.belongs_to(secret, &[payload])
        }
        Scheme::Bearer => bearer(secret, headers),
    }
}

fn slack(secret: &str, headers: Headers<'_>, payload: &[u8], now: Timestamp) -> Result<(), Unverified> {
    let time = required(headers, "X-Slack-Request-Timestamp")?;
    check_time(time, "X-Slack-Request-Timestamp", now)?;
    let given = hex_in(headers, "X-Slack-Signature", Some("v0="))?;
    given.belongs_to(secret, &[b"v0:", time.as_bytes(), b":", payload])
}

fn stripe(secret: &str, headers: Headers<'_>, payload: &[u8], now: Timestamp) -> Result<(), Unverified> {
    const HEADER: &str = "Stripe-Signature";
    let (mut time, mut given) = (None, Vec::new());
    for (name, value) in required(headers, HEADER)?.split(',').filter_map(|part| part.trim().split_once('=')) {
        match name {
            "t" => time = Some(value),
            "v1" => given.extend(unhex(value)),
            _ => {}
        }
    }
    let time = time.ok_or_else(|| Unverified::Unreadable(HEADER.into()))?;
    check_time(time, HEADER, now)?;
    any_of(&given, secret.as_bytes(), &[time.as_bytes(), b".", payload])
}

fn standard(secret: &str, headers: Headers<'_>, payload: &[u8], now: Timestamp) -> Result<(), Unverified> {
    let id = required(headers, "webhook-id")?;
    let time = required(headers, "webhook-timestamp")?;
    let signatures = required(headers, "webhook-signature")?;
    check_time(time, "webhook-timestamp", now)?;
    let secret = secret.trim();
    let secret = unbase64(secret.strip_prefix("whsec_").unwrap_or(secret)).ok_or(Unverified::BadSecret)?;
    // Several stand there while a secret is being replaced.
    let given: Vec<Vec<u8>> =
        signatures.split_whitespace().filter_map(|part| unbase64(part.strip_prefix("v1,")?)).collect();
    any_of(&given, &secret, &[id.as_bytes(), b".", time.as_bytes(), b".", payload])
}

/// Both are hashed with a key of their own length: neither the length nor the place of a difference shows in time.
fn bearer(secret: &str, headers: Headers<'_>) -> Result<(), Unverified> {
    let given = required(headers, "Authorization")?;
    let unreadable = || Unverified::Unreadable("Authorization".into());
    let (scheme, given) = given.split_once(' ').ok_or_else(unreadable)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unreadable());
    }
    let wanted = mac(b"bearer", &[secret.trim().as_bytes()]).finalize().into_bytes();
    let given = mac(b"bearer", &[given.trim().as_bytes()]);
    given.verify_slice(&wanted).map_err(|_| Unverified::Wrong)
}

struct Signature(Vec<u8>);

impl Signature {
    fn belongs_to(&self, secret: &str, signed: &[&[u8]]) -> Result<(), Unverified> {
        any_of(std::slice::from_ref(&self.0), secret.as_bytes(), signed)
    }
}

fn any_of(given: &[Vec<u8>], secret: &[u8], signed: &[&[u8]]) -> Result<(), Unverified> {
    let fits = given.iter().any(|given| mac(secret, signed).verify_slice(given).is_ok());
    if fits { Ok(()) } else { Err(Unverified::Wrong) }
}

fn mac(secret: &[u8], signed: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    signed.iter().for_each(|part| mac.update(part));
    mac
}

fn required<'a>(headers: Headers<'a>, name: &str) -> Result<&'a str, Unverified> {
    headers.get(name).map(str::trim).ok_or_else(|| Unverified::Missing(name.to_owned()))
}

/// A signature in hex. `sha256=` may stand before it; where a scheme has a prefix of its own, that one must.
fn hex_in(headers: Headers<'_>, name: &str, prefix: Option<&str>) -> Result<Signature, Unverified> {
    let unreadable = || Unverified::Unreadable(name.to_owned());
    let given = required(headers, name)?;
    let given = match prefix {
        Some(prefix) => given.strip_prefix(prefix).ok_or_else(unreadable)?,
        None => given.strip_prefix("sha256=").unwrap_or(given),
    };
    unhex(given).map(Signature).ok_or_else(unreadable)
}

fn check_time(seconds: &str, header: &str, now: Timestamp) -> Result<(), Unverified> {
    let unreadable = || Unverified::Unreadable(header.to_owned());
    let at = seconds.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1_000)).ok_or_else(unreadable)?;
    if at.abs_diff(now.ms()) <= SIGNATURE_WINDOW.ms() { Ok(()) } else { Err(Unverified::OtherTime) }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() && !pairs.is_empty() { bytes.collect() } else { None }
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok().filter(|bytes| !bytes.is_empty())
}
