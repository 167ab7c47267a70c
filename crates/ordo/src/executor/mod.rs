//! `ordo executor`: runs work of a server elsewhere with the tools of this machine.

mod handler;

use std::path::Path;

use ordo_client::executor::{ExecutorOffer, RemoteExecutor};
use ordo_engine::Tools;

use crate::cli::Common;
use crate::cli::executor::ExecutorArgs;
use crate::config::{Config, Settings};
use crate::daemon::{logging, parts};
use crate::error::{Error, Exit, Result};
use crate::folder::StateFolder;
use crate::locate;
use handler::ToolHandler;

pub(crate) fn run(args: ExecutorArgs, common: &Common) -> Result<Exit> {
    let settings = Config::load(common.config.as_deref(), &[])?.settings;
    logging::begin(&settings, None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))?;
    runtime.block_on(work(args, common, &settings))
}

async fn work(args: ExecutorArgs, common: &Common, settings: &Settings) -> Result<Exit> {
    let mut signals = crate::daemon::signals::Signals::listen()?;
    let name = args.name.unwrap_or_else(default_name);
    let tools = tools(settings, &name, &args.tools).await?;
    let offer = ExecutorOffer {
        name: name.clone(),
        group: args.group.clone(),
        tools: tools.keys().cloned().collect(),
        capacity: args.capacity as usize,
    };
    let (server, others) = locate::servers(common)?;
    let targets: Vec<String> = std::iter::once(&server).chain(&others).map(|one| one.target().to_string()).collect();
    let targets = targets.join(", ");
    tracing::info!(name, group = args.group, capacity = args.capacity, server = targets, "executor started");
    eprintln!("ordo executor {name} works for {targets}");
    let executor = RemoteExecutor::of_cluster(server, others, offer);
    let executor = executor.with_grace(args.grace.to_std()).with_version(env!("CARGO_PKG_VERSION"));
    let leave = async {
        let signal = signals.next().await;
        tracing::info!(signal, "leaving: what runs may finish");
    };
    executor.run(ToolHandler::new(tools), leave).await?;
    tracing::info!("left");
    Ok(Exit::Done)
}

/// The tools on offer. What a former generation of this executor left running is ended first.
async fn tools(settings: &Settings, name: &str, wanted: &[String]) -> Result<Tools> {
    let folder = StateFolder::here();
    folder.make()?;
    let toolbox = parts::toolbox_in(settings, &folder.processes_of(name))?;
    match toolbox.sweep().await {
        Ok(0) => {}
        Ok(ended) => tracing::warn!(ended, "ended processes that a former generation left running"),
        Err(error) => tracing::error!(%error, "could not look for what a former generation left running"),
    }
    if let Some(unknown) = wanted.iter().find(|tool| toolbox.get(tool).is_none()) {
        return Err(Error::misused("--tools: not a tool of this executor").detail(toolbox.unknown(unknown)));
    }
    let mut tools = toolbox.into_tools();
    tools.retain(|tool, _| wanted.is_empty() || wanted.contains(tool));
    Ok(tools)
}

fn default_name() -> String {
    let host = std::fs::read_to_string(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "executor" } else { host };
    format!("{host}-{}", std::process::id())
}
