//! The options that describe a job: when it runs, what it does, by which rules. `add` and `update` share them.

use clap::Args;
use ordo_model::Millis;
use ordo_model::incident::Severity;
use ordo_model::job::{
    AfterMode, AfterOn, Block, ConcurrencyKey, IncidentPolicy, KeySource, Misfire, OnConflict, RateLimit, Routing,
    UniqueKey,
};
use ordo_model::schedule::{Exclusion, Repeated, Skipped};
use ordo_model::strict;
use serde::Serialize;
use serde_json::Value;

use crate::cli::values::{duration, json, name_or_json, named, names_of, tag, typed, variable};
use crate::commands::about::completions::Listed;

/// When the job runs. Without any of these it runs only when triggered by hand.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "When")]
pub(crate) struct TriggerArgs {
    /// Run once, at this time: 2026-12-24T18:00:00Z, "2026-12-24 18:00" or 18:00 in --tz
    #[arg(long, value_name = "TIME", group = "rule")]
    pub(crate) at: Option<String>,
    /// Run once, after this delay: 5m
    #[arg(long = "in", value_name = "DURATION", group = "rule", value_parser = duration)]
    pub(crate) after: Option<Millis>,
    /// Run at this interval: 10s, 1h30m
    #[arg(long, value_name = "DURATION", group = "rule", value_parser = duration)]
    pub(crate) every: Option<Millis>,
    /// Run by a cron expression of 5, 6 or 7 fields: "0 2 * * *"
    #[arg(long, value_name = "EXPR", group = "rule")]
    pub(crate) cron: Option<String>,
    /// Run when this hook is called
    #[arg(long, value_name = "SLUG", group = "rule")]
    pub(crate) on_hook: Option<String>,
    /// The time zone of --cron [default: UTC] and of times without an offset [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// Do not fire before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<String>,
    /// Do not fire at or after this time
    #[arg(long, value_name = "TIME")]
    pub(crate) end: Option<String>,
    /// Delay each occurrence by up to this much; the delay of an occurrence never changes
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) jitter: Option<Millis>,
    /// A window in which the job does not fire, as JSON: {"days": ["sat", "sun"]}; may be repeated
    #[arg(long, value_name = "JSON", value_parser = typed::<Exclusion>)]
    pub(crate) exclude: Vec<Exclusion>,
    /// What to do when the clock skips a time of --cron: run at the shift, or skip that day: shift or skip [default: shift]
    #[arg(long, value_name = "RULE", value_parser = named::<Skipped>, requires = "cron")]
    pub(crate) dst_skipped: Option<Skipped>,
    /// When to run if the clock repeats a time of --cron: first, last or both [default: first]
    #[arg(long, value_name = "RULE", value_parser = named::<Repeated>, requires = "cron")]
    pub(crate) dst_repeated: Option<Repeated>,
}

/// What the job does: a command after `--`, or a tool with its input.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What")]
pub(crate) struct ActionArgs {
    /// The tool to use instead of a command: http, noop, or one named in the daemon's configuration
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) tool: Option<String>,
    /// The shell script to run instead of a command
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["command", "tool", "input"])]
    pub(crate) script: Option<String>,
    /// The tool's input: JSON, @file or @- for standard input
    #[arg(long, value_name = "JSON", value_parser = json, conflicts_with = "command")]
    pub(crate) input: Option<Value>,
    /// An environment variable for the command; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, requires = "command")]
    pub(crate) env: Vec<(String, String)>,
    /// The working directory of the command [default: the daemon's]
    #[arg(long, value_name = "FOLDER", requires = "command")]
    pub(crate) cwd: Option<String>,
    /// The command and its arguments; no shell interprets them
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// By which rules it runs. An option that is a field of the job is named like it, and written down by itself; those that
/// make up a field together are put together in `commands/job/request.rs`.
#[derive(Debug, Default, Args, Serialize)]
#[command(next_help_heading = "How")]
pub(crate) struct PolicyArgs {
    /// A description of the job
    #[arg(long, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The runbook: https://wiki.example.com/runbook
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description_url: Option<String>,
    /// A tag to find the job by: nightly, team:billing; may be repeated. For update, "" alone takes all tags away
    #[arg(long = "tag", value_name = "TAG", value_parser = tag_or_none)]
    #[serde(skip)]
    pub(crate) tags: Vec<String>,
    /// What to do about missed occurrences: fire_once_now, do_nothing, fire_all, or JSON with cap and window
    #[arg(long, value_name = "RULE", value_parser = misfire)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) misfire: Option<Misfire>,
    /// What to do when the job is due while it still runs: serial, discard, cover or concurrent
    #[arg(long, value_name = "RULE", value_parser = name_or_json::<Block>, conflicts_with = "concurrent")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block: Option<Block>,
    /// Allow this many concurrent runs
    #[arg(long, value_name = "N")]
    #[serde(skip)]
    pub(crate) concurrent: Option<u32>,
    /// How the executor of a run is chosen
    #[arg(long, value_name = "RULE", value_parser = named::<Routing>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) routing: Option<Routing>,
    /// The group of executors that run the job [default: default]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// The priority, 0 to 9; among waiting runs the highest goes first [default: 5]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority: Option<u8>,
    /// The timeout of one attempt [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Millis>,
    /// How many times to retry a failed run [default: 0]
    #[arg(long, value_name = "N")]
    #[serde(skip)]
    pub(crate) retry: Option<u32>,
    /// The delay before the first retry; it doubles with each further one [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    #[serde(skip)]
    pub(crate) backoff: Option<Millis>,
    /// The longest delay before a retry [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    #[serde(skip)]
    pub(crate) max_backoff: Option<Millis>,
    /// The job is idempotent: also retry attempts that a crash interrupted
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotent: Option<bool>,
    /// Give up a run that found no executor within this time [default: wait]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expire_after: Option<Millis>,
    /// The most concurrent runs with the same key: label:3, or by a field of the input: /tenant:3
    #[arg(long, value_name = "KEY:MAX", value_parser = concurrency_key)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) concurrency_key: Option<ConcurrencyKey>,
    /// The most runs with the same key started in a period: /tenant:10/1m
    #[arg(long, value_name = "KEY:LIMIT/TIME", value_parser = rate_limit)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate_limit: Option<RateLimit>,
    /// Allow one job, and one triggered run, with the same key in a period: label:1h; with :merge a duplicate returns the first one
    #[arg(long, value_name = "KEY:TIME[:merge]", value_parser = unique_key)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unique_key: Option<UniqueKey>,
    /// Run when this job (label or id) has ended; may be repeated. Its outcome becomes part of the input
    #[arg(long = "after", value_name = "JOB")]
    #[serde(skip)]
    pub(crate) after_jobs: Vec<String>,
    /// With several --after: run when all of them have ended, or whenever one has [default: all]
    #[arg(long, value_name = "all|any", value_parser = named::<AfterMode>, requires = "after_jobs")]
    #[serde(skip)]
    pub(crate) after_mode: Option<AfterMode>,
    /// Which outcomes count: success, failure or either [default: success]
    #[arg(long, value_name = "END", value_parser = named::<AfterOn>, requires = "after_jobs")]
    #[serde(skip)]
    pub(crate) after_on: Option<AfterOn>,
    /// How many finished runs to keep [default: 1000]
    #[arg(long, value_name = "N")]
    #[serde(skip)]
    pub(crate) retain_runs: Option<u32>,
    /// How long to keep finished runs [default: 30d]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    #[serde(skip)]
    pub(crate) retain_age: Option<Millis>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) reactions: ReactionArgs,
}

/// Which incident a job opens.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Incidents")]
pub(crate) struct ReactionArgs {
    /// When a run fails for good, open an incident of this severity: sev1 (worst) to sev5, high, medium or low; or all of it as JSON
    #[arg(long, value_name = "SEVERITY", value_parser = incident)]
    pub(crate) on_failure_incident: Option<IncidentPolicy>,
    /// How many failures in a row open the incident [default: 1]
    #[arg(long, value_name = "N", requires = "on_failure_incident")]
    pub(crate) on_failure_after: Option<u32>,
    /// When an occurrence is missed, open an incident of this severity; or all of it as JSON
    #[arg(long, value_name = "SEVERITY", value_parser = incident)]
    pub(crate) on_missed_incident: Option<IncidentPolicy>,
    /// How many missed occurrences in a row open the incident [default: 1]
    #[arg(long, value_name = "N", requires = "on_missed_incident")]
    pub(crate) on_missed_after: Option<u32>,
    /// Resolve the incident with the next completed run; without this, the run only adds a note
    #[arg(long)]
    pub(crate) resolve_on_recovery: bool,
    /// The escalation chain of these incidents, by its name (ordo escalation list)
    #[arg(long, value_name = "NAME", add = names_of(Listed::Escalations))]
    pub(crate) escalation: Option<String>,
}

/// A severity alone, or the policy as the API has it.
fn incident(text: &str) -> Result<IncidentPolicy, String> {
    if text.starts_with(['{', '@']) {
        return typed(text);
    }
    let severity: Severity = named(text)?;
    strict::from_value(serde_json::json!({ "severity": severity, "resolve_on_recovery": false }))
        .map_err(|misread| misread.to_string())
}

/// A tag, or nothing, which stands for no tags.
fn tag_or_none(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { tag(text) }
}

fn key(text: &str) -> Result<KeySource, String> {
    KeySource::try_from(text.to_owned())
}

fn concurrency_key(text: &str) -> Result<ConcurrencyKey, String> {
    let (source, max) = text.rsplit_once(':').ok_or("write KEY:MAX, such as label:3 or /tenant:3")?;
    let max: u32 = max.parse().map_err(|_| format!("{max:?} is not a number"))?;
    Ok(ConcurrencyKey { key: key(source)?, max })
}

fn rate_limit(text: &str) -> Result<RateLimit, String> {
    let advice = "write KEY:LIMIT/TIME, such as /tenant:10/1m";
    let (source, rate) = text.rsplit_once(':').ok_or(advice)?;
    let (limit, per) = rate.split_once('/').ok_or(advice)?;
    let limit: u32 = limit.parse().map_err(|_| format!("{limit:?} is not a number"))?;
    Ok(RateLimit { key: key(source)?, limit, per: duration(per)? })
}

fn unique_key(text: &str) -> Result<UniqueKey, String> {
    let (text, on_conflict) = match text.strip_suffix(":merge") {
        Some(rest) => (rest, OnConflict::Merge),
        None => (text.strip_suffix(":refuse").unwrap_or(text), OnConflict::Refuse),
    };
    let (source, window) = text.rsplit_once(':').ok_or("write KEY:TIME, such as label:1h")?;
    Ok(UniqueKey { key: key(source)?, window: duration(window)?, on_conflict })
}

/// `fire_all` alone has its parameters on the wire too.
fn misfire(text: &str) -> Result<Misfire, String> {
    name_or_json(if text == "fire_all" { r#"{"fire_all": {}}"# } else { text })
}
