//! What changed, for pages that are open: ids of jobs and runs, gathered for a moment, as server-sent events.
//!
//! Invariant: a hint says where to look, never what is there; a page that missed some looks at everything.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::Extension;
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream;
use ordo_engine::change_hint::ChangeHint;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::auth::caller::Caller;
use crate::http::peer::Peer;
use crate::http::problem::Problem;
use crate::http::streams::Counting;
use crate::http::streams::sse;
use crate::pages::layout::context::PageContext;

/// How long hints are gathered before they are sent.
const GATHER: Duration = Duration::from_millis(250);
/// More ids than this are not listed one by one.
const IDS_MAX: usize = 100;

struct HintFollower {
    hints: Receiver<ChangeHint>,
}

#[derive(Debug, Default, Serialize)]
struct GatheredHints {
    jobs: BTreeSet<String>,
    runs: BTreeSet<String>,
    #[serde(rename = "all")]
    is_all: bool,
}

/// `GET /live`
pub(crate) async fn follow(
    ctx: PageContext,
    Extension(caller): Extension<Caller>,
    peer: Option<Extension<Peer>>,
) -> Result<Response, Problem> {
    let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
    let pass = ctx.app.streams.open(&ctx.app.engine, &caller, closing, Counting::Counted)?;
    let follow = HintFollower { hints: ctx.app.engine.watch() };
    let events = stream::unfold(follow, |mut follow| async move {
        let gathered = follow.next().await?;
        Some((gathered.to_event(), follow))
    });
    Ok(sse::answer(pass, events))
}

impl HintFollower {
    /// Waits for a change, then for those that come with it. Nothing when no more will come.
    async fn next(&mut self) -> Option<GatheredHints> {
        let mut gathered = GatheredHints::default();
        loop {
            gathered.take(&self.hints.recv().await)?;
            // However much changes meanwhile, the page is woken once.
            tokio::time::sleep(GATHER).await;
            loop {
                match self.hints.try_recv() {
                    Ok(hint) => gathered.take(&Ok(hint))?,
                    Err(TryRecvError::Lagged(missed)) => gathered.take(&Err(RecvError::Lagged(missed)))?,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            if !gathered.is_empty() {
                return Some(gathered);
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
        Event::default().data(serde_json::to_string(self).expect("ids are plain data"))
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
