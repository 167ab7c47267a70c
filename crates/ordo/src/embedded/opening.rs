//! From a path and some functions to a running Ordo.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use ordo_engine::clock::{SetClock, SharedClock, SystemClock};
use ordo_engine::tool::Tool;
use ordo_engine::{Engine, EngineOptions, Tools};
use ordo_model::{Actor, ActorSource, Millis};
use ordo_store::Store;
use ordo_store_redb::RedbStore;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handler::TypedHandler;
use super::{Context, Error, Ordo};

/// What the events say of the program's commands: nobody else can give any.
const PROGRAM: &str = "program";

/// An Ordo that is about to start.
#[must_use = "nothing is opened before start"]
pub struct Opening {
    path: Option<PathBuf>,
    tools: Tools,
    clock: Option<Arc<SetClock>>,
    options: EngineOptions,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("path", &self.path).field("tools", &self.tools.keys()).finish_non_exhaustive()
    }
}

impl Opening {
    pub(super) fn at(path: Option<PathBuf>) -> Opening {
        Opening { path, tools: Tools::new(), clock: None, options: EngineOptions::default() }
    }

    /// An async function as a tool. Its input is read before it is called; what it answers is kept as the result.
    pub fn tool<F, I, R, O, E>(self, name: impl Into<String>, function: F) -> Opening
    where
        F: Fn(I, Context) -> R + Send + Sync + 'static,
        I: DeserializeOwned + Send + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize + Send + 'static,
        E: Display + Send + 'static,
    {
        self.raw_tool(name, TypedHandler::<F, I>::new(function))
    }

    /// Anything that is a tool.
    pub fn raw_tool(mut self, name: impl Into<String>, tool: impl Tool) -> Opening {
        self.tools.insert(name.into(), Arc::new(tool));
        self
    }

    /// How often the store is looked at for what is due soon; jobs fire at their exact time all the same.
    pub fn tick_rate(mut self, rate: std::time::Duration) -> Opening {
        self.options.tick_rate = Millis::from_ms(u64::try_from(rate.as_millis()).unwrap_or(u64::MAX).max(1));
        self
    }

    /// A clock that only moves when it is set: see [`Ordo::advance`].
    pub fn with_clock(mut self, clock: SetClock) -> Opening {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Opens the store, settles what a former generation left behind, and begins to fire.
    pub async fn start(self) -> Result<Ordo, Error> {
        let store: Arc<dyn Store> = match &self.path {
            Some(path) => Arc::new(RedbStore::open(path, ordo_store_redb::RedbOptions::default())?),
            None => Arc::new(RedbStore::in_memory()?),
        };
        let clock: SharedClock = match &self.clock {
            Some(clock) => clock.clone(),
            None => Arc::new(SystemClock),
        };
        let engine = Engine::start(store, self.tools, clock, self.options).await?;
        let engine = engine.signed_by(&Actor::new(PROGRAM, ActorSource::Api));
        Ok(Ordo { engine, clock: self.clock })
    }
}
