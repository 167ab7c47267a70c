//! Waits for a future that does not wait: the inline store answers at once.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The answer of a future that is ready when it is asked.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("nothing in the simulated world waits for another thread"),
    }
}
