//! The life of a daemon: take the folder and the store, start the engine, serve, and end in order.
//!
//! Invariant: nothing fires before everything it needs is there; nothing is let go before what runs has come to its
//! end or was recorded as ended.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use ordo_engine::clock::{SystemClock, new_id};
use ordo_engine::{Engine, Options};
use ordo_server::{App, Auth, Node};
use ordo_store_redb::RedbStore;
use ordo_tools::{Environment, ProcessBook, Toolbox};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use super::signals::Signals;
use super::{Plan, logging, socket};
use crate::config::Settings;
use crate::error::{Error, Exit, Result};
use crate::folder::{self, Folder, shown};
use crate::maintenance::StoreKeeper;

pub(super) fn live(plan: Plan) -> Result<Exit> {
    logging::begin(&plan.settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))?;
    runtime.block_on(begin(plan))
}

async fn begin(plan: Plan) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let settings = &plan.settings;
    let folder = Folder::here();
    folder.make()?;
    let store = open_store(settings)?;
    let _taken = folder.take()?;
    let token = folder.token()?;
    let tools = toolbox(settings, &folder)?;
    let (unix, socket_file) = socket::bind(&folder.socket())?;
    let tcp = match &plan.listen {
        Some(listen) => Some(bind(listen).await?),
        None => None,
    };
    let options = Options { node: settings.node.clone(), tick_rate: plan.tick_rate, pools: settings.pools.sizes() };
    let engine = start(&store, tools, options).await?;
    let url = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()).map(|address| format!("http://{address}"));
    let shutdown = CancellationToken::new();
    let node = Node { name: settings.node.clone(), tick_rate: plan.tick_rate };
    let keeper = Arc::new(StoreKeeper::new(store, folder.clone()));
    let app = App::new(engine.clone(), Auth::token(&token), keeper, node);
    let work = async {
        app.set_ready(true);
        ready(url.unwrap_or_else(|| format!("unix:{}", shown(&folder.socket()))));
        wait(&mut signals, &app, &engine, settings).await;
        shutdown.cancel();
    };
    tokio::join!(serve(&app, unix, tcp, &shutdown), work);
    drop(socket_file);
    tracing::info!("stopped");
    Ok(Exit::Done)
}

/// Other programs wait for the first line; the second is for somebody who does this for the first time.
fn ready(place: impl std::fmt::Display) {
    eprintln!("ordo is ready at {place}");
    if std::io::stderr().is_terminal() {
        eprintln!("  now, in another terminal:  ordo job add hello --every 10s -- echo hi");
        eprintln!("  stop with Ctrl-C; everything is kept in {}", shown(Path::new(folder::NAME)));
    }
}

fn open_store(settings: &Settings) -> Result<Arc<RedbStore>> {
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

fn toolbox(settings: &Settings, folder: &Folder) -> Result<Toolbox> {
    let processes = folder.processes();
    let book = ProcessBook::open(&processes, new_id())
        .map_err(|error| Error::failed(format!("cannot use {}", shown(&processes))).detail(error.to_string()))?;
    Toolbox::builtin(settings.tools.clone().into(), book, Environment::of_this_process()).map_err(|error| {
        Error::failed("the configuration is refused").detail(error.to_string().replace("tools.named.", "tools."))
    })
}

async fn bind(listen: &str) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program listens there: choose another with --listen 127.0.0.1:7071"
            }
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need more rights: choose another with --listen",
            _ => "write it as 127.0.0.1:7070",
        };
        Error::failed(format!("cannot listen on {listen}")).detail(error.to_string()).hint(advice)
    })
}

async fn start(store: &Arc<RedbStore>, tools: Toolbox, options: Options) -> Result<Engine> {
    // Also what was started by a tool that is no longer offered.
    if let Err(error) = tools.sweep().await {
        tracing::error!(%error, "could not look for what a former life left running");
    }
    let (node, tick_rate) = (options.node.clone(), options.tick_rate);
    let engine = Engine::start(store.clone(), tools.into_tools(), Arc::new(SystemClock), options).await?;
    tracing::info!(%node, %tick_rate, "engine started");
    Ok(engine)
}

/// Until the shutdown fires and what was asked has been answered.
async fn serve(app: &App, unix: UnixListener, tcp: Option<TcpListener>, shutdown: &CancellationToken) {
    let socket = ordo_server::serve_unix(unix, app.clone(), shutdown.clone());
    match tcp {
        Some(tcp) => drop(tokio::join!(socket, ordo_server::serve_tcp(tcp, app.clone(), shutdown.clone()))),
        None => socket.await,
    }
}

/// Until a signal; then until what runs has ended, or a second signal.
async fn wait(signals: &mut Signals, app: &App, engine: &Engine, settings: &Settings) {
    let signal = signals.next().await;
    app.set_ready(false);
    let grace = settings.serve.grace;
    let running: usize = engine.load().await.pools.iter().map(|(_, running, _)| running).sum();
    tracing::info!(signal, running, %grace, "stopping: what runs may finish; the same signal again ends it now");
    let insisted = tokio::select! {
        () = engine.shutdown(grace.to_std()) => false,
        _ = signals.next() => true,
    };
    if insisted {
        tracing::warn!("stopping now");
        engine.shutdown(std::time::Duration::ZERO).await;
    }
}
