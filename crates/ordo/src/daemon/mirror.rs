//! The mirror of all events in KurrentDB, where one is configured and this binary has it.
//!
//! Invariant: a mirror that was asked for is there, or the daemon does not start.

use ordo_engine::Engine;
use ordo_engine::mirror::MirrorStatus;
use tokio::sync::watch;

use crate::config::Settings;
use crate::error::{Error, Result};

/// What the configuration asks for.
pub(super) struct ConfiguredMirror(Option<target::MirrorTarget>);

impl ConfiguredMirror {
    pub(super) async fn open(settings: &Settings) -> Result<ConfiguredMirror> {
        match settings.sinks.kurrentdb.connection.as_deref().filter(|text| !text.trim().is_empty()) {
            Some(connection) => target::open(connection).await.map(|target| ConfiguredMirror(Some(target))),
            None => Ok(ConfiguredMirror(None)),
        }
    }

    /// Begins to mirror what the engine writes.
    pub(super) fn start(self, engine: &Engine) -> Option<Mirroring> {
        self.0.map(|target| target::start(target, engine))
    }
}

/// A mirror at work.
pub(super) struct Mirroring {
    pub(super) status: watch::Receiver<MirrorStatus>,
    #[cfg(feature = "kurrentdb")]
    running: target::Running,
}

fn refused(why: impl Into<String>) -> Error {
    Error::misused("the configuration is refused").detail(why)
}

#[cfg(feature = "kurrentdb")]
mod target {
    use std::time::Duration;

    use ordo_kurrentdb::{Feed, Mirror};
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    use super::{Engine, Error, Mirroring, Result, refused};

    pub(super) use ordo_kurrentdb::MirrorTarget;

    /// How long the last words of a mirror may hold up the end of the daemon.
    const FAREWELL: Duration = Duration::from_secs(2);

    pub(super) struct Running {
        stop: CancellationToken,
        task: JoinHandle<()>,
    }

    pub(super) async fn open(connection: &str) -> Result<MirrorTarget> {
        let wrong = |error: ordo_kurrentdb::BadConnection| -> Error {
            refused(format!("sinks.kurrentdb.connection: {error}"))
                .hint("write it as kurrentdb://USER:PASSWORD@HOST:2113, with ?tls=false where it is not encrypted")
        };
        let target = MirrorTarget::parse(connection).map_err(wrong)?;
        target.check().await.map_err(wrong)?;
        Ok(target)
    }

    pub(super) fn start(target: MirrorTarget, engine: &Engine) -> Mirroring {
        let (mirror, status) = Mirror::new(Feed::of(engine), target);
        let stop = CancellationToken::new();
        let task = tokio::spawn(mirror.run(stop.clone()));
        Mirroring { status, running: Running { stop, task } }
    }

    impl Mirroring {
        /// Keeps how far it has come, if that does not take too long.
        pub(in super::super) async fn end(mut self) {
            self.running.stop.cancel();
            if tokio::time::timeout(FAREWELL, &mut self.running.task).await.is_err() {
                self.running.task.abort();
                tracing::warn!("how far the mirror has come could not be kept in time; some of it is mirrored again");
            }
        }
    }
}

#[cfg(not(feature = "kurrentdb"))]
mod target {
    use super::{Engine, Mirroring, Result, refused};

    /// There is none.
    pub(super) type MirrorTarget = std::convert::Infallible;

    pub(super) async fn open(_connection: &str) -> Result<MirrorTarget> {
        Err(refused("sinks.kurrentdb.connection: this binary was built without the mirror to KurrentDB")
            .hint("build one that has it: cargo build --release -p ordo --features kurrentdb"))
    }

    pub(super) fn start(target: MirrorTarget, _engine: &Engine) -> Mirroring {
        match target {}
    }

    impl Mirroring {
        pub(in super::super) async fn end(self) {
            drop(self.status);
        }
    }
}
