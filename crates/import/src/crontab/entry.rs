//! An entry with all that is in force around it, as a draft.

use ordo_model::limits::TIMEOUT_MAX;
use serde_json::{Map, Value, json};

use super::line::{self, CrontabEntry, CrontabLine};
use super::percent;
use super::settings::CrontabSettings;
use super::{CrontabFormat, CrontabOrigin};
use crate::draft::{self, JobDraft};

/// A crontab says no more than this about a job.
const STATED: &[&str] = &["description", "tool_name", "tool_input", "trigger"];
const REBOOT: &str = "@reboot";

pub(super) fn draft(
    number: usize,
    label: String,
    entry: &CrontabEntry<'_>,
    comment: &[&str],
    settings: &CrontabSettings,
    origin: &CrontabOrigin,
) -> JobDraft {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("tool_name", json!("shell"));
    put("tool_input", input(entry.command, settings, origin));
    put("trigger", trigger(entry.time, settings, origin));
    // cron runs what is due whether or not the last one is over, never ends it, and forgets what was missed.
    put("block", json!("concurrent"));
    put("timeout", json!(TIMEOUT_MAX));
    put("misfire", json!("do_nothing"));
    if let Some(text) = description(comment, settings, entry) {
        put("description", json!(text));
    }
    JobDraft {
        place: super::place(number),
        warnings: warnings(entry, &label),
        label,
        fields,
        stated: STATED,
        held: false,
    }
}

fn input(command: &str, settings: &CrontabSettings, origin: &CrontabOrigin) -> Value {
    let (command, stdin) = percent::split(command);
    let mut input = match settings.shell() {
        None => json!({ "script": command }),
        Some(shell) => json!({ "command": shell, "args": ["-c", command] }),
    };
    if !settings.environment().is_empty() {
        input["env"] = json!(settings.environment());
    }
    if let Some(cwd) = settings.home().or(origin.cwd.as_deref()) {
        input["cwd"] = json!(cwd);
    }
    if let Some(stdin) = stdin {
        input["stdin"] = json!(stdin);
    }
    input
}

fn trigger(time: &str, settings: &CrontabSettings, origin: &CrontabOrigin) -> Value {
    if time.eq_ignore_ascii_case(REBOOT) {
        return json!({ "type": "manual" });
    }
    let zone = settings.zone().unwrap_or(&origin.zone);
    let mut trigger = json!({ "type": "scheduled", "cron": expression(time), "timezone": zone });
    if let Some(jitter) = settings.jitter() {
        trigger["jitter"] = json!(jitter);
    }
    trigger
}

/// cron wants both days to fit as soon as one of the two fields begins with a star, also in `*/2`; elsewhere only `*`
/// itself counts, and a plus says that both are meant.
fn expression(time: &str) -> String {
    let mut fields: Vec<&str> = time.split_whitespace().collect();
    if let ["@every_minute"] = fields.as_slice() {
        return "* * * * *".to_owned();
    }
    let [_, _, day, _, weekday] = fields.as_slice() else { return fields.join(" ") };
    let both = (day.starts_with('*') || weekday.starts_with('*')) && *day != "*" && *weekday != "*";
    let plus = format!("+{weekday}");
    if both {
        fields[4] = &plus;
    }
    fields.join(" ")
}

fn description(comment: &[&str], settings: &CrontabSettings, entry: &CrontabEntry<'_>) -> Option<String> {
    let mut lines: Vec<String> = comment.iter().filter(|text| is_prose(text)).map(|text| (*text).to_owned()).collect();
    lines.extend(settings.mail_to().map(|to| format!("MAILTO={to}")));
    lines.extend(entry.user.map(|user| format!("User: {user}")));
    if entry.time.eq_ignore_ascii_case(REBOOT) {
        lines.push(REBOOT.to_owned());
    }
    let text = lines.join("\n");
    (!text.trim().is_empty()).then(|| draft::description(&text))
}

/// An entry that was commented out and the heading of the columns say nothing about the line below.
fn is_prose(text: &str) -> bool {
    let heading = text.split_whitespace().take(5).collect::<Vec<_>>() == ["m", "h", "dom", "mon", "dow"];
    let is_time = |entry: &CrontabEntry<'_>| entry.time.starts_with(|c: char| c.is_ascii_digit() || "*@".contains(c));
    let entry = matches!(line::read(text, CrontabFormat::User), Ok(CrontabLine::Entry(entry)) if is_time(&entry));
    !text.is_empty() && !heading && !entry
}

fn warnings(entry: &CrontabEntry<'_>, label: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if entry.time.eq_ignore_ascii_case(REBOOT) {
        warnings.push(format!(
            "@reboot has no time: the job runs only when triggered; let the system do that when it starts: \
             ordo job trigger {label}"
        ));
    }
    warnings.extend(start_without_end(entry.time).map(|part| {
        format!("{part} has no end: some crons read it as its first number alone, others refuse it; here it goes to the end of the field")
    }));
    warnings.extend(entry.user.map(|user| format!("it will run as the user of the daemon, not as {user}")));
    warnings
}

/// `0/15`: a step behind a single value.
fn start_without_end(time: &str) -> Option<&str> {
    let parts = time.split([',', ' ', '\t']).filter(|part| part.contains('/'));
    parts.into_iter().find(|part| !part.starts_with('*') && !part.contains('-'))
}
