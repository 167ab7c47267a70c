//! What each command does, one file per family.

pub(crate) mod about;
mod actor;
mod alerting;
mod audit;
mod confirm;
mod cron;
mod executors;
mod find;
mod forecast;
mod hook;
mod import;
mod job;
mod live;
mod node;
mod pages;
mod run;
mod secret;
mod store;
mod talk;
mod token;

use crate::cli::{Cli, OrdoCommand, executor};
use crate::error::{Error, Exit, Result};
use talk::CommandSession;

pub(crate) fn run(cli: Cli) -> Result<Exit> {
    let Cli { common, command } = cli;
    match command {
        OrdoCommand::Serve(args) => crate::daemon::serve(args, common.config.as_deref()),
        OrdoCommand::Orchestrate(args) => crate::daemon::orchestrate(args, common.config.as_deref()),
        OrdoCommand::Demo(args) => crate::demo::run(args),
        OrdoCommand::Executor(executor::ExecutorArgs { command: Some(command), .. }) => match command {
            executor::ExecutorSubcommand::Drain { executor } => {
                wait(executors::drain(&CommandSession::new(&common)?, &executor))
            }
        },
        OrdoCommand::Executor(args) => crate::executor::run(args, &common),
        OrdoCommand::Executors(watch) => wait(executors::run(&CommandSession::new(&common)?, watch)),
        OrdoCommand::Job(command) => wait(job::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Run(command) => wait(run::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Forecast(args) => wait(forecast::run(&CommandSession::new(&common)?, &args)),
        OrdoCommand::Incident(command) => wait(alerting::incident::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Notification(command) => {
            wait(alerting::notification::run(&CommandSession::new(&common)?, command))
        }
        OrdoCommand::Silence(command) => wait(alerting::silence::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Channel(command) => wait(alerting::channel::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Escalation(command) => wait(alerting::escalation::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Monitor(command) => wait(alerting::monitor::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Watch(args) => wait(alerting::watch::run(CommandSession::new(&common), &args)),
        OrdoCommand::Import(command) => wait(import::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Hook(command) => wait(hook::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Cron(command) => cron::run(&command, &common),
        OrdoCommand::Audit(args) => wait(audit::run(&CommandSession::new(&common)?, &args)),
        OrdoCommand::Secret(command) => wait(secret::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Store(command) => wait(store::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Node(command) => wait(node::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Subscription(command) => {
            wait(alerting::subscription::run(&CommandSession::new(&common)?, command))
        }
        OrdoCommand::Token(command) => wait(token::run(&CommandSession::new(&common)?, command)),
        OrdoCommand::Status(watch) => wait(live::status::run(&CommandSession::new(&common)?, watch)),
        OrdoCommand::Top(args) => wait(live::top::run(&CommandSession::new(&common)?, &args)),
        OrdoCommand::Open(args) => wait(live::open::run(&CommandSession::new(&common)?, &args)),
        OrdoCommand::Doctor => wait(about::doctor::run(&common)),
        OrdoCommand::Version => wait(about::version::run(&CommandSession::new(&common)?)),
        OrdoCommand::Man { dir } => about::man::run(dir.as_deref()),
        OrdoCommand::Config { keys: true } => about::config::keys(common.output),
        OrdoCommand::Config { keys: false } => about::config::run(common.config.as_deref(), common.output),
        OrdoCommand::Completions { shell } => about::completions::run(shell),
        OrdoCommand::Bench(args) => bench(&args),
    }
}

/// A command waits for one thing after the other: one thread is enough.
fn wait(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::failed("the system gives no resources").detail(error.to_string()))?;
    runtime.block_on(command)
}

fn bench(args: &ordo_bench::BenchArgs) -> Result<Exit> {
    let report = ordo_bench::run(args).map_err(|error| Error::failed(format!("{error:#}")))?;
    println!("{report:#}");
    Ok(Exit::Done)
}
