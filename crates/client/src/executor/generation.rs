//! One generation of an executor: it lets itself be heard, fetches work, and hears at once what is to end.
//!
//! Invariant: a poll is open as long as the generation lives, also while the executor is full or leaves: what the server
//! wants to say need not wait for a heartbeat.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ordo_api::executors::{Assignment, Assignments, Heartbeat, HeartbeatAnswer, Poll, Registered};
use ordo_model::RunId;
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
        let mut taken = TakenRuns::hold(&self.books, runs);
        if confirm {
            taken.drop_lost(&self.confirm().await?);
        }
        for (run, cancel) in taken.into_runs() {
            work::begin(run, cancel, self.handler, &self.books, &self.send);
        }
        Ok(())
    }

    /// What it names and does not have, once the server has heard it.
    async fn confirm(&self) -> Result<Vec<RunId>, Error> {
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

/// Runs that are in the books and not begun yet. Whoever is forgotten while they are confirmed never begins them: they
/// leave the books with this, or the executor would wait for their end for ever.
struct TakenRuns<'a> {
    books: &'a HeldRuns,
    runs: Vec<(Assignment, Cancel)>,
}

impl<'a> TakenRuns<'a> {
    fn hold(books: &'a HeldRuns, runs: Vec<Assignment>) -> TakenRuns<'a> {
        let held = runs.into_iter().map(|run| {
            let cancel = Cancel::default();
            books.begin(run.run_id, run.token, cancel.clone());
            (run, cancel)
        });
        TakenRuns { books, runs: held.collect() }
    }

    fn drop_lost(&mut self, lost: &[RunId]) {
        for (run, _) in self.runs.extract_if(.., |(run, _)| lost.contains(&run.run_id)) {
            self.books.end(run.run_id, run.token);
        }
    }

    fn into_runs(mut self) -> Vec<(Assignment, Cancel)> {
        std::mem::take(&mut self.runs)
    }
}

impl Drop for TakenRuns<'_> {
    fn drop(&mut self) {
        self.runs.iter().for_each(|(run, _)| self.books.end(run.run_id, run.token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assignment(number: u8) -> Assignment {
        let id = format!("0190a000-0000-7000-8000-0000000000{number:02}");
        let form = json!({
            "run_id": id, "job_id": id, "label": "x", "attempt": 1, "token": 7, "scheduled_for": null, "timeout": "1m",
            "tool_name": "noop", "tool_input": {}, "payload": null, "shard": null
        });
        serde_json::from_value(form).unwrap()
    }

    #[tokio::test]
    async fn runs_that_were_never_begun_keep_nobody_waiting() {
        let books = HeldRuns::new(4);
        drop(TakenRuns::hold(&books, vec![assignment(1), assignment(2)]));
        tokio::time::timeout(Duration::from_secs(5), books.idle()).await.expect("the books are empty");
        let mut taken = TakenRuns::hold(&books, vec![assignment(1), assignment(2)]);
        taken.drop_lost(&[assignment(1).run_id]);
        let begun: Vec<RunId> = taken.into_runs().iter().map(|(run, _)| run.run_id).collect();
        assert_eq!(begun, [assignment(2).run_id]);
        assert_eq!(books.held().len(), 1, "what is begun is in the books until it ends");
    }
}
