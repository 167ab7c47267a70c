//! The parts of a daemon, each made or refused with what to do about it.

use std::path::Path;
use std::sync::Arc;

use ordo_engine::clock::{SystemClock, new_id};
use ordo_engine::{Engine, Options};
use ordo_store_redb::RedbStore;
use ordo_tools::{Environment, ProcessBook, Toolbox};
use tokio::net::TcpListener;

use crate::config::Settings;
use crate::error::{Error, Result};
use crate::folder::{Folder, shown};

pub(super) fn store(settings: &Settings) -> Result<Arc<RedbStore>> {
    let path = &settings.store.path;
    if path.to_string_lossy().starts_with("postgres") {
        return Err(
            Error::failed("PostgreSQL is not part of this version").hint("name a file with --store, or leave it out")
        );
    }
    let options = ordo_store_redb::Options { cache_bytes: settings.store.cache_bytes };
    let store = RedbStore::open(path, options)?;
    tracing::info!(store = %shown(path), "store open");
    Ok(Arc::new(store))
}

pub(super) fn toolbox(settings: &Settings, folder: &Folder) -> Result<Toolbox> {
    toolbox_in(settings, &folder.processes())
}

/// The tools, with the records of what they start in this folder.
pub(crate) fn toolbox_in(settings: &Settings, processes: &Path) -> Result<Toolbox> {
    let book = ProcessBook::open(processes, new_id())
        .map_err(|error| Error::failed(format!("cannot use {}", shown(processes))).detail(error.to_string()))?;
    Toolbox::builtin(settings.tools.clone().into(), book, Environment::of_this_process()).map_err(|error| {
        Error::failed("the configuration is refused").detail(error.to_string().replace("tools.named.", "tools."))
    })
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
        Error::failed(format!("cannot listen on {listen}")).detail(error.to_string()).hint(advice)
    })?;
    if bound.local_addr().is_ok_and(|address| !address.ip().is_loopback()) {
        tracing::warn!(
            listen,
            "others can reach this port, and what is sent to it is not encrypted: put a proxy with TLS before it"
        );
    }
    Ok(bound)
}

pub(super) async fn engine(store: &Arc<RedbStore>, tools: Toolbox, options: Options) -> Result<Engine> {
    // Also what was started by a tool that is no longer offered.
    match tools.sweep().await {
        Ok(0) => {}
        Ok(ended) => tracing::warn!(ended, "ended processes that a former life left running"),
        Err(error) => tracing::error!(%error, "could not look for what a former life left running"),
    }
    let (node, tick_rate) = (options.node.clone(), options.tick_rate);
    let engine = Engine::start(store.clone(), tools.into_tools(), Arc::new(SystemClock), options).await?;
    tracing::info!(%node, %tick_rate, "engine started");
    Ok(engine)
}
