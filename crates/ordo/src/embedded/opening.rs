//! From a path and some functions to a running Ordo.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use ordo_engine::clock::{SetClock, SharedClock, SystemClock};
use ordo_engine::tool::{Failure, Tool};
use ordo_engine::{Engine, EngineOptions, Tools};
use ordo_model::{Actor, ActorSource, Millis};
use ordo_store::Store;
use ordo_store_redb::RedbStore;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::handler::TypedHandler;
use super::layer::{Layer, Layered};
use super::{Call, Context, Error, Ordo, ToolKey};

/// What the events say of the program's commands: nobody else can give any.
const PROGRAM: &str = "program";

/// Where the store is.
pub(super) enum HostStore {
    File(PathBuf),
    Memory,
    #[cfg(feature = "postgres")]
    Database(String),
    #[cfg(feature = "postgres")]
    Pool {
        pool: ordo_store_postgres::deadpool_postgres::Pool,
        /// A URL to listen at.
        listen_at: Option<String>,
    },
}

impl HostStore {
    /// A URL may hold a password: it is not shown.
    const fn kind(&self) -> &'static str {
        match self {
            HostStore::File(_) => "file",
            HostStore::Memory => "memory",
            #[cfg(feature = "postgres")]
            HostStore::Database(_) => "database",
            #[cfg(feature = "postgres")]
            HostStore::Pool { .. } => "pool",
        }
    }
}

/// An Ordo that is about to start.
#[must_use = "nothing is opened before start"]
pub struct Opening {
    place: HostStore,
    layers: Vec<Layer>,
    tools: Tools,
    clock: Option<Arc<SetClock>>,
    options: EngineOptions,
    #[cfg(feature = "postgres")]
    schema: String,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening")
            .field("store", &self.place.kind())
            .field("tools", &self.tools.keys())
            .finish_non_exhaustive()
    }
}

impl Opening {
    pub(super) fn on(place: HostStore) -> Opening {
        Opening {
            place,
            layers: Vec::new(),
            tools: Tools::new(),
            clock: None,
            options: EngineOptions::default(),
            #[cfg(feature = "postgres")]
            schema: "ordo".to_owned(),
        }
    }

    /// The handler of a key: its input and its result have the key's types.
    ///
    /// ```
    /// # use ordo::{Context, Ordo, ToolKey};
    /// const DOUBLE: ToolKey<u32, u32> = ToolKey::new("double");
    /// # async fn example() -> Result<(), ordo::Error> {
    /// let ordo = Ordo::in_memory().handle(DOUBLE, |n, _: Context| async move { Ok::<_, String>(2 * n) }).start().await?;
    /// let job = ordo.ensure(DOUBLE.job("double-21", &21)).await?;
    /// let run = ordo.trigger(job.job().id).await?;
    /// assert_eq!(ordo.result(DOUBLE, run).await?, 42);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn handle<F, I, R, O, E>(self, key: ToolKey<I, O>, function: F) -> Opening
    where
        F: Fn(I, Context) -> R + Send + Sync + 'static,
        I: DeserializeOwned + Send + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize + Send + 'static,
        E: Display + Send + 'static,
    {
        self.tool(key.name(), function)
    }

    /// Middleware: called around every attempt of every tool, the first one added outermost.
    ///
    /// ```
    /// # use ordo::{Call, Ordo};
    /// let opening = Ordo::in_memory().layer(|call: Call| async move {
    ///     let tool = call.tool_name().to_owned();
    ///     let done = call.proceed().await;
    ///     println!("{tool}: {}", if done.is_ok() { "done" } else { "failed" });
    ///     done
    /// });
    /// ```
    pub fn layer<F, R>(mut self, layer: F) -> Opening
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        self.layers.push(Arc::new(move |call| Box::pin(layer(call))));
        self
    }

    /// The name of this node, where several share a database.
    pub fn node(mut self, name: impl Into<String>) -> Opening {
        self.options.node = name.into();
        self
    }

    /// The schema in the database of [`Ordo::postgres_with`]; with a URL it stands there, as `?schema=NAME`.
    #[cfg(feature = "postgres")]
    pub fn schema(mut self, name: impl Into<String>) -> Opening {
        self.schema = name.into();
        self
    }

    /// A URL to listen at for word of other programs on the database of [`Ordo::postgres_with`]: one connection more.
    #[cfg(feature = "postgres")]
    pub fn listen_at(mut self, url: impl Into<String>) -> Opening {
        if let HostStore::Pool { listen_at, .. } = &mut self.place {
            *listen_at = Some(url.into());
        }
        self
    }

    /// An async function as a tool. Its input is read before it is called; what it returns is kept as the result.
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
        let (store, schema) = self.place.open(self.schema_name()).await?;
        let tools = layered(self.tools, &self.layers.into());
        let clock: SharedClock = match &self.clock {
            Some(clock) => clock.clone(),
            None => Arc::new(SystemClock),
        };
        let engine = Engine::start(store, tools, clock, self.options).await?;
        let engine = engine.signed_by(&Actor::new(PROGRAM, ActorSource::Api));
        Ok(Ordo { engine, clock: self.clock, schema })
    }
}

impl Opening {
    fn schema_name(&self) -> &str {
        #[cfg(feature = "postgres")]
        return &self.schema;
        #[cfg(not(feature = "postgres"))]
        return "";
    }
}

impl HostStore {
    /// The store, and the schema if it is in a database.
    async fn open(&self, schema: &str) -> Result<(Arc<dyn Store>, Option<Arc<str>>), Error> {
        let _ = schema;
        Ok(match self {
            HostStore::File(path) => (Arc::new(RedbStore::open(path, ordo_store_redb::RedbOptions::default())?), None),
            HostStore::Memory => (Arc::new(RedbStore::in_memory()?), None),
            #[cfg(feature = "postgres")]
            HostStore::Database(url) => {
                use ordo_store_postgres::{PostgresOptions, PostgresStore};
                let store = PostgresStore::open(url, PostgresOptions::default()).await?;
                let schema = store.schema().into();
                (Arc::new(store), Some(schema))
            }
            #[cfg(feature = "postgres")]
            HostStore::Pool { pool, listen_at } => {
                let store = ordo_store_postgres::PostgresStore::open_with(pool, schema, listen_at.as_deref()).await?;
                (Arc::new(store), Some(schema.into()))
            }
        })
    }
}

/// Each tool with the layers around it.
fn layered(tools: Tools, layers: &Arc<[Layer]>) -> Tools {
    if layers.is_empty() {
        return tools;
    }
    let wrap = |(name, tool): (String, Arc<dyn Tool>)| {
        let around: Arc<dyn Tool> = Arc::new(Layered { name: name.as_str().into(), tool, layers: layers.clone() });
        (name, around)
    };
    tools.into_iter().map(wrap).collect()
}
