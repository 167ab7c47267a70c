//! What every handler has at hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ordo_engine::Engine;
use ordo_engine::clock::Stopwatch;
use ordo_model::{Millis, Timestamp};

use crate::adapters::Adapters;
use crate::api::maintenance::Maintenance;
use crate::auth::Auth;
use crate::http::rate::{RateLimits, Rates};
use crate::http::streams::OpenStreams;
use crate::http::streams::sse::Turns;
use crate::pages;

/// What the server says about itself.
#[derive(Debug, Clone)]
pub struct NodeIdentity {
    pub name: String,
    pub tick_rate: Millis,
}

/// The engine and what surrounds it on one node. A clone is the same one.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
#[derive(Clone)]
pub struct Parts {
    pub(crate) engine: Engine,
    pub(crate) auth: Arc<Auth>,
    pub(crate) maintenance: Arc<dyn Maintenance>,
    pub(crate) node: Arc<NodeIdentity>,
    pub(crate) adapters: Adapters,
    pub(crate) since: Stopwatch,
    pub(crate) rates: Arc<Rates>,
    /// What stands before every path: empty, or `/ordo` behind a proxy.
    pub(crate) base_path: Arc<str>,
    pub(crate) kept: Arc<pages::PageCaches>,
    pub(crate) streams: OpenStreams,
    pub(crate) turns: Arc<Turns>,
    ready: Arc<AtomicBool>,
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.0, f)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("node", &self.node).field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl App {
    /// Not ready yet: see [`App::set_ready`].
    pub fn new(engine: Engine, auth: Auth, maintenance: Arc<dyn Maintenance>, node: NodeIdentity) -> App {
        App(Arc::new(Parts {
            engine,
            auth: Arc::new(auth),
            maintenance,
            node: Arc::new(node),
            adapters: Adapters::default(),
            since: Stopwatch::start(),
            rates: Arc::new(Rates::new(RateLimits::default())),
            base_path: Arc::from(""),
            kept: Arc::default(),
            streams: OpenStreams::default(),
            turns: Arc::default(),
            ready: Arc::default(),
        }))
    }

    fn changed(self, change: impl FnOnce(&mut Parts)) -> App {
        let mut parts = Arc::unwrap_or_clone(self.0);
        change(&mut parts);
        App(Arc::new(parts))
    }

    /// The same, with other shares of requests.
    #[must_use]
    pub fn limited(self, limits: RateLimits) -> App {
        self.changed(|parts| parts.rates = Arc::new(Rates::new(limits)))
    }

    /// The same with those who stand between it and other systems.
    #[must_use]
    pub fn with_adapters(self, adapters: Adapters) -> App {
        self.changed(|parts| parts.adapters = adapters)
    }

    /// The same, reached below a path such as `/ordo`.
    #[must_use]
    pub fn below(self, base_path: &str) -> App {
        let trimmed = base_path.trim().trim_matches('/');
        let base_path = if trimmed.is_empty() { String::new() } else { format!("/{trimmed}") };
        self.changed(|parts| parts.base_path = base_path.into())
    }

    /// What `/readyz` answers from now on: whether this node is ready.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }
}
