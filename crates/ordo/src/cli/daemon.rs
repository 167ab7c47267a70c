//! `ordo serve` and `ordo orchestrate`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on for HTTP [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The store: a file, or a PostgreSQL database (postgres://user@host/name) [default: .ordo/orchestrator.db]
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) store: Option<String>,
    /// How often to scan for due jobs; a job due before the next scan still fires on time [default: 1s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) tick_rate: Option<String>,
    /// The roles of this node; fewer than all three only where nodes share a database
    #[arg(long, value_name = "ROLES", value_delimiter = ',', value_enum, default_values_t = DaemonRole::ALL)]
    pub(crate) roles: Vec<DaemonRole>,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrchestrateArgs {
    /// How often to scan for due jobs; a bare number is seconds [default: 60s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) tick_rate: Option<String>,
    /// The store file [default: .ordo/orchestrator.db]
    #[arg(long, value_name = "PATH")]
    pub(crate) db: Option<String>,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to listen for HTTP [default: 127.0.0.1:7070, or any free port if that one is taken]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
}

/// What both kinds of daemon understand.
#[derive(Debug, Args)]
pub(crate) struct DaemonArgs {
    /// The name of this node and of its executor [default: local]
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// How long running work may take to finish when the daemon is stopped [default: 30s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) grace: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter like ordo_engine=debug [default: ORDO_LOG, then info]
    #[arg(long, value_name = "FILTER")]
    pub(crate) log_level: Option<String>,
    /// The log format [default: pretty]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Pretty,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum DaemonRole {
    Api,
    Timekeeper,
    Executor,
}

impl DaemonRole {
    pub(crate) const ALL: [DaemonRole; 3] = [DaemonRole::Api, DaemonRole::Timekeeper, DaemonRole::Executor];
}
