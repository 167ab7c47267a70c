//! Locks and signals of the parts whose races are looked for.
//!
//! Built with `--cfg shuttle` they are those of shuttle, which tries the orders in which threads may come; tokio's signal has its
//! likeness below, because shuttle cannot run tokio's.

#[cfg(shuttle)]
pub(crate) use likeness::Notify;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(not(shuttle))]
pub(crate) use tokio::sync::Notify;

#[cfg(shuttle)]
mod likeness {
    use std::collections::{BTreeSet, VecDeque};
    use std::future::poll_fn;
    use std::task::{Poll, Waker};

    use super::{Mutex, MutexGuard, PoisonError};

    /// As tokio documents its `Notify`: `notify_one` wakes who has waited longest or else leaves one permit, `notify_waiters` wakes
    /// all that wait and leaves none. Unlike tokio's, a wait that is given up after it was chosen does not hand its turn on.
    #[derive(Debug, Default)]
    pub(crate) struct Notify(Mutex<NotifyState>);

    #[derive(Debug, Default)]
    struct NotifyState {
        permit: bool,
        /// How often all were woken.
        rounds: u64,
        next: u64,
        waiting: VecDeque<(u64, Waker)>,
        chosen: BTreeSet<u64>,
    }

    impl Notify {
        pub(crate) fn notify_one(&self) {
            let mut state = self.lock();
            match state.waiting.pop_front() {
                Some((number, waker)) => {
                    state.chosen.insert(number);
                    drop(state);
                    waker.wake();
                }
                None => state.permit = true,
            }
        }

        pub(crate) fn notify_waiters(&self) {
            let mut state = self.lock();
            state.rounds += 1;
            let woken = std::mem::take(&mut state.waiting);
            drop(state);
            woken.into_iter().for_each(|(_, waker)| waker.wake());
        }

        /// Hears of all that are woken from its making on, and of a permit from its first poll on.
        pub(crate) fn notified(&self) -> impl Future<Output = ()> + Send + '_ {
            let (round, mut mine) = (self.lock().rounds, None);
            poll_fn(move |context| {
                let mut state = self.lock();
                let is_woken = match mine {
                    None => std::mem::take(&mut state.permit),
                    Some(number) => state.chosen.remove(&number),
                };
                if is_woken || state.rounds != round {
                    return Poll::Ready(());
                }
                let number = *mine.get_or_insert(state.next);
                state.next = state.next.max(number + 1);
                state.waiting.retain(|(other, _)| *other != number);
                state.waiting.push_back((number, context.waker().clone()));
                Poll::Pending
            })
        }

        fn lock(&self) -> MutexGuard<'_, NotifyState> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
