//! The life of a daemon: take the folder and the store, start the engine, serve, and end in order.
//!
//! Invariant: nothing fires before everything it needs is there; nothing is let go before what runs has come to its
//! end or was recorded as ended.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use ordo_engine::{Engine, Options};
use ordo_server::{App, Auth, Node};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use super::signals::Signals;
use super::{Plan, logging, parts, service, socket};
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
    let store = parts::store(settings)?;
    let _taken = folder.take()?;
    let token = folder.token()?;
    let tools = parts::toolbox(settings, &folder)?;
    let (unix, socket_file) = socket::bind(&folder.socket())?;
    let tcp = match &plan.listen {
        Some(listen) => Some(parts::listener(listen).await?),
        None => None,
    };
    let options = Options {
        node: settings.node.clone(),
        group: settings.group.clone(),
        tick_rate: plan.tick_rate,
        pools: settings.pools.sizes(),
    };
    let engine = parts::engine(&store, tools, options).await?;
    let url = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()).map(|address| format!("http://{address}"));
    let shutdown = CancellationToken::new();
    let node = Node { name: settings.node.clone(), tick_rate: plan.tick_rate };
    let keeper = Arc::new(StoreKeeper::new(store, folder.clone()));
    let app = App::new(engine.clone(), Auth::token(&token), keeper, node);
    let work = async {
        app.set_ready(true);
        let place = url.unwrap_or_else(|| format!("unix:{}", shown(&folder.socket())));
        ready(&place);
        service::ready(&place);
        let _watchdog = service::watchdog(engine.clone());
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
    service::stopping();
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
