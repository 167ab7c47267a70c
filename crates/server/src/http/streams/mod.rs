//! Answers without an end: how many there may be, and when they end after all.
//!
//! Invariant: a stream ends with what let its reader in, the token or the session of a browser, within two seconds on
//! every node. A token has so many streams and no more.

pub(crate) mod sse;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ordo_api::Code;
use ordo_engine::change_hint::ChangeHint;
use ordo_engine::{Engine, error_chain};
use ordo_model::api_token::ApiToken;
use ordo_model::limits::{STREAMS_MAX, STREAMS_PER_TOKEN_MAX};
use ordo_model::{Kind, Timestamp};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::auth::caller::{Caller, Credential};
use crate::http::problem::Problem;

/// How soon is looked again where a token may have changed on another node, or between the guard and the stream.
const REVIEW_AFTER: Duration = Duration::from_secs(1);

/// All streams of one server. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenStreams {
    shared: Arc<StreamsShared>,
}

#[derive(Debug, Default)]
struct StreamsShared {
    open: Mutex<Open>,
    /// Streams were opened or ended.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    streams: HashMap<u64, OpenStream>,
    is_watched: bool,
}

#[derive(Debug)]
struct OpenStream {
    credential: Option<Credential>,
    is_counted: bool,
    ended: CancellationToken,
}

/// Whether an answer counts as a stream of its token. A poll does not: an executor has one, and there may be many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    Counted,
    Free,
}

/// One stream: it may go on until `over`. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct StreamPass {
    streams: OpenStreams,
    number: u64,
    ended: CancellationToken,
    closing: CancellationToken,
    expires_in: Option<Duration>,
}

impl OpenStreams {
    /// A stream for whoever asks, unless there are too many.
    pub(crate) fn open(
        &self,
        engine: &Engine,
        caller: &Caller,
        closing: CancellationToken,
        counting: Counting,
    ) -> Result<StreamPass, Problem> {
        let mut open = self.lock();
        if counting == Counting::Counted {
            check_room(&open, caller.credential.as_ref())?;
        }
        if !open.is_watched {
            open.is_watched = true;
            tokio::spawn(watch(self.clone(), engine.clone(), engine.watch_objects()));
        }
        open.next += 1;
        let (number, ended) = (open.next, CancellationToken::new());
        let credential = caller.credential.clone();
        let until = credential.as_ref().and_then(|credential| credential.until);
        let is_counted = counting == Counting::Counted;
        open.streams.insert(number, OpenStream { credential, is_counted, ended: ended.clone() });
        drop(open);
        self.shared.changed.notify_one();
        let expires_in = until.map(|until| until.since(engine.clock().now()).to_std());
        Ok(StreamPass { streams: self.clone(), number, ended, closing, expires_in })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens of all streams, or None and nobody watches any more: there are no streams.
    fn tokens(&self) -> Option<BTreeSet<Uuid>> {
        let mut open = self.lock();
        open.is_watched = !open.streams.is_empty();
        let credentials = open.streams.values().filter_map(|entry| entry.credential.as_ref());
        open.is_watched.then(|| credentials.map(|credential| credential.token.id).collect())
    }

    /// Ends the streams that this token lets in no more.
    fn end_unless(&self, id: Uuid, token: Option<&ApiToken>, now: Timestamp) {
        for entry in self.lock().streams.values() {
            let Some(credential) = entry.credential.as_ref().filter(|credential| credential.token.id == id) else {
                continue;
            };
            if !token.is_some_and(|token| credential.is_good(token, now)) {
                entry.ended.cancel();
            }
        }
    }

    fn end_all(&self) {
        self.lock().streams.values().for_each(|entry| entry.ended.cancel());
    }
}

fn check_room(open: &Open, credential: Option<&Credential>) -> Result<(), Problem> {
    let counted = || open.streams.values().filter(|entry| entry.is_counted);
    let token = |credential: Option<&Credential>| credential.map(|credential| credential.token.id);
    let theirs = counted().filter(|entry| token(entry.credential.as_ref()) == token(credential)).count();
    if credential.is_some() && theirs >= STREAMS_PER_TOKEN_MAX {
        let detail = format!("the token has {STREAMS_PER_TOKEN_MAX} streams open: end one first");
        return Err(Problem::new(Code::TooManyStreams, detail));
    }
    if counted().count() >= STREAMS_MAX {
        let detail = format!("the server has {STREAMS_MAX} streams open: try again later");
        return Err(Problem::new(Code::TooManyStreams, detail));
    }
    Ok(())
}

impl StreamPass {
    /// When the stream must end: the server goes down, or what let its reader in has ended.
    pub(crate) fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        let (ended, closing, expires_in) = (self.ended.clone(), self.closing.clone(), self.expires_in);
        let expired = async move {
            match expires_in {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = closing.cancelled() => {}
                () = expired => {}
            }
        }
    }
}

impl Drop for StreamPass {
    fn drop(&mut self) {
        self.streams.lock().streams.remove(&self.number);
        self.streams.shared.changed.notify_one();
    }
}

/// Looks after the tokens of the streams for as long as there are any.
async fn watch(streams: OpenStreams, engine: Engine, mut hints: Receiver<ChangeHint>) {
    loop {
        let changed = tokio::select! {
            () = streams.shared.changed.notified() => None,
            hint = hints.recv() => match hint {
                Ok(ChangeHint::Object(entity)) if entity.kind == Kind::ApiToken => Some(entity.id),
                Ok(ChangeHint::Object(_) | ChangeHint::Job(_) | ChangeHint::Run(_) | ChangeHint::Log(_)) => continue,
                Ok(ChangeHint::Elsewhere) | Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return streams.end_all(),
            },
        };
        if changed.is_none() {
            tokio::time::sleep(REVIEW_AFTER).await;
            // What was said meanwhile is answered by one look, and nothing falls between the two.
            hints = hints.resubscribe();
        }
        let Some(tokens) = streams.tokens() else { return };
        for id in tokens.into_iter().filter(|id| changed.is_none_or(|changed| changed == *id)) {
            match engine.tokens().by_id(id).await {
                Ok(token) => streams.end_unless(id, token.as_deref(), engine.clock().now()),
                Err(error) => {
                    tracing::warn!(error = %error_chain(&error), "a token of open streams could not be read");
                    streams.shared.changed.notify_one();
                }
            }
        }
    }
}
