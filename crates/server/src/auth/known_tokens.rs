//! Tokens that were looked up a moment ago.
//!
//! Invariant: what is remembered is at most FRESH old, so a token that was revoked on another node lets nobody in for
//! longer than that; its expiry is looked at every time. Only tokens that exist are remembered, and a bounded number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_engine::Versioned;
use ordo_engine::clock::Stopwatch;
use ordo_engine::tokens::{TokenHash, Tokens, TokensError};
use ordo_model::api_token::ApiToken;
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

/// How long a token is trusted without asking the store again.
const FRESH: Millis = Millis::from_secs(1);
/// How many are remembered.
const REMEMBERED_MAX: usize = 4_096;

/// How a token is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TokenKey {
    Hash(TokenHash),
    Id(Uuid),
}

/// A token, and for how long it has been known.
type KnownToken = HashMap<TokenKey, (Arc<Versioned<ApiToken>>, Stopwatch)>;

#[derive(Debug, Default)]
pub(crate) struct KnownTokens {
    known: Mutex<KnownToken>,
}

impl KnownTokens {
    /// The token, if it lets anybody in.
    pub(crate) async fn find(
        &self,
        tokens: Tokens,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<Option<Arc<Versioned<ApiToken>>>, TokensError> {
        if let Some(token) = self.remembered(&key) {
            return Ok(Some(token).filter(|token| token.is_alive(now)));
        }
        let found = match &key {
            TokenKey::Hash(hash) => tokens.by_hash(hash).await?,
            TokenKey::Id(id) => tokens.by_id(*id).await?,
        };
        let Some(token) = found.filter(|token| token.is_alive(now)).map(Arc::new) else { return Ok(None) };
        self.remember(key, token.clone());
        note(tokens, &token, now);
        Ok(Some(token))
    }

    /// A token was changed here: this node need not wait.
    pub(crate) fn forget_all(&self) {
        self.lock().clear();
    }

    fn remembered(&self, key: &TokenKey) -> Option<Arc<Versioned<ApiToken>>> {
        let known = self.lock();
        known.get(key).filter(|(_, since)| since.elapsed() < FRESH).map(|(token, _)| token.clone())
    }

    fn remember(&self, key: TokenKey, token: Arc<Versioned<ApiToken>>) {
        let mut known = self.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(key, (token, Stopwatch::start()));
    }

    fn lock(&self) -> MutexGuard<'_, KnownToken> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody waits for it: when a token was last used is known to within an hour.
fn note(tokens: Tokens, token: &Versioned<ApiToken>, now: Timestamp) {
    if !token.is_use_news(now) {
        return;
    }
    let id = token.id;
    tokio::spawn(async move {
        if let Err(error) = tokens.note(id).await {
            tracing::debug!(%error, "the use of a token could not be noted");
        }
    });
}
