//! Keys: what is sealed under one is opened by the same only, and only for what it was sealed for.
//!
//! Invariant: sealed bytes are layout 1, the key's mark 8, nonce 24, then XChaCha20-Poly1305 with the purpose as
//! associated data. The nonce is random and never used again.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::random::{RandomError, random};

pub const KEY_BYTES: usize = 32;
const LAYOUT: u8 = 1;
const MARK_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
const HEAD_BYTES: usize = 1 + MARK_BYTES + NONCE_BYTES;

/// A key of 32 random bytes. Not shown by `Debug`, overwritten when dropped.
#[derive(Clone)]
pub struct SealingKey([u8; KEY_BYTES]);

/// The name of a key that may be seen: the beginning of a hash of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFingerprint([u8; MARK_BYTES]);

/// Why sealed bytes could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unopened {
    #[error("it is sealed under key {0}, which is not here")]
    OtherKey(KeyFingerprint),
    #[error("it was changed, or moved here from another place")]
    Changed,
}

impl SealingKey {
    pub fn of(bytes: [u8; KEY_BYTES]) -> SealingKey {
        SealingKey(bytes)
    }

    pub fn new() -> Result<SealingKey, RandomError> {
        random().map(SealingKey)
    }

    /// As it is written into a file.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Of 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<SealingKey> {
        let mut bytes = [0; KEY_BYTES];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(SealingKey(bytes))
    }

    pub fn mark(&self) -> KeyFingerprint {
        let hash: [u8; 32] = Sha256::new_with_prefix("ordo-key-mark").chain_update(self.0).finalize().into();
        let mut mark = [0; MARK_BYTES];
        mark.copy_from_slice(&hash[..MARK_BYTES]);
        KeyFingerprint(mark)
    }

    /// Seals bytes for a purpose.
    pub fn seal(&self, purpose: &str, clear: &[u8]) -> Result<Vec<u8>, RandomError> {
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: clear, aad: purpose.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).expect("a short text can be sealed");
        Ok([&[LAYOUT], self.mark().0.as_slice(), &nonce, &sealed].concat())
    }

    fn open(&self, purpose: &str, nonce: [u8; NONCE_BYTES], sealed: &[u8]) -> Option<Vec<u8>> {
        self.cipher().decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: purpose.as_bytes() }).ok()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

/// Opens what one of the keys sealed for this purpose.
pub fn open(keys: &[SealingKey], purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
    let (head, body) = sealed.split_at_checked(HEAD_BYTES).ok_or(Unopened::Changed)?;
    let (mut mark, mut nonce) = (KeyFingerprint([0; MARK_BYTES]), [0; NONCE_BYTES]);
    mark.0.copy_from_slice(&head[1..=MARK_BYTES]);
    nonce.copy_from_slice(&head[1 + MARK_BYTES..]);
    if head[0] != LAYOUT {
        return Err(Unopened::Changed);
    }
    let key = keys.iter().find(|key| key.mark() == mark).ok_or(Unopened::OtherKey(mark))?;
    key.open(purpose, nonce, body).ok_or(Unopened::Changed)
}

impl Drop for SealingKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Display for KeyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.mark())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_by_its_key_for_its_purpose_only() {
        let (key, other) = (SealingKey::of([7; 32]), SealingKey::of([8; 32]));
        let sealed = key.seal("secret pg", b"hunter2").unwrap();
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
        assert_ne!(sealed, key.seal("secret pg", b"hunter2").unwrap(), "no two seals are alike");
        let keys = [other.clone(), key.clone()];
        assert_eq!(open(&keys, "secret pg", &sealed).unwrap(), b"hunter2");
        assert_eq!(open(&keys, "secret smtp", &sealed), Err(Unopened::Changed));
        assert_eq!(open(&[other], "secret pg", &sealed), Err(Unopened::OtherKey(key.mark())));
    }

    #[test]
    fn a_changed_byte_anywhere_is_noticed() {
        let key = [SealingKey::of([7; 32])];
        let sealed = key[0].seal("p", b"hunter2").unwrap();
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(open(&key, "p", &changed).is_err(), "byte {place}");
            assert!(open(&key, "p", &sealed[..place]).is_err(), "cut at {place}");
        }
    }

    #[test]
    fn a_key_reads_back_and_does_not_show() {
        let key = SealingKey::new().unwrap();
        assert_eq!(SealingKey::from_hex(&key.to_hex()).unwrap().0, key.0);
        assert!(!format!("{key:?}").contains(&key.to_hex()));
        for wrong in ["", "00", &"g".repeat(64), &"é".repeat(32), &"+f".repeat(32)] {
            assert!(SealingKey::from_hex(wrong).is_none(), "{wrong}");
        }
    }
}
