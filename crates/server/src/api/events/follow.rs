//! All events as server-sent events, from any position on until the client has enough or the server goes down.
//!
//! Invariant: hints only wake; what is sent comes from the store, in the order of positions. So a hint that was missed
//! costs a read, never an event. A slow client holds up nobody: it is read for again only when it took what it got.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::response::Response;
use axum::response::sse::Event as SseEvent;
use futures_util::stream;
use ordo_engine::Engine;
use ordo_engine::change_hint::ChangeHint;
use ordo_model::credential::is_published;
use ordo_store::{Fault, Position, StoredEvent};
use serde::Serialize;

use crate::api::events::streams::view;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::problem::Problem;
use crate::http::streams::StreamPass;
use crate::http::streams::sse::{self, Changes, Turns};

/// How many events one read takes from the store: what one follower holds in memory.
const READ_AT_ONCE: usize = 64;

struct EventFollower {
    caller: Caller,
    engine: Engine,
    turns: Arc<Turns>,
    after: Position,
    changes: Changes,
    ready: VecDeque<StoredEvent>,
    /// The last read brought as much as it could: there is more behind it.
    is_behind: bool,
    over: bool,
}

/// The first look is made before the answer begins: a position that is none is refused, not streamed.
pub(crate) async fn answer(app: &App, caller: Caller, after: Position, pass: StreamPass) -> Result<Response, Fault> {
    let mut follow = EventFollower {
        caller,
        // Watching begins before the first look, so nothing falls between the two.
        changes: Changes::new(app.engine.watch()),
        engine: app.engine.clone(),
        turns: app.turns.clone(),
        after,
        ready: VecDeque::new(),
        is_behind: false,
        over: false,
    };
    follow.look().await?;
    let events = stream::unfold(follow, |mut follow| async move {
        let event = follow.next().await?;
        Some((event, follow))
    });
    Ok(sse::answer(pass, events))
}

impl EventFollower {
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if self.over {
                return None;
            }
            if let Some(event) = self.ready.pop_front() {
                return Some(to_sse(event, &self.caller).unwrap_or_else(|fault| self.end(fault)));
            }
            match self.look().await {
                Ok(()) if self.ready.is_empty() => self.changes.next(is_event).await?,
                Ok(()) => {}
                Err(fault) => return Some(self.end(fault)),
            }
        }
    }

    async fn look(&mut self) -> Result<(), Fault> {
        loop {
            let turn = if self.is_behind { self.turns.replay().await } else { self.turns.look().await };
            let found = self.engine.queries().store().events(&self.after, READ_AT_ONCE).await?;
            drop(turn);
            self.is_behind = found.len() == READ_AT_ONCE;
            let Some(last) = found.last() else { return Ok(()) };
            self.after = last.position.clone();
            self.ready.extend(found.into_iter().filter(|event| is_published(event.entity.kind)));
            if !self.ready.is_empty() {
                return Ok(());
            }
        }
    }

    fn end(&mut self, fault: Fault) -> SseEvent {
        self.over = true;
        SseEvent::default().event("error").data(text(&Problem::from(fault).details()))
    }
}

/// Log lines are no events.
fn is_event(hint: &ChangeHint) -> bool {
    match hint {
        ChangeHint::Job(_) | ChangeHint::Run(_) | ChangeHint::Object(_) | ChangeHint::Elsewhere => true,
        ChangeHint::Log(_) => false,
    }
}

fn to_sse(event: StoredEvent, caller: &Caller) -> Result<SseEvent, Fault> {
    let event = view(event, caller)?;
    Ok(SseEvent::default().id(event.position.clone()).data(text(&event)))
}

fn text(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("an event is plain data")
}
