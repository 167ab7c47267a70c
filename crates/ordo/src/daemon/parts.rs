//! The parts of a daemon, each made or refused with what to do about it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ordo_engine::clock::{SharedClock, SkewedClock, SystemClock, new_id};
use ordo_engine::{Engine, EngineOptions};
use ordo_model::incident::Escalation;
use ordo_store::Store;
use ordo_tools::{Environment, Launcher, ProcessBook, Toolbox};
use ordo_xxl::Bridge;
use tokio::net::TcpListener;

use crate::config::{DEFAULT_NODE, Settings};
use crate::demo::Demo;
use crate::environment;
use crate::error::{Error, Result};
use crate::folder::{self, StateFolder, shown};
use crate::store_location::{self, OpenStore, StoreLocation};

pub(super) async fn store(settings: &Settings, folder: &StateFolder) -> Result<OpenStore> {
    let place = StoreLocation::of(&settings.store.path);
    if let StoreLocation::File(path) = &place {
        folder::make_for(path)?;
        refuse_emptied(path, folder)?;
    }
    let opened = place.open_once_there(settings.store.cache_bytes).await.map_err(|error| error.at_start(&place))?;
    // What would be refused later is refused now: a disk without room, a reindex that was killed.
    opened.store().try_write().await.map_err(|fault| Error::from(fault).at_start(&place))?;
    tracing::info!(store = %place.shown(), "store open");
    Ok(opened)
}

/// Pages are read from the standby, if one is configured, as soon as it can be read.
pub(super) fn follow_with_standby(settings: &Settings, store: &OpenStore, engine: &Engine) -> Result<()> {
    let Some(url) = settings.store.standby.clone() else { return Ok(()) };
    if matches!(store, OpenStore::File(_)) || !store_location::is_database(&url) {
        return Err(Error::misused("the configuration is refused")
            .detail("store.standby: the URL of a standby of the database that store.path names")
            .hint("leave it out where the store is a file"));
    }
    let engine = engine.clone();
    tokio::spawn(async move {
        match store_location::open_standby(&url).await {
            Ok(standby) => {
                tracing::info!(standby = %store_location::without_password(&url), "pages are read from the standby");
                engine.follow_with(standby);
            }
            Err(error) => tracing::error!(?error, "the standby is not used"),
        }
    });
    Ok(())
}

/// A store that was in use and is empty now was not new: whoever emptied it must say that it is to begin anew.
fn refuse_emptied(path: &Path, folder: &StateFolder) -> Result<()> {
    let is_empty = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0);
    if !is_empty || folder.read_token().is_none() {
        return Ok(());
    }
    Err(Error::failed(format!("{} is empty, and it was not before", shown(path)))
        .detail(format!(
            "there is a token in {}, so a store was in use here; 0 bytes are left of it",
            shown(folder.path())
        ))
        .hint("restore a backup in its place; to begin anew without what was in it, remove the empty file"))
}

/// A name that was not given must still be one node's among those that share a database: the machine's.
pub(super) fn node_name(settings: &Settings, store: &OpenStore) -> String {
    match store {
        OpenStore::Database(_) if settings.node == DEFAULT_NODE => {
            rustix::system::uname().nodename().to_string_lossy().into_owned()
        }
        OpenStore::Database(_) | OpenStore::File(_) => settings.node.clone(),
    }
}

/// Tests make the clocks of nodes differ by this variable.
const SKEW: &str = "ORDO_TEST_CLOCK_SKEW_MS";

fn clock() -> SharedClock {
    let skew = environment::var(SKEW).and_then(|text| text.parse().ok());
    match skew {
        Some(ms) => Arc::new(SkewedClock::new(ms)),
        None => Arc::new(SystemClock),
    }
}

pub(super) fn toolbox(settings: &Settings, folder: &StateFolder) -> Result<Toolbox> {
    toolbox_in(settings, &folder.processes())
}

/// The tools, with the records of what they start in this folder.
pub(crate) fn toolbox_in(settings: &Settings, processes: &Path) -> Result<Toolbox> {
    let book = ProcessBook::open(processes, new_id())
        .map_err(|error| Error::failed(format!("cannot use {}", shown(processes))).detail(error.to_string()))?;
    let inherited = environment::all().iter().map(|(name, value)| (name.clone(), value.clone()));
    let inherited = Environment::of(inherited, &settings.tools.shell.environment);
    let launcher = Launcher::this_program();
    tracing::info!(tracking = launcher.tracking(), "what a command starts is kept track of");
    Toolbox::builtin(settings.tools.clone().into(), book, inherited, launcher).map_err(|error| {
        Error::misused("the configuration is refused").detail(error.to_string().replace("tools.named.", "tools."))
    })
}

pub(super) fn escalations(settings: &Settings) -> Result<BTreeMap<String, Escalation>> {
    for (name, escalation) in &settings.escalation {
        escalation.validate().map_err(|invalid| {
            let field = invalid.field.replacen("escalation", &format!("escalation.{name}"), 1);
            Error::misused("the configuration is refused").detail(format!("{field}: {}", invalid.message))
        })?;
    }
    Ok(settings.escalation.clone())
}

/// The executors of XXL-JOB that the configuration lets in.
pub(super) async fn xxl(engine: &Engine, settings: &Settings) -> Result<Option<Bridge>> {
    settings.xxl.check().map_err(|why| Error::misused("the configuration is refused").detail(why.to_string()))?;
    Ok(Bridge::start(engine, &settings.xxl).await?)
}

pub(super) async fn listener(listen: &str) -> Result<TcpListener> {
    let bound = TcpListener::bind(listen).await.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program listens there: choose another with --listen 127.0.0.1:7071"
            }
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need more rights: choose another with --listen",
            _ => "write it as 127.0.0.1:7070",
        };
        let said = format!("cannot listen on {listen}");
        let refused = match error.kind() {
            // Not an address at all.
            std::io::ErrorKind::InvalidInput => Error::misused(said),
            _ => Error::failed(said),
        };
        refused.detail(error.to_string()).hint(advice)
    })?;
    if bound.local_addr().is_ok_and(|address| !address.ip().is_loopback()) {
        tracing::warn!(
            listen,
            "others can reach this port, and what is sent to it is not encrypted: put a proxy with TLS before it"
        );
    }
    Ok(bound)
}

/// In the demo the tools that pretend stand before those of this machine.
pub(super) async fn engine(
    store: Arc<dyn Store>,
    tools: Toolbox,
    options: EngineOptions,
    demo: Option<Demo>,
) -> Result<Engine> {
    // Also what was started by a tool that is no longer offered.
    match tools.sweep().await {
        Ok(0) => {}
        Ok(ended) => tracing::warn!(ended, "ended processes that a former generation left running"),
        Err(error) => tracing::error!(%error, "could not search for processes that a former generation left running"),
    }
    let (node, tick_rate) = (options.node.clone(), options.tick_rate);
    let tools = tools.into_tools();
    let tools = demo.map_or_else(|| tools.clone(), |demo| demo.tools(tools.clone()));
    let engine = Engine::start(store, tools, clock(), options).await?;
    tracing::info!(%node, %tick_rate, "engine started");
    Ok(engine)
}
