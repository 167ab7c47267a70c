//! Locks, channels and threads as this crate uses them.
//!
//! Built with `--cfg shuttle` they are those of shuttle, which tries the orders in which threads may come (`handle/races.rs`). Counters
//! alone stay those of the standard library: nobody decides anything by them.

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError, atomic, mpsc};
#[cfg(shuttle)]
pub(crate) use shuttle::thread;
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError, atomic, mpsc};
#[cfg(not(shuttle))]
pub(crate) use std::thread;
