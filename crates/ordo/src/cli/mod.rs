//! What can be typed. Only the words; what they do is in `commands`.

pub(crate) mod alerting;
pub(crate) mod audit;
pub(crate) mod cron;
pub(crate) mod daemon;
pub(crate) mod executor;
pub(crate) mod forecast;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod job;
pub(crate) mod node;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ordo_model::zones::Zones;

const AFTER: &str = "\
First steps:
  ordo demo                                    a made-up fleet with a week of history
  ordo serve                                   the daemon; leave it running
  ordo job add hello --every 10s -- echo hi    in another terminal
  ordo run list                                what ran
  ordo run logs -f hello                       what it prints

Exit codes: 0 success, 1 refused or failed, 2 usage error, 3 server unreachable.";

/// What `--version` says; `-V` says only the first line.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\ntime zones {}", env!("CARGO_PKG_VERSION"), Zones::bundled()));

/// Runs jobs on time, and alerts people when it could not.
#[derive(Debug, Parser)]
#[command(name = "ordo", version, long_version = LONG_VERSION.as_str(), after_help = AFTER, propagate_version = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: OrdoCommand,
}

/// Under this they stand in the help, apart from what a command has of its own.
const EVERYWHERE: &str = "Common options";

/// Understood by every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The output format
    #[arg(long, short, global = true, help_heading = EVERYWHERE, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// The daemon to talk to: https://…, http://… or unix:PATH [default: the socket in .ordo here or above, then http://127.0.0.1:7070]
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "ORDO_SERVER", value_name = "URL", hide_env_values = true)]
    pub(crate) server: Option<String>,
    /// Also trust the certificate authority in this PEM file for https://
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "ORDO_CA_FILE", value_name = "FILE", hide_env_values = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// The configuration file [default: ./ordo.toml]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Shown again and again.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct RefreshArgs {
    /// Refresh until interrupted, every 2 seconds or as often as given
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, require_equals = true, default_missing_value = "2s", value_parser = values::duration)]
    pub(crate) watch: Option<ordo_model::Millis>,
}

/// Something that is removed: a person is asked first.
#[derive(Debug, Args)]
pub(crate) struct RemovalArgs<T: Args> {
    #[command(flatten)]
    pub(crate) what: T,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// How often to refresh
    #[arg(long, value_name = "INTERVAL", default_value = "1s", value_parser = values::duration)]
    pub(crate) every: ordo_model::Millis,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// A job (label or id), a run id, or a page: jobs, runs, incidents, hooks, executors, nodes [default: the home page]
    pub(crate) object: Option<String>,
    /// Only print the URL
    #[arg(long)]
    pub(crate) print: bool,
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
    /// Look around: a throw-away server with a made-up fleet and a week of history; needs nothing, leaves nothing
    Demo(daemon::DemoArgs),
    /// Run an executor for a daemon elsewhere: name it, or several nodes of a cluster (URL,URL), with --server
    Executor(executor::ExecutorArgs),
    /// List the executors, here and elsewhere
    Executors(RefreshArgs),
    /// Add, inspect and change jobs
    #[command(subcommand, visible_alias = "jobs")]
    Job(job::JobSubcommand),
    /// Inspect runs and their logs; cancel or retry them
    #[command(subcommand, visible_alias = "runs")]
    Run(run::RunCommand),
    /// Show what fires in the days to come, what collides, and what if a job were added: ordo forecast --if job.json
    Forecast(forecast::ForecastArgs),
    /// Import jobs from cron, systemd, Kubernetes, Quartz, GitHub Actions, Dkron or XXL-JOB
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Manage inbound webhooks and their deliveries
    #[command(subcommand, visible_alias = "hooks")]
    Hook(hook::HookSubcommand),
    /// Open, update and export incidents
    #[command(subcommand, visible_alias = "incidents")]
    Incident(alerting::incident::IncidentSubcommand),
    /// List notifications, and replay those that could not be delivered
    #[command(subcommand, visible_alias = "notifications")]
    Notification(alerting::notification::NotificationSubcommand),
    /// Hold back notifications for a while
    #[command(subcommand, visible_alias = "silences")]
    Silence(alerting::silence::SilenceSubcommand),
    /// Manage channels: what notifications go out through
    #[command(subcommand, visible_alias = "channels")]
    Channel(alerting::channel::ChannelSubcommand),
    /// Manage escalation chains: who is notified next when nobody acknowledges an incident
    #[command(subcommand, visible_alias = "escalations")]
    Escalation(alerting::escalation::EscalationSubcommand),
    /// Monitor work that runs elsewhere by its heartbeat
    #[command(subcommand, visible_alias = "monitors")]
    Monitor(alerting::monitor::MonitorSubcommand),
    /// Run a command and ping a monitor with its outcome: ordo watch --monitor backup -- ./backup.sh
    Watch(alerting::monitor::WatchArgs),
    /// Explain cron expressions; needs no daemon
    #[command(subcommand)]
    Cron(cron::CronCommand),
    /// Show who changed what, and who logged in
    Audit(audit::AuditArgs),
    /// Manage secrets: values that jobs refer to and nobody sees
    #[command(subcommand, visible_alias = "secrets")]
    Secret(secret::SecretSubcommand),
    /// Manage API tokens and their roles
    #[command(subcommand, visible_alias = "tokens")]
    Token(token::TokenCommand),
    /// Check, back up and repair the store
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// List and drain the nodes that share a store
    #[command(subcommand, visible_alias = "nodes")]
    Node(node::NodeCommand),
    /// Manage subscriptions: events sent to URLs as signed webhooks
    #[command(subcommand, visible_alias = "subscriptions")]
    Subscription(alerting::subscription::SubscriptionSubcommand),
    /// Show how the daemon is doing
    Status(RefreshArgs),
    /// Watch the daemon live: what runs, what waits, what fires next
    Top(TopArgs),
    /// Check this installation: configuration, permissions, clock, disk, port, store, time zone data
    Doctor,
    /// Open the dashboard in a browser: ordo open, ordo open nightly-report
    Open(OpenArgs),
    /// Show the version of this program and of the daemon
    Version,
    /// Show the effective configuration, and where each value came from
    Config {
        /// List every key instead, with its default, its variable and its meaning
        #[arg(long)]
        keys: bool,
    },
    /// Print the completions for a shell; names of jobs, hooks, monitors and the rest come from the daemon
    Completions { shell: clap_complete::Shell },
    /// Write the manual pages: ordo man --dir /usr/local/share/man/man1
    Man {
        /// Where to write them [default: the page of ordo itself to standard output]
        #[arg(long, value_name = "FOLDER")]
        dir: Option<PathBuf>,
    },
    /// Benchmark Ordo on this machine
    Bench(ordo_bench::BenchArgs),
}

/// The plurals that list what they name when nothing follows them; `ordo executors` is a command of its own.
const LISTED: [&str; 13] = [
    "jobs",
    "runs",
    "hooks",
    "incidents",
    "notifications",
    "silences",
    "channels",
    "escalations",
    "monitors",
    "secrets",
    "tokens",
    "nodes",
    "subscriptions",
];

/// What was typed, with the word that goes without saying: `ordo jobs` is `ordo jobs list`, whatever options stand around it.
pub(crate) fn typed(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let command = after_common_options(&words, 1);
    let is_listed = words.get(command).and_then(|word| word.to_str()).is_some_and(|word| LISTED.contains(&word));
    let is_alone = words.get(after_common_options(&words, command + 1)).is_none_or(|next| {
        let next = next.to_string_lossy();
        next.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&next.as_ref())
    });
    if is_listed && is_alone {
        words.insert(command + 1, "list".into());
    }
    words
}

/// The place of the first word from there on that is no option of every command and no value of one.
fn after_common_options(words: &[OsString], from: usize) -> usize {
    let common = Common::augment_args(clap::Command::new("ordo"));
    let is_long = |word: &str| common.get_arguments().filter_map(|option| option.get_long()).any(|long| word == long);
    let is_short = |word: &str| {
        common.get_arguments().filter_map(|option| option.get_short()).any(|short| word.starts_with(short))
    };
    let mut place = from;
    while let Some(word) = words.get(place).map(|word| word.to_string_lossy()) {
        place += match word.strip_prefix("--") {
            Some(long) => match long.split_once('=') {
                Some((name, _)) if is_long(name) => 1,
                None if is_long(long) => 2,
                Some(_) | None => return place,
            },
            None => match word.strip_prefix('-') {
                // `-o json` or `-ojson`
                Some(short) if is_short(short) => {
                    if short.chars().count() == 1 {
                        2
                    } else {
                        1
                    }
                }
                Some(_) | None => return place,
            },
        };
    }
    place
}

impl OrdoCommand {
    /// Whether it stays and starts what others ask for.
    pub(crate) fn is_daemon(&self) -> bool {
        use OrdoCommand::{Demo, Executor, Orchestrate, Serve};
        matches!(self, Serve(_) | Orchestrate(_) | Demo(_) | Executor(executor::ExecutorArgs { command: None, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn line(words: &str) -> String {
        let words = typed(words.split(' ').map(OsString::from));
        words.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn a_plural_alone_lists() {
        assert_eq!(line("ordo jobs"), "ordo jobs list");
        assert_eq!(line("ordo nodes --watch"), "ordo nodes list --watch");
        for whole in [
            "ordo",
            "ordo job",
            "ordo jobs --help",
            "ordo jobs show x",
            "ordo executors",
            "ordo --help",
            "ordo jobs -o json show x",
            "ordo -o json jobs --help",
            "ordo --output jobs",
            "ordo -o",
        ] {
            assert_eq!(line(whole), whole);
        }
    }

    #[test]
    fn options_of_every_command_may_stand_before_a_plural() {
        assert_eq!(line("ordo -o json jobs"), "ordo -o json jobs list");
        assert_eq!(line("ordo -ojson --server=http://a:1 runs"), "ordo -ojson --server=http://a:1 runs list");
        assert_eq!(line("ordo --output json --ca-file jobs hooks"), "ordo --output json --ca-file jobs hooks list");
        assert_eq!(line("ordo jobs -o json --state active"), "ordo jobs list -o json --state active");
    }

    #[test]
    fn every_plural_can_be_listed() {
        for plural in LISTED {
            let words = typed(["ordo", plural].map(OsString::from));
            assert!(Cli::command().try_get_matches_from(words).is_ok(), "{plural}");
        }
        let command = Cli::command();
        let plurals: Vec<&str> = command.get_subcommands().flat_map(|command| command.get_visible_aliases()).collect();
        assert!(plurals.iter().all(|plural| LISTED.contains(plural)), "{plurals:?}");
    }
}
