//! `Idempotency-Key`: a creation that is asked for twice happens once and is answered twice.
//!
//! Invariant: the key is claimed in the same commit that creates the job; there is no moment between the two.

use axum::http::{HeaderMap, HeaderName};
use ordo_model::{JobId, Millis, Timestamp};
use ordo_store::Dedup;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::code::Code;
use crate::hex;
use crate::problem::Problem;

pub(crate) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer belongs to an earlier request.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const KEY_MAX_BYTES: usize = 255;
/// How long a key is remembered.
const REMEMBERED: Millis = Millis::from_hours(24);

/// A creation that carries a key.
#[derive(Debug, Clone)]
pub(crate) struct Once {
    key: [u8; 32],
    body: String,
}

/// What is remembered of it.
#[derive(Serialize, Deserialize)]
struct Claim {
    body: String,
    job: JobId,
}

impl Once {
    pub(crate) fn read(headers: &HeaderMap, route: &str, body: &[u8]) -> Result<Option<Once>, Problem> {
        let Some(key) = headers.get(HEADER) else { return Ok(None) };
        let key = key.as_bytes();
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            let detail = format!("Idempotency-Key must have between 1 and {KEY_MAX_BYTES} bytes");
            return Err(Problem::new(Code::InvalidHeader, detail));
        }
        Ok(Some(Once { key: hash(&[route.as_bytes(), key]), body: hex::encode(&hash(&[body])) }))
    }

    /// The same for one of many that were asked for together.
    pub(crate) fn nth(&self, place: usize) -> Once {
        Once { key: hash(&[&self.key, &place.to_be_bytes()]), body: self.body.clone() }
    }

    /// The job that an earlier request with this key created.
    pub(crate) async fn earlier(&self, app: &App) -> Result<Option<JobId>, Problem> {
        let found = app.engine.queries().store().dedup(&self.dedup_key(), app.now()).await?;
        found.map(|value| self.resolve(&value)).transpose()
    }

    pub(crate) fn claim(&self, job: JobId, now: Timestamp) -> Dedup {
        let claim = Claim { body: self.body.clone(), job };
        let value = serde_json::to_vec(&claim).expect("a claim is plain data");
        Dedup { key: self.dedup_key(), at: now, until: now.plus(REMEMBERED), value }
    }

    /// The job that was created under the key, if it was for the same body.
    pub(crate) fn resolve(&self, value: &[u8]) -> Result<JobId, Problem> {
        let unreadable = |e| Problem::new(Code::StoreDamaged, format!("a remembered key cannot be read: {e}"));
        let claim: Claim = serde_json::from_slice(value).map_err(unreadable)?;
        if claim.body == self.body {
            return Ok(claim.job);
        }
        let detail = "the Idempotency-Key was used with another body within the last 24 hours: use a new key";
        Err(Problem::new(Code::IdempotencyKeyReused, detail))
    }

    fn dedup_key(&self) -> Vec<u8> {
        [b"idempotency/".as_slice(), &self.key].concat()
    }
}

/// Routes that cannot keep the promise say so instead of ignoring the key.
pub(crate) fn refuse(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.contains_key(HEADER) {
        true => Err(Problem::new(
            Code::IdempotencyKeyUnsupported,
            "this route takes no Idempotency-Key yet: send the request without it",
        )),
        false => Ok(()),
    }
}

/// Each part goes in with its length, so that none can pass for another.
fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
