//! `ordo incident …`

use clap::{Args, Subcommand};
use ordo_model::Millis;
use ordo_model::incident::{IncidentRole, IncidentStatus, Severity};

use crate::cli::job::Pages;
use crate::cli::values::{duration, named, names_of};
use crate::commands::about::completions::Listed;

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
    /// Make somebody the lead or responsible for communications; without a name, free the role
    Role(RoleArgs),
    /// Describe the impact: who is affected, and how
    Impact(ImpactArgs),
    /// Add, complete and reopen action items
    #[command(subcommand)]
    Action(ActionCommand),
    /// Snooze an incident: no escalation and no repeats until then; --end ends the snooze
    Snooze(SnoozeArgs),
    /// Show the written postmortem, or replace it with --from FILE
    Postmortem(PostmortemArgs),
    /// List incidents that were like this one
    Similar(IncidentArg),
    /// Export an incident as a Markdown document
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IncidentArg {
    /// An incident's id (its beginning will do), or the identifier it was started with
    #[arg(add = names_of(Listed::Incidents))]
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
    /// The escalation chain, by its name (ordo escalation list)
    #[arg(long, value_name = "NAME", add = names_of(Listed::Escalations))]
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
pub(crate) struct RoleArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// lead or communications
    #[arg(value_parser = named::<IncidentRole>)]
    pub(crate) role: IncidentRole,
    /// Who takes it
    pub(crate) person: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct ImpactArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActionCommand {
    /// Add an action item
    Add(ActionAddArgs),
    /// Mark an action item as done
    Done(ActionArg),
    /// Reopen an action item
    Reopen(ActionArg),
}

#[derive(Debug, Args)]
pub(crate) struct ActionAddArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// What is to be done
    pub(crate) text: String,
    /// Who does it
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct ActionArg {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// The number of the action item
    pub(crate) number: u32,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct SnoozeArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// How long: 30m, 2h, 1d
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, required_unless_present_any = ["until", "end"])]
    pub(crate) length: Option<Millis>,
    /// Until when: a time such as 2026-05-01T09:00 or 2026-05-01T09:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "length")]
    pub(crate) until: Option<String>,
    /// End the snooze now
    #[arg(long, conflicts_with_all = ["length", "until"])]
    pub(crate) end: bool,
    #[command(flatten)]
    pub(crate) actor: ActorArg,
}

#[derive(Debug, Args)]
pub(crate) struct PostmortemArgs {
    #[command(flatten)]
    pub(crate) incident: IncidentArg,
    /// The Markdown file that replaces it; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<std::path::PathBuf>,
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
