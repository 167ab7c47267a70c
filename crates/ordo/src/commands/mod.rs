//! What each command does, one file per family.

mod completions;
mod config;
mod cron;
mod executors;
mod find;
mod job;
mod pages;
mod run;
mod status;
mod store;
mod talk;

use crate::cli::{Cli, Command};
use crate::error::{Error, Exit, Result};
use talk::Talk;

pub(crate) fn run(cli: Cli) -> Result<Exit> {
    let Cli { common, command } = cli;
    match command {
        Command::Serve(args) => crate::daemon::serve(args, common.config.as_deref()),
        Command::Orchestrate(args) => crate::daemon::orchestrate(args, common.config.as_deref()),
        Command::Executor(args) => crate::executor::run(args, &common),
        Command::Executors => wait(executors::run(&Talk::new(&common))),
        Command::Job(command) => wait(job::run(&Talk::new(&common), command)),
        Command::Run(command) => wait(run::run(&Talk::new(&common), command)),
        Command::Cron(command) => cron::run(&command, common.output),
        Command::Store(command) => wait(store::run(&Talk::new(&common), command)),
        Command::Status => wait(status::run(&Talk::new(&common))),
        Command::Config => config::run(common.config.as_deref(), common.output),
        Command::Completions { shell } => completions::run(shell),
        Command::Bench(args) => crate::bench::run(&args),
    }
}

/// A command waits for one thing after the other: one thread is enough.
fn wait(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))?;
    runtime.block_on(command)
}
