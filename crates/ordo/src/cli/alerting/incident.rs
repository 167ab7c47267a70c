//! `ordo incident …`

use clap::{Args, Subcommand};
use ordo_model::incident::{IncidentStatus, Severity};

use crate::cli::job::Pages;
use crate::cli::values::named;

#[derive(Debug, Subcommand)]
pub(crate) enum IncidentSubcommand {
    /// Start an incident: ordo incident start "checkout is down" --severity sev1
    Start(StartArgs),
    /// List incidents, newest first
    #[command(visible_alias = "ls")]
    List(IncidentListArgs),
    /// Show one incident with its timeline
    Show(IncidentArg),
    /// Set the severity: sev1 (worst) to sev5, or high, medium, low
    Severity(SeverityArgs),
    /// Assign an incident; without a name, unassign it
    Assign(AssignArgs),
    /// Set the status: open, mitigating, resolved or declined
    Status(StatusArgs),
    /// Acknowledge an incident, which stops its escalation
    Ack(ActArg),
    /// Add a note to the timeline; one that begins with "Action:" becomes an action item of the export
    Note(NoteArgs),
    /// Export an incident as a Markdown document
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IncidentArg {
    /// An incident's id, or the identifier it was started with
    pub(crate) incident: String,
}

/// Who does it.
#[derive(Debug, Args)]
pub(crate) struct ActorArg {
    /// The person on whose behalf you act, shown in the timeline beside the token's name
    #[arg(long = "as", value_name = "NAME", env = "USER", hide_env_values = true)]
    pub(crate) actor: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ActArg {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The title: what is wrong, in one line
    pub(crate) title: String,
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The severity: sev1 (worst) to sev5, or high, medium, low [default: sev3]
    #[arg(long, value_name = "SEVERITY", value_parser = named::<Severity>)]
    pub(crate) severity: Option<Severity>,
    /// An identifier of the cause: at most one incident with it is open at a time
    #[arg(long, value_name = "TEXT")]
    pub(crate) identifier: Option<String>,
    /// The escalation chain, by its name in the daemon's configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) escalation: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct IncidentListArgs {
    /// Only incidents with this status: open, mitigating, resolved or declined
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only incidents with this severity
    #[arg(long, value_name = "SEVERITY")]
    pub(crate) severity: Option<String>,
    /// Only incidents assigned to this name
    #[arg(long, value_name = "NAME")]
    pub(crate) assignee: Option<String>,
    /// Only incidents whose title, description or identifier contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Only incidents started since: a time, or a duration before now (2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) pages: Pages,
}

#[derive(Debug, Args)]
pub(crate) struct SeverityArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// sev1 (worst) to sev5, or high, medium, low
    #[arg(value_parser = named::<Severity>)]
    pub(crate) severity: Severity,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct AssignArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// The assignee
    pub(crate) assignee: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// open, mitigating, resolved or declined
    #[arg(value_parser = named::<IncidentStatus>)]
    pub(crate) status: IncidentStatus,
    /// A comment on the change
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// The time zone of the times shown [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// The file to write instead of standard output
    #[arg(long = "to", value_name = "FILE")]
    pub(crate) file: Option<std::path::PathBuf>,
}
