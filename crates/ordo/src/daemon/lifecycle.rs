//! The lifecycle of a daemon: take the folder and the store, start the engine, serve, and end in order.
//!
//! Invariant: nothing fires before everything it needs is there; nothing is let go before what runs has come to its
//! end or was recorded as ended. The engine has threads of its own: however many ask and read, what is due begins.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use ordo_engine::cluster::NodeDetails;
use ordo_engine::trace::Sampling;
use ordo_engine::{Engine, EngineOptions, Senders};
use ordo_server::{Adapters, App, Auth, NodeIdentity};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Handle, Runtime};
use tokio_util::sync::CancellationToken;

use super::mirror::ConfiguredMirror;
use super::senders::ConfiguredSenders;
use super::signals::Signals;
use super::socket::{self, SocketFile};
use super::{DaemonPlan, admin, logging, parts, service};
use crate::config::Settings;
use crate::demo::Demo;
use crate::error::{Error, Exit, Result};
use crate::folder::{self, StateFolder, shown};
use crate::key_file::KeyFile;
use crate::maintenance::StoreMaintenance;
use crate::telemetry::{self, Exporter};
use crate::zone_data;

pub(super) fn run(plan: DaemonPlan) -> Result<Exit> {
    let (spans, exporter) = telemetry::prepare(&plan.settings)?.unzip();
    logging::begin(&plan.settings, spans)?;
    // The demo has made a history with them already.
    if plan.demo.is_none()
        && let Some(warning) = zone_data::install(plan.settings.time.zones)
    {
        tracing::warn!("{warning}");
    }
    tracing::info!(zones = %ordo_model::zones::current(), "time zones are read");
    let work = threads("ordo-engine", Some(engine_threads()))?;
    let edge = threads("ordo-edge", None)?;
    edge.block_on(begin(plan, exporter, work.handle()))
}

/// Threads for the timekeeper, the dispatcher and the tools; batcher, writer and follower of an embedded store have theirs.
const ENGINE_THREADS_MAX: usize = 2;

/// One processor is left to all the others: where there are two, a second thread would mostly be woken in vain.
fn engine_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    processors.saturating_sub(1).clamp(1, ENGINE_THREADS_MAX)
}

/// Threads of this name: so many, or as many as the machine has processors.
fn threads(name: &'static str, count: Option<usize>) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(count) = count {
        builder.worker_threads(count);
    }
    let built = builder.thread_name(name).enable_all().build();
    built.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))
}

/// Begins something on other threads, where all that it spawns stays.
async fn on<T: Send + 'static>(work: &Handle, begun: impl Future<Output = T> + Send + 'static) -> T {
    let ended = work.spawn(begun).await;
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

async fn begin(plan: DaemonPlan, exporter: Option<Exporter>, work: &Handle) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let settings = &plan.settings;
    let mirror = ConfiguredMirror::open(settings).await?;
    let folder = StateFolder::here();
    folder.make()?;
    let (of_store, beside) = (settings.clone(), folder.clone());
    let opening = on(work, async move { parts::store(&of_store, &beside).await });
    let store = tokio::select! {
        opened = opening => opened?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped before the store was open");
            return Ok(Exit::Done);
        }
    };
    let _taken = folder.take()?;
    // Before the socket is there: as long as it is, the address is this daemon's.
    folder.forget_address()?;
    let tools = parts::toolbox(settings, &folder)?;
    let sockets = Sockets::bind(&folder, plan.listen.as_deref()).await?;
    let url = sockets.url();
    let exporting = exporter.map(Exporter::start);
    let keys = Arc::new(KeyFile::at(&settings.secrets.key_file));
    let senders = plan.demo.as_ref().map_or_else(Senders::default, Demo::senders);
    let outside = ConfiguredSenders::open(settings, senders, store.store(), keys.clone()).await?;
    let name = parts::node_name(settings, &store);
    let options = EngineOptions {
        node: name.clone(),
        keys,
        senders: outside.senders.clone(),
        ..engine_options(&plan, url.clone())?
    };
    let engine = on(work, parts::engine(store.store(), tools, options, plan.demo.clone())).await?;
    parts::follow_with_standby(settings, &store, &engine)?;
    // Before anybody is answered: no address is served without a token.
    let token = admin::admit(&engine, &folder, &name).await?;
    if let Some(address) = sockets.address() {
        folder.write_address(address)?;
    }
    let node = NodeIdentity { name, tick_rate: plan.tick_rate };
    let maintenance = Arc::new(StoreMaintenance::new(store, folder.clone()));
    let mirroring = mirror.start(&engine);
    let adapters = Adapters {
        mirror: mirroring.as_ref().map(|mirror| mirror.status.clone()),
        xxl: parts::xxl(&engine, settings).await?,
        ..outside.adapters()
    };
    let app = App::new(engine.clone(), Auth::token(token.text.expose()), maintenance, node)
        .below(&settings.serve.base_path)
        .limited(settings.limits.into())
        .with_adapters(adapters);
    let _following = outside.follow(engine.clone());
    let working = async {
        app.set_ready(true);
        let place = url.clone().unwrap_or_else(|| format!("unix:{}", shown(&folder.socket())));
        ready(&place, plan.demo.as_ref());
        let _fleet = plan.demo.as_ref().map(|demo| demo.start_executors(&folder.socket()));
        url.iter().for_each(|url| admin::say_how_to_log_in(url, &token, settings.log.format));
        service::ready(&place);
        let _watchdog = service::watchdog(engine.clone());
        wait(&mut signals, &app, &engine, settings).await;
    };
    sockets.serve_while(&app, working).await;
    if let Some(mirroring) = mirroring {
        mirroring.end().await;
    }
    if let Some(exporting) = exporting {
        exporting.end().await;
    }
    tracing::info!("stopped");
    Ok(Exit::Done)
}

/// Other programs wait for the first line; the second is for somebody who does this for the first time.
fn ready(place: impl std::fmt::Display, demo: Option<&Demo>) {
    eprintln!("ordo is ready at {place}");
    if let Some(demo) = demo {
        demo.greet();
    } else if std::io::stderr().is_terminal() {
        eprintln!("  now, in another terminal:  ordo job add hello --every 10s -- echo hi");
        eprintln!("  stop with Ctrl-C; everything is kept in {}", shown(Path::new(folder::NAME)));
    }
}

/// What the settings say of the engine; the rest is known when the store is open.
fn engine_options(plan: &DaemonPlan, url: Option<String>) -> Result<EngineOptions> {
    let settings = &plan.settings;
    Ok(EngineOptions {
        group: settings.group.clone(),
        tick_rate: plan.tick_rate,
        flush_delay: settings.outbox.flush_delay_ms,
        pools: settings.pools.sizes(),
        about: NodeDetails {
            roles: plan.roles,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url,
            ..NodeDetails::default()
        },
        sampling: Sampling::part(settings.telemetry.sample),
        escalations: plan.demo.as_ref().map_or_else(|| parts::escalations(settings), |demo| Ok(demo.escalations()))?,
        ..EngineOptions::default()
    })
}

/// Where the daemon is reached.
struct Sockets {
    unix: UnixListener,
    tcp: Option<TcpListener>,
    socket_file: SocketFile,
}

impl Sockets {
    async fn bind(folder: &StateFolder, listen: Option<&str>) -> Result<Sockets> {
        let (unix, socket_file) = socket::bind(&folder.socket())?;
        let tcp = match listen {
            Some(listen) => Some(parts::listener(listen).await?),
            None => None,
        };
        Ok(Sockets { unix, tcp, socket_file })
    }

    fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok())
    }

    fn url(&self) -> Option<String> {
        self.address().map(|address| format!("http://{address}"))
    }

    /// Until the work is over and what was asked has been answered.
    async fn serve_while(self, app: &App, work: impl Future<Output = ()>) {
        let Sockets { unix, tcp, socket_file } = self;
        let shutdown = CancellationToken::new();
        let ending = async {
            work.await;
            shutdown.cancel();
        };
        let socket = ordo_server::serve_unix(unix, app.clone(), shutdown.clone());
        match tcp {
            Some(tcp) => drop(tokio::join!(socket, ordo_server::serve_tcp(tcp, app.clone(), shutdown.clone()), ending)),
            None => drop(tokio::join!(socket, ending)),
        }
        drop(socket_file);
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
