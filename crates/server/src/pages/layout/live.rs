//! What changed, for pages that are open: ids of jobs and runs, gathered for a moment, as server-sent events.
//!
//! Invariant: a hint says where to look, never what is there; a page that missed some looks at everything.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::Extension;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ordo_engine::change_hint::ChangeHint;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::http::peer::Peer;
use crate::pages::layout::context::PageContext;

/// How long hints are gathered before they are sent.
const GATHER: Duration = Duration::from_millis(250);
/// More ids than this are not listed one by one.
const IDS_MAX: usize = 100;

struct HintFollower {
    hints: Receiver<ChangeHint>,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct GatheredHints {
    jobs: BTreeSet<String>,
    runs: BTreeSet<String>,
    is_all: bool,
}

/// `GET /live`
pub(crate) async fn follow(ctx: PageContext, peer: Option<Extension<Peer>>) -> Response {
    let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
    let follow = HintFollower { hints: ctx.app.engine.watch(), closing };
    let events = stream::unfold(follow, |mut follow| async move {
        let gathered = follow.next().await?;
        Some((Ok::<Event, Infallible>(gathered.to_event()), follow))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl HintFollower {
    /// Waits for a change, then for those that come with it. Nothing when the server goes down.
    async fn next(&mut self) -> Option<GatheredHints> {
        let mut gathered = GatheredHints::default();
        while gathered.is_empty() {
            tokio::select! {
                () = self.closing.cancelled() => return None,
                hint = self.hints.recv() => gathered.take(&hint)?,
            }
        }
        let until = tokio::time::sleep(GATHER);
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => return Some(gathered),
                () = self.closing.cancelled() => return None,
                hint = self.hints.recv() => gathered.take(&hint)?,
            }
        }
    }
}

impl GatheredHints {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.runs.is_empty() && !self.is_all
    }

    fn take(&mut self, hint: &Result<ChangeHint, RecvError>) -> Option<()> {
        match hint {
            Ok(ChangeHint::Job(id)) => drop(self.jobs.insert(id.to_string())),
            Ok(ChangeHint::Run(id)) => drop(self.runs.insert(id.to_string())),
            Ok(ChangeHint::Log(_)) => {}
            Ok(ChangeHint::Object(_) | ChangeHint::Elsewhere) | Err(RecvError::Lagged(_)) => self.is_all = true,
            Err(RecvError::Closed) => return None,
        }
        if self.jobs.len() + self.runs.len() > IDS_MAX {
            *self = GatheredHints { is_all: true, ..GatheredHints::default() };
        }
        Some(())
    }

    fn to_event(&self) -> Event {
        Event::default().data(json!({ "jobs": self.jobs, "runs": self.runs, "all": self.is_all }).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::{JobId, RunId};
    use uuid::Uuid;

    #[test]
    fn many_changes_become_one_word() {
        let mut gathered = GatheredHints::default();
        gathered.take(&Ok(ChangeHint::Log(RunId(Uuid::from_u128(1))))).unwrap();
        assert!(gathered.is_empty(), "lines are followed by their own page");
        for n in 0..=IDS_MAX {
            gathered.take(&Ok(ChangeHint::Job(JobId(Uuid::from_u128(n as u128))))).unwrap();
        }
        assert!(gathered.is_all && gathered.jobs.is_empty());
        assert_eq!(gathered.take(&Err(RecvError::Closed)), None);
    }
}
