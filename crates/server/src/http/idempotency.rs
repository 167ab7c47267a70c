//! `Idempotency-Key`: a creation that is asked for twice happens once and is answered twice.
//!
//! Invariant: the key is claimed in the same commit that creates the job or the run; there is no moment between.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use ordo_api::Code;
use ordo_engine::Claim;
use ordo_model::{Millis, RunId, Timestamp};
use ordo_store::Dedup;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::http::problem::Problem;

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

/// What is remembered of it: for which body, and what was made.
#[derive(Serialize, Deserialize)]
struct Memory<T> {
    body: String,
    #[serde(alias = "job")]
    made: T,
}

impl Once {
    pub(crate) fn read(headers: &HeaderMap, route: &str, body: &[u8]) -> Result<Option<Once>, Problem> {
        let Some(key) = headers.get(HEADER) else { return Ok(None) };
        let key = key.as_bytes();
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            let detail = format!("Idempotency-Key must have between 1 and {KEY_MAX_BYTES} bytes");
            return Err(Problem::new(Code::InvalidHeader, detail));
        }
        Ok(Some(Once { key: hash(&[route.as_bytes(), key]), body: hex::encode(hash(&[body])) }))
    }

    /// The same for one of many that were asked for together.
    pub(crate) fn nth(&self, place: usize) -> Once {
        Once { key: hash(&[&self.key, &place.to_be_bytes()]), body: self.body.clone() }
    }

    /// What an earlier request with this key made.
    pub(crate) async fn earlier<T: DeserializeOwned>(&self, app: &App) -> Result<Option<T>, Problem> {
        self.found(app).await?.map(|value| self.resolve(&value)).transpose()
    }

    /// The run that an earlier request with this key brought about.
    pub(crate) async fn earlier_run(&self, app: &App) -> Result<Option<RunId>, Problem> {
        self.found(app).await?.map(|value| self.resolve_run(&value)).transpose()
    }

    async fn found(&self, app: &App) -> Result<Option<Vec<u8>>, Problem> {
        Ok(app.engine.queries().store().dedup(&self.dedup_key(), app.now()).await?)
    }

    pub(crate) fn claim<T: Serialize>(&self, made: T, now: Timestamp) -> Claim {
        Claim { key: self.dedup_key(), until: now.plus(REMEMBERED), value: self.memory(made), names_run: false }
    }

    /// The same for an order whose run is not known beforehand.
    pub(crate) fn claim_run(&self, now: Timestamp) -> Claim {
        let value = self.body.clone().into_bytes();
        Claim { key: self.dedup_key(), until: now.plus(REMEMBERED), value, names_run: true }
    }

    /// The same for something that is not a job.
    pub(crate) fn dedup<T: Serialize>(&self, made: T, now: Timestamp) -> Dedup {
        Dedup { key: self.dedup_key(), at: now, until: now.plus(REMEMBERED), value: self.memory(made) }
    }

    fn memory<T: Serialize>(&self, made: T) -> Vec<u8> {
        serde_json::to_vec(&Memory { body: self.body.clone(), made }).expect("a memory is plain data")
    }

    /// What was made under the key, if it was for the same body.
    pub(crate) fn resolve<T: DeserializeOwned>(&self, value: &[u8]) -> Result<T, Problem> {
        let memory: Memory<T> = serde_json::from_slice(value).map_err(|e| unreadable(&e.to_string()))?;
        self.of_this_body(memory.body.as_bytes(), memory.made)
    }

    pub(crate) fn resolve_run(&self, value: &[u8]) -> Result<RunId, Problem> {
        let (body, run) = Claim::read_run(value).ok_or_else(|| unreadable("it names no run"))?;
        self.of_this_body(body, run)
    }

    fn of_this_body<T>(&self, body: &[u8], made: T) -> Result<T, Problem> {
        if body == self.body.as_bytes() {
            return Ok(made);
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
            "this route takes no Idempotency-Key: send the request without it",
        )),
        false => Ok(()),
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(Code::StoreDamaged, format!("a remembered key cannot be read: {why}"))
}

/// Says that the answer belongs to an earlier request.
pub(crate) fn replayed(mut answer: Response) -> Response {
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    answer
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
