//! `ordo bench`: how fast this machine schedules and fires, as JSON. docs/benchmarks.md says how to read it.
//!
//! Invariant: everything measured goes through the same engine and store as in a daemon; figures that are compared
//! come from one run.

mod api;
mod bare;
mod database;
mod fire;
mod incidents;
mod mass;
mod nodes;
mod pools;
mod probe;
mod remote;
mod schedule;
mod stage;

use std::path::PathBuf;

use serde_json::{Value, json};

use stage::Ground;

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// What to measure
    #[arg(value_enum, default_value_t = Measurement::All)]
    what: Measurement,
    /// How many jobs the schedule and burst parts use
    #[arg(long, default_value_t = 20_000)]
    jobs: usize,
    /// How many jobs wait in the mass part
    #[arg(long, default_value_t = 1_000_000)]
    pending: usize,
    /// How many jobs fall due each second in the steady part; several, one after the other
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000])]
    per_second: Vec<usize>,
    /// How long each steady part lasts, in seconds
    #[arg(long, default_value_t = 20)]
    seconds: usize,
    /// The folder in which throw-away stores are made [default: the system's temporary folder]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The database in which throw-away schemas are made instead: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    store: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Measurement {
    /// Acknowledged schedulings per second, by one and by 64 clients, in batches, and a bare loop on the same engine beside them
    Schedule,
    /// The same by 64 clients of a real server over TCP, beside a bare handler and 64 callers of the engine alone
    Api,
    /// The bare handler that `api` is held against, until it is ended
    #[value(hide = true)]
    Bare,
    /// Many jobs due at one instant
    Burst,
    /// So many jobs every second
    Steady,
    /// One node and three on one database, with the same work; needs --store
    Nodes,
    /// Quick jobs beside 500 slow ones
    Pools,
    /// The same burst here and through a remote executor
    Remote,
    /// What acknowledging a change of an incident costs beside a commit of a job, and how fast news are handed on
    Incidents,
    /// A million jobs waiting: lateness, memory, time to restart
    Mass,
    All,
}

/// Measures what was asked for; the figures as JSON.
pub fn run(args: &BenchArgs) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ground = match &args.store {
        Some(url) if database::is_url(url) => Ground::Database(url.clone()),
        Some(other) => anyhow::bail!("{other} is not a database: write postgres://user@host/name, or use --dir"),
        None => Ground::Folder(args.dir.clone().unwrap_or_else(std::env::temp_dir)),
    };
    if args.what == Measurement::Bare {
        let Ground::Folder(folder) = &ground else {
            anyhow::bail!("the bare handler has the embedded store: use --dir")
        };
        runtime.block_on(bare::serve(folder))?;
        return Ok(Value::Null);
    }
    anyhow::ensure!(
        args.what != Measurement::Nodes || args.store.is_some(),
        "nodes share a database: say which with --store postgres://user@host/name"
    );
    anyhow::ensure!(!args.per_second.contains(&0), "at least one job each second is needed: --per-second 1 or more");
    let engine = if args.store.is_some() { "postgres" } else { "redb" };
    let wanted = |what| args.what == what || args.what == Measurement::All;
    let mut report = json!({ "version": env!("CARGO_PKG_VERSION"), "store": engine, "cores": cores() });
    if wanted(Measurement::Schedule) {
        report["schedule"] = runtime.block_on(schedule::measure(&ground, args.jobs))?;
    }
    if wanted(Measurement::Api) && args.store.is_none() {
        report["api"] = runtime.block_on(api::measure(&ground, args.jobs))?;
    }
    if wanted(Measurement::Burst) {
        report["burst"] = runtime.block_on(fire::burst(&ground, args.jobs))?;
    }
    if wanted(Measurement::Steady) {
        for per_second in &args.per_second {
            report[format!("steady_{per_second}")] =
                runtime.block_on(fire::steady(&ground, *per_second, args.seconds))?;
        }
    }
    if wanted(Measurement::Nodes) && args.store.is_some() {
        report["nodes"] = runtime.block_on(nodes::measure(&ground, args.jobs))?;
    }
    if wanted(Measurement::Incidents) {
        report["incidents"] = runtime.block_on(incidents::measure(&ground, args.jobs))?;
    }
    if wanted(Measurement::Pools) {
        report["pools"] = runtime.block_on(pools::measure(&ground, args.seconds))?;
    }
    if wanted(Measurement::Remote) {
        report["remote"] = runtime.block_on(remote::measure(&ground, args.jobs))?;
    }
    if wanted(Measurement::Mass) {
        report["mass"] = mass::measure(&runtime, &ground, args.pending, args.seconds)?;
    }
    Ok(report)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
