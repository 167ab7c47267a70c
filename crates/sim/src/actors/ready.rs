//! Waits for a future that does not wait: the inline store answers at once.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The output of a future that is ready when it is polled.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("nothing in the simulated world waits for another thread"),
    }
}
