//! One generation of an executor: it lets itself be heard, fetches work, and hears at once what is to end.
//!
//! Invariant: a poll is open as long as the generation lives, also while the executor is full or leaves: what the server
//! wants to say need not wait for a heartbeat.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ordo_api::executors::{Assignment, Assignments, Heartbeat, HeartbeatAnswer, Poll, Registered};
use tokio::sync::mpsc;

use super::books::HeldRuns;
use super::outgoing::OutgoingItem;
use super::servers::Servers;
use super::work::{self, Cancel};
use super::{Handler, PAUSE, is_forgotten, is_passing, leave_server};
use crate::Error;

/// How long a poll waits for work.
const POLL_WAIT_MS: u64 = 20_000;
/// The most runs that one poll asks for.
const POLL_MAX: usize = 1_000;
/// How long the answer to the last poll is waited for.
const LAST_POLL: Duration = Duration::from_secs(10);

/// Why a generation of the executor ended.
pub(super) enum GenerationEnd {
    /// It was asked to leave, here or by the server.
    Leaving,
    /// The server does not know it any more.
    Forgotten,
}

/// Whether the server's wish that it leaves is listened to; it leaves already otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drain {
    Heeded,
    Known,
}

pub(super) struct Generation<'a> {
    pub(super) servers: &'a Servers,
    pub(super) registered: &'a Registered,
    pub(super) capacity: usize,
    pub(super) books: Arc<HeldRuns>,
    pub(super) handler: &'a Arc<dyn Handler>,
    pub(super) send: mpsc::UnboundedSender<OutgoingItem>,
    pub(super) leaving: Cancel,
}

impl Generation<'_> {
    /// Works until it is to leave or is forgotten. Whoever leaves has said so when this returns.
    pub(super) async fn work(&self, leave: Pin<&mut impl Future<Output = ()>>) -> Result<GenerationEnd, Error> {
        let polling = self.poll(Drain::Heeded);
        tokio::pin!(polling);
        let (end, polls) = tokio::select! {
            end = self.beat(Drain::Heeded) => (end?, true),
            end = &mut polling => (end?, false),
            () = leave => (GenerationEnd::Leaving, true),
        };
        if let GenerationEnd::Leaving = end {
            self.leaving.fire();
            leave_server(self.servers, self.registered).await;
            if polls {
                // The server answers the poll under way now; what it still brings is ours.
                drop(tokio::time::timeout(LAST_POLL, polling).await);
            }
        }
        Ok(end)
    }

    /// Lets what runs finish within the grace, and ends the rest.
    pub(super) async fn wind_up(&self, grace: Duration) {
        let finished = async {
            tokio::select! {
                () = self.books.idle() => true,
                _ = self.beat(Drain::Known) => false,
                _ = self.poll(Drain::Known) => false,
            }
        };
        if !tokio::time::timeout(grace, finished).await.unwrap_or(false) {
            self.books.cancel_all();
        }
    }

    /// Lets itself be heard until the server has forgotten it, or wants it to leave.
    async fn beat(&self, drain: Drain) -> Result<GenerationEnd, Error> {
        let mut every = tokio::time::interval(Duration::from_millis(self.registered.heartbeat_ms.max(50)));
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            match self.heartbeat().await {
                Ok(beat) if beat.drain && drain == Drain::Heeded => return Ok(GenerationEnd::Leaving),
                Ok(_) => {}
                Err(error) if is_forgotten(&error) => return Ok(GenerationEnd::Forgotten),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Names what it has; ends what is to end.
    async fn heartbeat(&self) -> Result<HeartbeatAnswer, Error> {
        let path = format!("/v1/executors/{}/heartbeat", self.registered.id);
        let beat: HeartbeatAnswer = self.servers.post(&path, &Heartbeat { runs: self.books.held() }).await?;
        beat.cancel.iter().chain(&beat.lost).for_each(|run| self.books.cancel(*run));
        Ok(beat)
    }

    /// Fetches work, and hears what is to end. The server gives no more than the capacity.
    async fn poll(&self, drain: Drain) -> Result<GenerationEnd, Error> {
        let path = format!("/v1/executors/{}/poll", self.registered.id);
        let wanted = Poll { max: Some(self.capacity.clamp(1, POLL_MAX)), wait_ms: POLL_WAIT_MS, confirm: true };
        loop {
            if drain == Drain::Heeded && self.leaving.is_cancelled() {
                return Ok(GenerationEnd::Leaving);
            }
            match self.servers.poll::<Assignments, _>(&path, &wanted).await {
                Ok(polled) => {
                    polled.cancel.iter().for_each(|run| self.books.cancel(*run));
                    self.take_in(polled.runs, polled.confirm).await?;
                    if polled.drain && drain == Drain::Heeded {
                        return Ok(GenerationEnd::Leaving);
                    }
                }
                Err(error) if is_forgotten(&error) => return Ok(GenerationEnd::Forgotten),
                Err(error) if is_passing(&error) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins what came. Where the server does not know whether anybody is there, first it hears so, and what it has given
    /// to others meanwhile is not begun.
    async fn take_in(&self, runs: Vec<Assignment>, confirm: bool) -> Result<(), Error> {
        let mut begun = Vec::with_capacity(runs.len());
        for run in runs {
            let cancel = Cancel::default();
            self.books.begin(run.run_id, run.token, cancel.clone());
            begun.push((run, cancel));
        }
        if confirm {
            let lost = self.confirm().await?;
            begun.retain(|(run, _)| match lost.contains(&run.run_id) {
                true => {
                    self.books.end(run.run_id, run.token);
                    false
                }
                false => true,
            });
        }
        for (run, cancel) in begun {
            work::begin(run, cancel, self.handler, &self.books, &self.send);
        }
        Ok(())
    }

    /// What it names and does not have, once the server has heard it.
    async fn confirm(&self) -> Result<Vec<ordo_model::RunId>, Error> {
        loop {
            match self.heartbeat().await {
                Ok(beat) => return Ok(beat.lost),
                Err(error) if is_forgotten(&error) => {
                    return Ok(self.books.held().into_iter().map(|held| held.run_id).collect());
                }
                Err(error) if is_passing(&error) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }
}
