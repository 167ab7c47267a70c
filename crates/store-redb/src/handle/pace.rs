//! How commits and redb keep pace: what is handed over to the follower, and who waits for it.
//!
//! Invariant: whoever waits here holds the journal, so that nothing is added meanwhile, or waits for a record that was handed over.
//! Where there is no thread for redb, whoever would wait does what the thread would have done.

use std::convert::Infallible;

use ordo_store::Fault;
use tokio::sync::oneshot;

use super::Handle;
use crate::apply::Lasting;
use crate::follower::{Following, follow};
use crate::journal::Journal;
use crate::state::State;
use crate::sync::MutexGuard;

impl Handle {
    /// Waits until the journal has room for one more record and the overlay for its rows; hands over to the follower
    /// what should not wait until it comes by itself.
    pub(super) fn make_room(&self, journal: &mut Journal) -> Result<(), Fault> {
        let options = self.options;
        let mut state = self.shared.lock();
        let mut waiting_since = None;
        loop {
            state.expect_well()?;
            journal.freed(state.durable.record);
            let is_full = journal.is_full();
            let is_pressing = is_full || state.pending_bytes() >= options.pressing_bytes();
            let lasting = if is_pressing { Lasting::Durably } else { Lasting::Journaled };
            if state.active.is_worth(self.hand_over_bytes(&state)) || is_pressing && state.frozen.is_empty() {
                state.freeze(lasting);
                state = self.handed_over(state);
                continue;
            }
            let bytes = state.overlay_bytes();
            if (is_pressing || bytes >= options.burst_bytes()) && !state.frozen.is_empty() {
                state = self.follow_now(state);
            }
            // A batch that is too large alone is not kept waiting for ever.
            if !is_full && (bytes < options.overlay_bytes || bytes == 0) {
                break;
            }
            waiting_since.get_or_insert_with(options.micros);
            state = self.await_follower(state);
        }
        if let Some(since) = waiting_since {
            self.counters.waited((options.micros)().saturating_sub(since));
        }
        Ok(())
    }

    /// From so many bytes on the active overlay is handed over.
    fn hand_over_bytes(&self, state: &State) -> usize {
        let is_awaited =
            self.follower.following() == Following::AtOnce || (state.is_following && state.frozen.is_empty());
        if is_awaited { self.options.worth_bytes() } else { self.options.slice_bytes() }
    }

    /// Something is frozen: whoever takes it may have been waiting for it.
    fn handed_over<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        match self.follower.following() {
            Following::Beside => self.shared.notify(),
            Following::AtOnce => return self.follow_while(state, |_| true),
            Following::AfterCommits(_) => {}
        }
        state
    }

    /// Where there is no thread for redb: whoever needs it does what the thread would.
    fn follow_while<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        is_wanted: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        let began = (self.options.micros)();
        while state.to_follow().is_some() && is_wanted(&state) {
            drop(state);
            follow(&self.shared, self.options, &self.counters);
            state = self.shared.lock();
        }
        self.counters.waited((self.options.micros)().saturating_sub(began));
        state
    }

    /// Waits until redb has gone on.
    fn await_follower<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        match self.follower.following() {
            Following::Beside => self.shared.wait(state),
            Following::AtOnce | Following::AfterCommits(_) => {
                drop(state);
                follow(&self.shared, self.options, &self.counters);
                self.shared.lock()
            }
        }
    }

    /// redb is left alone no longer.
    fn follow_now<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if state.is_following {
            return state;
        }
        state.is_following = true;
        self.handed_over(state)
    }

    /// Waits until redb holds everything. The caller holds the journal, so that nothing is added.
    pub(super) fn drain(&self, lasting: Lasting) -> Result<(), Fault> {
        let mut state = self.shared.lock();
        loop {
            state.expect_well()?;
            if state.is_drained(lasting) {
                return Ok(());
            }
            self.refuse_damaged()?;
            state = match state.frozen.is_empty() {
                true => {
                    state.freeze(lasting);
                    state.is_following = true;
                    self.handed_over(state)
                }
                false => self.await_follower(self.follow_now(state)),
            };
        }
    }

    /// Hands everything over to the follower. What is returned ends when it is done with it, or has failed.
    pub(crate) fn begin_draining(&self, lasting: Lasting) -> Result<oneshot::Receiver<Infallible>, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        let state = self.shared.lock();
        state.expect_well()?;
        if state.is_drained(lasting) {
            return Ok(oneshot::channel().1);
        }
        self.refuse_damaged()?;
        let record = state.active.mark.record;
        Ok(self.begin_holding(state, record, lasting))
    }

    /// Hands over what redb needs to hold a record. The caller holds the journal.
    pub(super) fn begin_holding(
        &self,
        mut state: MutexGuard<'_, State>,
        record: u64,
        lasting: Lasting,
    ) -> oneshot::Receiver<Infallible> {
        let is_held = state.wait_until_held(record, lasting);
        state.is_following = true;
        let state = self.handed_over(state);
        if self.follower.following() != Following::Beside {
            drop(self.follow_while(state, |state| !state.waiting.is_empty()));
        }
        is_held
    }
}
