//! What every handler has at hand.
//!
//! Invariant: a command is given in somebody's name. The app of the router reads only; a handler that changes something
//! takes [`Signed`], or says whose name it is (`App::signed_by`).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::FromRequestParts;
use axum::http::request;
use ordo_engine::Engine;
use ordo_engine::clock::Stopwatch;
use ordo_model::incident::By;
use ordo_model::job::Invalid;
use ordo_model::{Actor, Millis, Timestamp};

use crate::adapters::Adapters;
use crate::api::maintenance::Maintenance;
use crate::auth::Auth;
use crate::auth::caller::Caller;
use crate::http::rate::{RateLimits, Rates};
use crate::http::streams::OpenStreams;
use crate::http::streams::sse::Turns;
use crate::http::trace::request_span::request_id;
#[cfg(feature = "dashboard")]
use crate::pages;

/// What the server says about itself.
#[derive(Debug, Clone)]
pub struct NodeIdentity {
    pub name: String,
    pub tick_rate: Millis,
}

/// The engine and what surrounds it on one node. A clone is the same one.
#[derive(Clone)]
pub struct App {
    pub(crate) engine: Engine,
    /// In whose name commands are given through the engine.
    actor: Option<Arc<Actor>>,
    parts: Arc<Parts>,
}

/// The app in the hands of whoever asks: what is changed through it carries the actor of the request.
pub(crate) struct Signed(pub(crate) App);

impl FromRequestParts<App> for Signed {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut request::Parts, app: &App) -> Result<Signed, Infallible> {
        let caller = parts.extensions.get::<Caller>();
        let actor = caller.map(|caller| caller.actor().with_request(request_id(&parts.extensions)));
        Ok(Signed(actor.map_or_else(|| app.clone(), |actor| app.signed_by(actor))))
    }
}

/// What an [`App`] is made of.
#[derive(Clone)]
pub struct Parts {
    pub(crate) auth: Arc<Auth>,
    pub(crate) maintenance: Arc<dyn Maintenance>,
    pub(crate) node: Arc<NodeIdentity>,
    pub(crate) adapters: Adapters,
    pub(crate) since: Stopwatch,
    pub(crate) rates: Arc<Rates>,
    /// What stands before every path: empty, or `/ordo` behind a proxy.
    pub(crate) base_path: Arc<str>,
    #[cfg(feature = "dashboard")]
    pub(crate) kept: Arc<pages::PageCaches>,
    pub(crate) streams: OpenStreams,
    pub(crate) turns: Arc<Turns>,
    ready: Arc<AtomicBool>,
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.parts, f)
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
        let parts = Parts {
            auth: Arc::new(auth),
            maintenance,
            node: Arc::new(node),
            adapters: Adapters::default(),
            since: Stopwatch::start(),
            rates: Arc::new(Rates::new(RateLimits::default())),
            base_path: Arc::from(""),
            #[cfg(feature = "dashboard")]
            kept: Arc::default(),
            streams: OpenStreams::default(),
            turns: Arc::default(),
            ready: Arc::default(),
        };
        App { engine: engine.unsigned(), actor: None, parts: Arc::new(parts) }
    }

    /// The same for somebody who only looks: what is read may be a moment old.
    #[must_use]
    pub(crate) fn only_looking(&self) -> App {
        App { engine: self.engine.only_looking(), ..self.clone() }
    }

    /// The same in somebody's hands.
    #[must_use]
    pub(crate) fn signed_by(&self, actor: Actor) -> App {
        App { engine: self.engine.signed_by(&actor), actor: Some(Arc::new(actor)), parts: self.parts.clone() }
    }

    /// The same, in the hands of somebody who acts for another.
    pub(crate) fn on_behalf_of(&self, whom: Option<String>) -> Result<App, Invalid> {
        match (&self.actor, whom) {
            (Some(actor), Some(whom)) => Ok(self.signed_by(Actor::clone(actor).on_behalf_of(Some(whom))?)),
            (None, _) | (_, None) => Ok(self.clone()),
        }
    }

    /// In whose hands it is, as an incident writes it down.
    pub(crate) fn by(&self) -> By {
        self.actor.as_deref().map_or_else(|| By::of(&Actor::unknown()), By::of)
    }

    fn changed(self, change: impl FnOnce(&mut Parts)) -> App {
        let App { engine, actor, parts } = self;
        let mut parts = Arc::unwrap_or_clone(parts);
        change(&mut parts);
        App { engine, actor, parts: Arc::new(parts) }
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
