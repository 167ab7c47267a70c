//! What can be typed. Only the words; what they do is in `commands`.

pub(crate) mod alerting;
pub(crate) mod cron;
pub(crate) mod daemon;
pub(crate) mod executor;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod job;
pub(crate) mod node;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod values;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ordo_model::zones::Zones;

const AFTER: &str = "\
First steps:
  ordo serve                                   the daemon; leave it running
  ordo job add hello --every 10s -- echo hi    in another terminal
  ordo run list                                what ran
  ordo run logs -f hello                       what it says

Exit codes: 0 done, 1 refused or failed, 2 misused, 3 no server.";

/// What `--version` says; `-V` says only the first line.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\ntime zones {}", env!("CARGO_PKG_VERSION"), Zones::bundled()));

/// Runs jobs on time and lets people know when it could not.
#[derive(Debug, Parser)]
#[command(name = "ordo", version, long_version = LONG_VERSION.as_str(), after_help = AFTER, propagate_version = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: OrdoCommand,
}

/// Understood by every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// How to print data
    #[arg(long, short, global = true, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// The daemon to talk to: https://…, http://… or unix:PATH [default: the socket in .ordo here or above, then http://127.0.0.1:7070]
    #[arg(long, global = true, env = "ORDO_SERVER", value_name = "URL", hide_env_values = true)]
    pub(crate) server: Option<String>,
    /// Trust the authority with this certificate (PEM) too when talking to a daemon over https://
    #[arg(long, global = true, env = "ORDO_CA_FILE", value_name = "FILE", hide_env_values = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// Another configuration file than ./ordo.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Ndjson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrdoCommand {
    /// Run the daemon: scheduler, executor and HTTP API
    Serve(daemon::ServeArgs),
    /// Run the daemon without a network port: only the socket in .ordo
    Orchestrate(daemon::OrchestrateArgs),
    /// Run the work of a daemon elsewhere: name it, or several nodes of a cluster (URL,URL), with --server
    Executor(executor::ExecutorArgs),
    /// Who runs the work, here and elsewhere
    Executors,
    /// Add, look at and change jobs
    #[command(subcommand, visible_alias = "jobs")]
    Job(job::JobSubcommand),
    /// Look at runs, their logs, cancel or repeat them
    #[command(subcommand, visible_alias = "runs")]
    Run(run::RunCommand),
    /// Import jobs from cron, systemd, Kubernetes, Quartz, GitHub Actions or Dkron
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Let others start jobs: addresses for webhooks, and what came in
    #[command(subcommand, visible_alias = "hooks")]
    Hook(hook::HookSubcommand),
    /// Start and work on incidents
    #[command(subcommand, visible_alias = "incidents")]
    Incident(alerting::incident::IncidentSubcommand),
    /// See which notifications were sent, and replay those that could not be delivered
    #[command(subcommand, visible_alias = "notifications")]
    Notification(alerting::notification::NotificationSubcommand),
    /// Expect a sign of life from work that runs elsewhere
    #[command(subcommand, visible_alias = "monitors")]
    Monitor(alerting::monitor::MonitorSubcommand),
    /// Run a command and ping a monitor with its outcome: ordo watch --monitor backup -- ./backup.sh
    Watch(alerting::monitor::WatchArgs),
    /// Understand cron expressions; needs no daemon
    #[command(subcommand)]
    Cron(cron::CronCommand),
    /// Keep values that jobs refer to and nobody sees
    #[command(subcommand, visible_alias = "secrets")]
    Secret(secret::SecretSubcommand),
    /// Say who is let in, and as what
    #[command(subcommand, visible_alias = "tokens")]
    Token(token::TokenCommand),
    /// Check, back up and repair the store
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// The nodes that share a store
    #[command(subcommand, visible_alias = "nodes")]
    Node(node::NodeCommand),
    /// Send events to URLs, as signed webhooks
    #[command(subcommand, visible_alias = "subscriptions")]
    Subscription(alerting::subscription::SubscriptionSubcommand),
    /// How the daemon is doing
    Status,
    /// The effective configuration, and where each value came from
    Config {
        /// Every key there is instead, with its default, its variable and what it is for
        #[arg(long)]
        keys: bool,
    },
    /// Print the completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Measure this machine
    Bench(ordo_bench::BenchArgs),
}

impl OrdoCommand {
    /// Whether it stays and starts what others ask for.
    pub(crate) fn is_daemon(&self) -> bool {
        matches!(self, OrdoCommand::Serve(_) | OrdoCommand::Orchestrate(_) | OrdoCommand::Executor(_))
    }
}
