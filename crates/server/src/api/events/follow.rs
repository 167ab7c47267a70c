//! All events as server-sent events, from any position on until the client has enough or the server goes down.
//!
//! Invariant: hints only wake; what is sent comes from the store, in the order of positions. So a hint that was missed
//! costs a read, never an event. A slow client holds up nobody: it is read for again only when it took what it got.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ordo_engine::Engine;
use ordo_engine::change_hint::ChangeHint;
use ordo_store::{Fault, Position, StoredEvent};
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use crate::api::events::streams::view;
use crate::app::App;
use crate::auth::access::is_published;
use crate::http::problem::Problem;

/// How many events one read takes from the store: what one follower holds in memory.
const READ_AT_ONCE: usize = 64;

struct EventFollower {
    engine: Engine,
    after: Position,
    hints: Receiver<ChangeHint>,
    closing: CancellationToken,
    ready: VecDeque<StoredEvent>,
    over: bool,
}

/// The first look is made before the answer begins: a position that is none is refused, not streamed.
pub(crate) async fn answer(app: &App, after: Position, closing: CancellationToken) -> Result<Response, Fault> {
    let mut follow = EventFollower {
        // Watching begins before the first look, so nothing falls between the two.
        hints: app.engine.watch(),
        engine: app.engine.clone(),
        after,
        closing,
        ready: VecDeque::new(),
        over: false,
    };
    follow.look().await?;
    let events = stream::unfold(follow, |mut follow| async move {
        let event = follow.next().await?;
        Some((Ok::<SseEvent, Infallible>(event), follow))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl EventFollower {
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if self.over || self.closing.is_cancelled() {
                return None;
            }
            if let Some(event) = self.ready.pop_front() {
                return Some(to_sse(event).unwrap_or_else(|fault| self.end(fault)));
            }
            match self.look().await {
                Ok(()) if self.ready.is_empty() => self.wait().await?,
                Ok(()) => {}
                Err(fault) => return Some(self.end(fault)),
            }
        }
    }

    async fn look(&mut self) -> Result<(), Fault> {
        loop {
            let found = self.engine.queries().store().events(&self.after, READ_AT_ONCE).await?;
            let Some(last) = found.last() else { return Ok(()) };
            self.after = last.position.clone();
            self.ready.extend(found.into_iter().filter(|event| is_published(event.entity.kind)));
            if !self.ready.is_empty() {
                return Ok(());
            }
        }
    }

    /// Waits until looking again is worth it; nothing when the server goes down.
    async fn wait(&mut self) -> Option<()> {
        loop {
            let hint = tokio::select! {
                () = self.closing.cancelled() => return None,
                hint = self.hints.recv() => hint,
            };
            match hint {
                Ok(ChangeHint::Job(_) | ChangeHint::Run(_) | ChangeHint::Object(_) | ChangeHint::Elsewhere)
                | Err(RecvError::Lagged(_)) => {
                    break;
                }
                Ok(ChangeHint::Log(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
        self.forget_hints();
        Some(())
    }

    /// One read serves all hints there are: each came after the commit it speaks of.
    fn forget_hints(&mut self) {
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = self.hints.try_recv() {}
    }

    fn end(&mut self, fault: Fault) -> SseEvent {
        self.over = true;
        SseEvent::default().event("error").data(text(&Problem::from(fault).details()))
    }
}

fn to_sse(event: StoredEvent) -> Result<SseEvent, Fault> {
    let event = view(event)?;
    Ok(SseEvent::default().id(event.position.clone()).data(text(&event)))
}

fn text(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("an event is plain data")
}
