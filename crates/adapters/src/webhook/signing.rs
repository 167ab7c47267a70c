//! Standard Webhooks: how a message is signed, so that its receiver knows who sent it and when.
//!
//! Invariant: signed is exactly what is sent: the id, the second of this attempt, and the body byte for byte. An id has
//! no full stop in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use ordo_model::Timestamp;
use sha2::Sha256;

const PREFIX: &str = "whsec_";
/// The standard asks for 24 to 64 bytes.
pub const KEY_MIN_BYTES: usize = 24;
pub const KEY_MAX_BYTES: usize = 64;
const KEY_NEW_BYTES: usize = 32;

/// A signing secret as it is given to people: `whsec_` and base64.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a signing secret is {PREFIX} and {KEY_MIN_BYTES} to {KEY_MAX_BYTES} bytes in base64; leave it out and one is made"
)]
pub struct NotAKey;

impl SigningKey {
    pub fn parse(text: &str) -> Result<SigningKey, NotAKey> {
        let coded = text.trim();
        let bytes = STANDARD.decode(coded.strip_prefix(PREFIX).unwrap_or(coded)).map_err(|_| NotAKey)?;
        SigningKey::of(bytes)
    }

    /// A new one, of the system's chance.
    pub fn random() -> Result<SigningKey, getrandom::Error> {
        let mut bytes = vec![0; KEY_NEW_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(SigningKey(bytes))
    }

    pub fn of(bytes: Vec<u8>) -> Result<SigningKey, NotAKey> {
        if (KEY_MIN_BYTES..=KEY_MAX_BYTES).contains(&bytes.len()) { Ok(SigningKey(bytes)) } else { Err(NotAKey) }
    }

    /// As its owner is shown it, once.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        for part in [id.as_bytes(), b".", seconds.to_string().as_bytes(), b".", body] {
            mac.update(part);
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// The three headers of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureHeaders {
    pub id: String,
    pub timestamp: String,
    /// One signature for each key, the newest first: while a secret is being replaced there are two.
    pub signature: String,
}

impl SignatureHeaders {
    pub fn new(keys: &[SigningKey], id: &str, at: Timestamp, body: &[u8]) -> SignatureHeaders {
        debug_assert!(!id.contains('.'), "an id with a full stop could pass for another message");
        let seconds = at.ms() / 1_000;
        let signatures: Vec<String> = keys.iter().map(|key| key.sign(id, seconds, body)).collect();
        SignatureHeaders { id: id.to_owned(), timestamp: seconds.to_string(), signature: signatures.join(" ") }
    }

    pub fn headers(&self) -> [(&'static str, &str); 3] {
        [("webhook-id", &self.id), ("webhook-timestamp", &self.timestamp), ("webhook-signature", &self.signature)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector that the libraries of the standard are tested with.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn at() -> Timestamp {
        Timestamp::from_ms(1_614_265_330_999).unwrap()
    }

    #[test]
    fn the_published_vector_is_reproduced() {
        let signed = SignatureHeaders::new(&[SigningKey::parse(SECRET).unwrap()], ID, at(), BODY);
        assert_eq!(
            signed.headers(),
            [("webhook-id", ID), ("webhook-timestamp", "1614265330"), ("webhook-signature", SIGNATURE),]
        );
    }

    #[test]
    fn while_a_secret_is_replaced_both_sign() {
        let (new, old) = (SigningKey::of(vec![7; 32]).unwrap(), SigningKey::parse(SECRET).unwrap());
        let both = SignatureHeaders::new(&[new.clone(), old], ID, at(), BODY).signature;
        let alone = SignatureHeaders::new(&[new], ID, at(), BODY).signature;
        assert_eq!(both, format!("{alone} {SIGNATURE}"));
    }

    #[test]
    fn a_secret_reads_back_and_a_short_one_is_refused() {
        let key = SigningKey::parse(SECRET).unwrap();
        assert_eq!(key.reveal(), SECRET);
        assert_eq!(SigningKey::parse(&SECRET[PREFIX.len()..]).unwrap(), key, "the prefix may be left out");
        assert_eq!(format!("{key:?}"), "SigningKey");
        for wrong in ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64!", &format!("whsec_{}", "A".repeat(90))] {
            assert_eq!(SigningKey::parse(wrong), Err(NotAKey), "{wrong}");
        }
    }
}
