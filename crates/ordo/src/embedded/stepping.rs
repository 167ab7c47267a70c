//! Time is moved by hand: a month of a schedule in a moment.
//!
//! Invariant: every alarm on the way rings at its own time, in order, and its work is done before time goes on.

use std::time::Duration;

use ordo_engine::clock::SetClock;
use ordo_engine::run_list::RunFilter;
use ordo_model::job::RunStatus;
use ordo_model::{Millis, Timestamp};
use tokio::sync::broadcast::error::RecvError;

use super::{Error, Ordo};

/// How long the work of one moment may take, by the clock on the wall.
const PATIENCE: Duration = Duration::from_secs(30);

impl Ordo {
    /// Moves the clock on, from one alarm to the next, and lets everything that is due be done.
    pub async fn advance(&self, by: Duration) -> Result<(), Error> {
        let by = Millis::from_ms(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        self.advance_to(self.now().plus(by)).await
    }

    /// The same up to a moment.
    pub async fn advance_to(&self, end: Timestamp) -> Result<(), Error> {
        let clock = self.clock.clone().ok_or(Error::NotSettable)?;
        self.settle(&clock).await?;
        while let Some(next) = self.next_alarm(end).await? {
            clock.set(next.max(clock.at()));
            self.settle(&clock).await?;
        }
        clock.set(end.max(clock.at()));
        self.settle(&clock).await
    }

    async fn next_alarm(&self, until: Timestamp) -> Result<Option<Timestamp>, Error> {
        Ok(self.engine.queries().store().due(until, None, 1).await?.first().map(|due| due.at))
    }

    async fn is_quiet(&self, now: Timestamp) -> Result<bool, Error> {
        if self.next_alarm(now).await?.is_some() {
            return Ok(false);
        }
        let filter = RunFilter { status: RunStatus::code_of("running"), ..RunFilter::default() };
        Ok(self.engine.queries().runs(&filter, None, 1).await?.items.is_empty())
    }

    /// Waits until nothing is due and nothing runs.
    async fn settle(&self, clock: &SetClock) -> Result<(), Error> {
        tokio::time::timeout(PATIENCE, self.settled(clock)).await.unwrap_or(Err(Error::NotQuiet))
    }

    /// Looks whenever something was committed. What is due leads to a commit, and so does the end of what runs.
    async fn settled(&self, clock: &SetClock) -> Result<(), Error> {
        let mut hints = self.engine.watch();
        // Seen once it may be between two steps; seen again, after another turn of the core, it is so.
        let mut seen_quiet = false;
        loop {
            self.engine.look_at_the_clock();
            self.engine.idle().await;
            let is_quiet = self.is_quiet(clock.at()).await?;
            if is_quiet && seen_quiet {
                return Ok(());
            }
            // Lagging or not, it is time to look again; nothing more comes from an engine that is gone.
            if !is_quiet && matches!(hints.recv().await, Err(RecvError::Closed)) {
                return Err(Error::NotQuiet);
            }
            seen_quiet = is_quiet;
        }
    }
}
