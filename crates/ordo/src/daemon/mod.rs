//! `ordo serve` and `ordo orchestrate`: from flags to a running daemon.

mod admin;
mod journal;
mod lifecycle;
pub(crate) mod logging;
mod mirror;
pub(crate) mod parts;
mod senders;
mod service;
pub(crate) mod signals;
mod socket;

use std::path::Path;

use ordo_engine::cluster::Roles;
use ordo_model::Millis;

use crate::cli::daemon::{DaemonArgs, DaemonRole, LogFormat, OrchestrateArgs, ServeArgs};
use crate::config::{Config, Flag, Settings};
use crate::demo::Demo;
use crate::error::{Error, Exit, Result};
use crate::store_location::StoreLocation;

/// What kind of daemon to be.
#[derive(Debug)]
pub(crate) struct DaemonPlan {
    settings: Settings,
    /// None: only the socket.
    listen: Option<String>,
    tick_rate: Millis,
    roles: Roles,
    /// It is the demo: its fleet only pretends.
    demo: Option<Demo>,
}

pub(crate) fn serve(args: ServeArgs, file: Option<&Path>) -> Result<Exit> {
    let roles = roles(&args.roles);
    let mut flags = daemon_flags(args.daemon);
    put(&mut flags, "--listen", "serve.listen", args.listen);
    put(&mut flags, "--store", "store.path", args.store);
    put(&mut flags, "--tick-rate", "serve.tick_rate", args.tick_rate);
    let settings = Config::load(file, &flags)?.settings;
    refuse_split_roles(roles, &settings)?;
    // A node that is not asked anything needs no port: its socket is enough.
    let listen = roles.api.then(|| settings.serve.listen.clone());
    let tick_rate = settings.serve.tick_rate;
    lifecycle::run(DaemonPlan { settings, listen, tick_rate, roles, demo: None })
}

pub(crate) fn orchestrate(args: OrchestrateArgs, file: Option<&Path>) -> Result<Exit> {
    let mut flags = daemon_flags(args.daemon);
    put(&mut flags, "--db", "store.path", args.db);
    put(&mut flags, "--tick-rate", "orchestrate.tick_rate", args.tick_rate);
    let settings = Config::load(file, &flags)?.settings;
    let tick_rate = settings.orchestrate.tick_rate;
    lifecycle::run(DaemonPlan { settings, listen: None, tick_rate, roles: Roles::default(), demo: None })
}

/// The demo, in the current folder. What this machine is configured with is not for it: neither its store nor its channels.
pub(crate) fn demo(listen: String, demo: Demo) -> Result<Exit> {
    let flags = [
        ("--listen", "serve.listen", listen.clone()),
        ("--grace", "serve.grace", "0s".to_owned()),
        ("--log-level", "log.level", "error".to_owned()),
    ];
    let settings = Config::of_nothing_but(&flags)?.settings;
    let tick_rate = settings.serve.tick_rate;
    lifecycle::run(DaemonPlan { settings, listen: Some(listen), tick_rate, roles: Roles::default(), demo: Some(demo) })
}

fn daemon_flags(args: DaemonArgs) -> Vec<Flag> {
    let mut flags = Vec::new();
    put(&mut flags, "--node", "node", args.node);
    put(&mut flags, "--grace", "serve.grace", args.grace);
    put(&mut flags, "--log-level", "log.level", args.log_level);
    let format = args.log_format.map(|format| match format {
        LogFormat::Pretty => "pretty".to_owned(),
        LogFormat::Json => "json".to_owned(),
    });
    put(&mut flags, "--log-format", "log.format", format);
    flags
}

fn put(flags: &mut Vec<Flag>, name: &'static str, key: &'static str, value: Option<String>) {
    flags.extend(value.map(|value| (name, key, value)));
}

fn roles(given: &[DaemonRole]) -> Roles {
    Roles {
        api: given.contains(&DaemonRole::Api),
        timekeeper: given.contains(&DaemonRole::Timekeeper),
        executor: given.contains(&DaemonRole::Executor),
    }
}

fn refuse_split_roles(roles: Roles, settings: &Settings) -> Result<()> {
    if roles == Roles::default() || matches!(StoreLocation::of(&settings.store.path), StoreLocation::Database(_)) {
        return Ok(());
    }
    Err(Error::misused("roles cannot be split on the embedded store")
        .detail("one process has the file, so it does all of api, timekeeper and executor")
        .hint("leave out --roles, or share a database: --store postgres://…"))
}
