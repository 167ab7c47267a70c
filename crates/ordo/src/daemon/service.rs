//! What the service manager (systemd) is notified of: that the daemon is ready, that it stops, that it is healthy.
//!
//! Invariant: health is reported only after the engine's core has answered: a daemon that hangs falls silent and
//! is restarted.

use std::time::Duration;

use ordo_engine::Engine;
use sd_notify::NotifyState;
use tokio_util::task::AbortOnDropHandle;

/// How often within the manager's patience the core is asked: one answer may be late.
const QUESTIONS: u32 = 3;

pub(super) fn ready(place: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&format!("ready at {place}"))]);
}

pub(super) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("stopping: what runs may finish")]);
}

/// Says that all is well as long as it is, if the manager wants to hear it. Ends when dropped.
pub(super) fn watchdog(engine: Engine) -> Option<AbortOnDropHandle<()>> {
    let patience = sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero())?;
    let ask = move || {
        let engine = engine.clone();
        async move { engine.is_answering().await }
    };
    let attest = attest(patience / QUESTIONS, ask, || notify(&[NotifyState::Watchdog]));
    Some(AbortOnDropHandle::new(tokio::spawn(attest)))
}

async fn attest<F: Future<Output = bool>>(every: Duration, is_well: impl Fn() -> F, say: impl Fn()) {
    let mut turn = tokio::time::interval(every);
    turn.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        turn.tick().await;
        match tokio::time::timeout(every, is_well()).await {
            Ok(true) => say(),
            Ok(false) => tracing::error!("the engine's core is gone: the service manager will restart the daemon"),
            Err(_) => tracing::error!(waited = ?every, "the engine's core does not answer"),
        }
    }
}

/// Does nothing where no manager listens.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const EVERY: Duration = Duration::from_secs(1);

    /// How often it said to be well within ten and a half turns.
    async fn said<F: Future<Output = bool>>(is_well: impl Fn(u32) -> F) -> u32 {
        let (asked, said) = (Cell::new(0), Cell::new(0));
        let ask = || {
            asked.set(asked.get() + 1);
            is_well(asked.get())
        };
        let attesting = attest(EVERY, ask, || said.set(said.get() + 1));
        assert!(tokio::time::timeout(EVERY * 21 / 2, attesting).await.is_err(), "it never ends by itself");
        said.get()
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_that_answers_is_well() {
        assert_eq!(said(async |_| true).await, 11);
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_that_is_gone_or_hangs_is_not() {
        assert_eq!(said(async |_| false).await, 0);
        assert_eq!(said(async |_| std::future::pending().await).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_that_hangs_is_not_well_from_then_on_until_it_answers_again() {
        let hang = async |asked: u32| if (3..5).contains(&asked) { std::future::pending().await } else { true };
        let said = said(hang).await;
        assert!((8..=9).contains(&said), "{said}");
    }
}
