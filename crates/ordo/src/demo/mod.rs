//! `ordo demo`: a throw-away server with a made-up fleet and a week of history, for whoever wants to look around.
//!
//! Invariant: the demo reads no configuration, touches no store but its own, starts no process and calls no address; its
//! folder is gone when it ends.

mod agenda;
mod fleet;
mod history;
mod pretend;
mod sender;
mod set_time;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use ordo_client::executor::{ExecutorOffer, RemoteExecutor};
use ordo_client::{Client, Target};
use ordo_engine::clock::{Clock, SystemClock};
use ordo_engine::{Senders, Tools};
use ordo_model::Timestamp;
use ordo_model::incident::Escalation;
use tokio_util::task::AbortOnDropHandle;

use crate::cli::daemon::DemoArgs;
use crate::daemon;
use crate::error::{Error, Exit, Result};
use crate::executor::ToolHandler;
use crate::folder::StateFolder;
use fleet::Fleet;
use pretend::{DemoTime, Pretend};

/// Where the demo listens if nobody says otherwise and nobody else does.
const LISTEN: &str = "127.0.0.1:7070";

/// What a daemon needs to know to be the demo.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    fleet: Arc<Fleet>,
    started: Timestamp,
}

pub(crate) fn run(args: DemoArgs) -> Result<Exit> {
    let listen = args.listen.unwrap_or_else(free_address);
    let folder = tempfile::Builder::new().prefix("ordo-demo-").tempdir().map_err(|error| no_folder(&error))?;
    let came_from = std::env::current_dir();
    std::env::set_current_dir(folder.path()).map_err(|error| no_folder(&error))?;
    eprintln!("making a week of history …");
    let demo = Demo { fleet: Arc::new(Fleet::read()), started: SystemClock.now() };
    demo.make_history(&StateFolder::here())?;
    let ended = daemon::demo(listen, demo);
    // Best effort: the folder is removed from wherever this process stands.
    drop(came_from.map(std::env::set_current_dir));
    folder.close().map_err(|error| no_folder(&error))?;
    eprintln!("the demo is over; nothing of it is left");
    ended
}

/// The usual one, unless somebody listens there.
fn free_address() -> String {
    match TcpListener::bind(LISTEN) {
        Ok(_) => LISTEN.to_owned(),
        Err(_) => "127.0.0.1:0".to_owned(),
    }
}

fn no_folder(error: &std::io::Error) -> Error {
    Error::failed("the folder of the demo cannot be used").detail(error.to_string())
}

impl Demo {
    fn make_history(&self, folder: &StateFolder) -> Result<()> {
        // One thread: whoever wakes somebody else up hands over to it at once.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))?;
        let store = runtime.block_on(history::make(self.fleet.clone(), self.started))?;
        folder.make()?;
        Ok(store.backup(&folder.database(), &mut |_, _| {})?)
    }

    /// The tools of the demo around those of the machine: for other jobs these are used.
    pub(crate) fn tools(&self, mut tools: Tools) -> Tools {
        for name in ["shell", "http"] {
            if let Some(real) = tools.remove(name) {
                tools.insert(name.to_owned(), Arc::new(self.pretend(Some(real))));
            }
        }
        tools
    }

    fn pretend(&self, real: Option<Arc<dyn ordo_engine::tool::Tool>>) -> Pretend {
        Pretend { fleet: self.fleet.clone(), started: self.started, pace: DemoTime::Real, real }
    }

    /// What whoever started it does next.
    pub(crate) fn greet(&self) {
        let here = std::env::current_dir().unwrap_or_default();
        eprintln!("  a made-up fleet with a week of history: its jobs only pretend to work");
        eprintln!("  in another terminal:       cd {} && ordo incident list", here.display());
        eprintln!("  Ctrl-C ends the demo and removes all of it");
    }

    pub(crate) fn senders(&self) -> Senders {
        history::senders()
    }

    pub(crate) fn escalations(&self) -> BTreeMap<String, Escalation> {
        history::escalations(&self.fleet)
    }

    /// The executors of the fleet, in this process: they dial in like any other. They end when dropped.
    pub(crate) fn start_executors(&self, socket: &Path) -> Vec<AbortOnDropHandle<()>> {
        let start = |executor: &fleet::FleetExecutor| {
            let offer = ExecutorOffer {
                name: executor.name.clone(),
                group: executor.group.clone(),
                tools: executor.tools.clone(),
                capacity: executor.capacity,
            };
            let tools: Tools =
                executor.tools.iter().map(|tool| (tool.clone(), Arc::new(self.pretend(None)) as _)).collect();
            let client = Client::new(Target::Socket(socket.to_owned()), None);
            let executor = RemoteExecutor::new(client, offer).with_version(env!("CARGO_PKG_VERSION"));
            AbortOnDropHandle::new(tokio::spawn(async move {
                if let Err(error) = executor.run(ToolHandler::new(tools), std::future::pending()).await {
                    tracing::warn!(%error, "an executor of the demo is gone");
                }
            }))
        };
        self.fleet.executors.iter().map(start).collect()
    }
}
