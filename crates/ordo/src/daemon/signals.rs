//! The signals that end a daemon: the first asks, the second insists.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{Error, Result};

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals> {
        let listen =
            |kind| signal(kind).map_err(|error| Error::failed("cannot listen for signals").detail(error.to_string()));
        Ok(Signals { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// The next one, by name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
