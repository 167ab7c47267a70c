//! Every key of the configuration, on one page.
//!
//! Invariant: a key that is not here is refused, with what was probably meant; nothing is silently ignored.

use super::layers::Path;

/// What a node is called if nobody says.
pub(crate) const DEFAULT_NODE: &str = "local";

/// How a value is written where everything is text (in the environment and in flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    Bool,
    /// `a,b` or `["a", "b"]`
    List,
}

pub(super) struct ConfigKey {
    pub(super) path: &'static str,
    pub(super) kind: ValueKind,
    /// As it would be written in the file.
    pub(super) default: Option<&'static str>,
    /// For people: what it is for.
    pub(super) about: &'static str,
}

pub(super) const KEYS: &[ConfigKey] = &[
    key(
        "group",
        ValueKind::Text,
        Some("default"),
        "The group of this node's own executor: it runs the jobs of this group.",
    ),
    key(
        "limits.hook_requests_per_minute",
        ValueKind::Number,
        Some("600"),
        "How many calls one hook takes in a minute; 0 is without a limit.",
    ),
    key(
        "limits.requests_per_minute",
        ValueKind::Number,
        Some("6000"),
        "How many requests one token may make in a minute; 0 is without a limit.",
    ),
    key("log.format", ValueKind::Text, Some("pretty"), "How the server logs: `pretty` or `json`."),
    key(
        "log.level",
        ValueKind::Text,
        Some("info"),
        "What it logs: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `ordo_engine=debug`.",
    ),
    key(
        "node",
        ValueKind::Text,
        Some(DEFAULT_NODE),
        "The name of this node and of its executor. The same at every start: its former generation is recognised by it.",
    ),
    key(
        "orchestrate.tick_rate",
        ValueKind::Text,
        Some("60s"),
        "How often `ordo orchestrate` scans for due jobs, from 10ms to 1h; a bare number is seconds.",
    ),
    key(
        "outbox.flush_delay_ms",
        ValueKind::Number,
        Some("100"),
        "Within this time what waits in an outbox is handed on, however the process went on.",
    ),
    key("pools.fast.queue", ValueKind::Number, Some("2000"), "How many runs wait in memory for the fast pool."),
    key("pools.fast.slots", ValueKind::Number, Some("200"), "How many runs the fast pool runs at once."),
    key("pools.slow.queue", ValueKind::Number, Some("5000"), "How many runs wait in memory for the slow pool."),
    key("pools.slow.slots", ValueKind::Number, Some("100"), "How many runs the slow pool runs at once."),
    key(
        "secrets.key_file",
        ValueKind::Text,
        Some(".ordo/secret.key"),
        "The file with the key that seals secrets; made when it is first needed. The same file on every node of a cluster.",
    ),
    key(
        "senders.file.path",
        ValueKind::Text,
        None,
        "A file that every notification is appended to, one JSON object a line.",
    ),
    key("serve.base_path", ValueKind::Text, Some(""), "What a proxy puts before every path, such as `/ordo`."),
    key(
        "serve.grace",
        ValueKind::Text,
        Some("30s"),
        "How long running work may take to finish when the server is stopped.",
    ),
    key("serve.listen", ValueKind::Text, Some("127.0.0.1:7070"), "Where `ordo serve` listens for HTTP."),
    key(
        "serve.tick_rate",
        ValueKind::Text,
        Some("1s"),
        "How often `ordo serve` scans for due jobs, from 10ms to 1h; a job due before the next scan fires on time all the same.",
    ),
    key(
        "sinks.kurrentdb.connection",
        ValueKind::Text,
        None,
        "Where all events are mirrored to; needs a binary that was built with the feature `kurrentdb`.",
    ),
    key("slack.api_url", ValueKind::Text, Some("https://slack.com/api"), "Where Slack's API is."),
    key("slack.bot_token", ValueKind::Text, None, "The bot token of the Slack app; without it nothing is posted."),
    key("slack.channel", ValueKind::Text, None, "The channel that cards are posted to."),
    key("slack.events", ValueKind::List, Some("incident.*"), "Which events are posted to Slack."),
    key(
        "slack.signing_secret",
        ValueKind::Text,
        None,
        "The signing secret of the Slack app; without it `/slack/…` answers 404.",
    ),
    key("smtp.events", ValueKind::List, Some("incident.*"), "Which events are sent by mail."),
    key("smtp.from", ValueKind::Text, None, "The sender of mail."),
    key("smtp.to", ValueKind::List, None, "The receivers of mail."),
    key(
        "smtp.url",
        ValueKind::Text,
        None,
        "The mail server: `smtps://user:password@host`, or `smtp://host?tls=required`.",
    ),
    key(
        "store.cache_bytes",
        ValueKind::Number,
        Some("67108864"),
        "The memory that the embedded store may use as a cache.",
    ),
    key(
        "store.path",
        ValueKind::Text,
        Some(".ordo/orchestrator.db"),
        "The file that keeps everything, or the URL of a PostgreSQL database.",
    ),
    key(
        "store.standby",
        ValueKind::Text,
        None,
        "The URL of a standby of that database: the pages of the dashboard are read from it.",
    ),
    key(
        "telemetry.otlp_endpoint",
        ValueKind::Text,
        None,
        "Where a collector takes traces by OTLP over HTTP; without it none are sent.",
    ),
    key(
        "telemetry.sample",
        ValueKind::Text,
        Some("1"),
        "The part of traces that is sent, from 0 to 1, where the caller has not decided.",
    ),
    key("telemetry.service_name", ValueKind::Text, Some("ordo"), "What this service is called in traces."),
    key(
        "time.zones",
        ValueKind::Text,
        Some("bundled"),
        "Where the rules of time zones come from: `bundled`, `system`, or `newest` (the newer of the two).",
    ),
    key(
        "tools.http.allow",
        ValueKind::List,
        Some(""),
        "Networks, addresses and host names that the tool `http` may call although they are not public.",
    ),
    key(
        "tools.shell.allow",
        ValueKind::List,
        None,
        "The only commands that the tool `shell` may start; any, if it is not set.",
    ),
    key(
        "tools.shell.environment",
        ValueKind::List,
        Some(""),
        "Variables of the server's environment that commands see besides `PATH`, `HOME` and their like.",
    ),
    key("tools.shell.enabled", ValueKind::Bool, Some("true"), "Whether jobs may use the tool `shell` at all."),
    key("tools.shell.limits.cpu_seconds", ValueKind::Number, None, "CPU time of a command."),
    key("tools.shell.limits.file_bytes", ValueKind::Number, None, "The largest file a command may write."),
    key("tools.shell.limits.memory_bytes", ValueKind::Number, None, "The address space of a command."),
    key("tools.shell.limits.open_files", ValueKind::Number, None, "How many files a command may have open."),
    key("tools.shell.limits.processes", ValueKind::Number, None, "How many processes the user of a command may have."),
    key(
        "tools.shell.private_tmp",
        ValueKind::Bool,
        Some("false"),
        "Whether a command gets a `/tmp` of its own; needs a server that runs as root.",
    ),
    key("tools.shell.user", ValueKind::Text, None, "The user that commands run as; needs a server that runs as root."),
    key(
        "webhooks.allow",
        ValueKind::List,
        Some(""),
        "Networks, addresses and host names that webhooks and channels may go to although they are not public.",
    ),
];

/// What a tool of one's own may say; `env` holds one key per variable.
const NAMED_TOOL: [(&str, ValueKind, &str); 7] = [
    ("args", ValueKind::List, "Its arguments; `{field}` stands for a field of the job's input."),
    ("command", ValueKind::Text, "The program that the tool starts."),
    ("cwd", ValueKind::Text, "The folder that it starts in."),
    ("env", ValueKind::Text, "A variable of its environment."),
    ("private_tmp", ValueKind::Bool, "Whether it gets a `/tmp` of its own; needs a server that runs as root."),
    ("stdin", ValueKind::Text, "What it reads from standard input; `{field}` stands for a field of the job's input."),
    ("user", ValueKind::Text, "The user that it runs as; needs a server that runs as root."),
];
/// What a escalation chain may say.
const ESCALATION: [(&str, ValueKind, &str); 2] = [
    (
        "steps",
        ValueKind::List,
        "Who is notified, in order: `{ after, notify, via }` each; `after` counts from the step before.",
    ),
    (
        "ack_timeout",
        ValueKind::Text,
        "An acknowledgement ends after this time if the incident has not: the chain starts over.",
    ),
];
/// What a group of executors of XXL-JOB may say.
const XXL_GROUP: [(&str, ValueKind, &str); 3] = [
    (
        "access_token",
        ValueKind::Text,
        "What the executors of the group and the server show each other; the group is served only with it.",
    ),
    (
        "allow",
        ValueKind::List,
        "Networks, addresses and host names at which its executors may be called although they are not public.",
    ),
    ("capacity", ValueKind::Number, "How many runs one executor takes at once; 100 without it."),
];
const NAMED_TOOL_LIMITS: [&str; 5] = ["cpu_seconds", "file_bytes", "memory_bytes", "open_files", "processes"];
const BUILT_IN_TOOLS: [&str; 3] = ["http", "noop", "shell"];

const fn key(path: &'static str, kind: ValueKind, default: Option<&'static str>, about: &'static str) -> ConfigKey {
    ConfigKey { path, kind, default, about }
}

impl ValueKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            ValueKind::Text => "text",
            ValueKind::Number => "number",
            ValueKind::Bool => "true or false",
            ValueKind::List => "list",
        }
    }
}

/// Every key with its kind, its default and what it is for; `NAME` and `VARIABLE` stand for names of one's own.
pub(super) fn described() -> impl Iterator<Item = (String, ValueKind, Option<&'static str>, &'static str)> {
    let fixed = KEYS.iter().map(|key| (key.path.to_owned(), key.kind, key.default, key.about));
    let tools = NAMED_TOOL.iter().map(|(field, kind, about)| {
        let variable = if *field == "env" { ".VARIABLE" } else { "" };
        (format!("tools.NAME.{field}{variable}"), *kind, None, *about)
    });
    let limits = NAMED_TOOL_LIMITS.iter().map(|limit| {
        (format!("tools.NAME.limits.{limit}"), ValueKind::Number, None, "As `tools.shell.limits` has it.")
    });
    let chains =
        ESCALATION.iter().map(|(field, kind, about)| (format!("escalation.NAME.{field}"), *kind, None, *about));
    let groups = XXL_GROUP.iter().map(|(field, kind, about)| (format!("xxl.groups.NAME.{field}"), *kind, None, *about));
    fixed.chain(tools).chain(limits).chain(chains).chain(groups)
}

/// The kind of a key, or the message for whoever wrote it.
pub(super) fn kind_of(path: &Path) -> Result<ValueKind, String> {
    if let Some(kind) = named_tool_kind(path) {
        return kind;
    }
    if let Some(kind) = escalation_kind(path).or_else(|| xxl_kind(path)) {
        return kind;
    }
    let written = path.to_string();
    if let Some(key) = KEYS.iter().find(|key| key.path == written) {
        return Ok(key.kind);
    }
    let section = format!("{written}.");
    if KEYS.iter().any(|key| key.path.starts_with(&section)) {
        return Err(format!("{written} is a section, not a value"));
    }
    Err(format!("unknown key {written}{}", did_you_mean(&written, KEYS.iter().map(|key| key.path))))
}

fn named_tool_kind(path: &Path) -> Option<Result<ValueKind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["tools", name, rest @ ..] = segments.as_slice() else { return None };
    if BUILT_IN_TOOLS.contains(name) {
        return None;
    }
    let known = NAMED_TOOL.iter().map(|(field, ..)| *field);
    Some(match rest {
        [] => Err(format!("tools.{name} is a section, not a value: it needs a command")),
        ["env", _] => Ok(ValueKind::Text),
        ["limits", limit] if NAMED_TOOL_LIMITS.contains(limit) => Ok(ValueKind::Number),
        ["limits", limit] => {
            Err(format!("unknown key {path}{}", did_you_mean(limit, NAMED_TOOL_LIMITS.iter().copied())))
        }
        [field] if *field != "env" => match NAMED_TOOL.iter().find(|(known, ..)| known == field) {
            Some((_, kind, _)) => Ok(*kind),
            None => Err(format!("unknown key {path}{}", did_you_mean(field, known))),
        },
        _ => Err(format!("unknown key {path}")),
    })
}

/// A escalation chain may have any name.
fn escalation_kind(path: &Path) -> Option<Result<ValueKind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["escalation", name, rest @ ..] = segments.as_slice() else { return None };
    let known = |field| ESCALATION.iter().find(|(known, ..)| *known == field).map(|(_, kind, _)| *kind);
    let unknown = || format!("unknown key {path}; there are steps and ack_timeout");
    Some(match rest {
        [] => Err(format!("escalation.{name} is a section, not a value: it needs steps")),
        [field] => known(*field).ok_or_else(unknown),
        _ => Err(unknown()),
    })
}

/// A group of executors of XXL-JOB has the name that they give.
fn xxl_kind(path: &Path) -> Option<Result<ValueKind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["xxl", "groups", name, rest @ ..] = segments.as_slice() else { return None };
    let known = |field| XXL_GROUP.iter().find(|(known, ..)| *known == field).map(|(_, kind, _)| *kind);
    let unknown = || format!("unknown key {path}; there are access_token, allow and capacity");
    Some(match rest {
        [] => Err(format!("xxl.groups.{name} is a section, not a value: it needs access_token")),
        [field] => known(*field).ok_or_else(unknown),
        _ => Err(unknown()),
    })
}

/// `, did you mean "serve.listen"?`, or which keys there are.
fn did_you_mean<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let reach = (written.chars().count() / 3).max(1);
    let near = known.iter().map(|key| (strsim::damerau_levenshtein(written, key), key)).min();
    match near.filter(|(distance, _)| *distance <= reach) {
        Some((_, key)) => format!(", did you mean {key:?}?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> String {
        kind_of(&Path::parse(path)).unwrap_err()
    }

    #[test]
    fn every_key_is_listed_once() {
        let listed: std::collections::BTreeSet<&str> = KEYS.iter().map(|key| key.path).collect();
        assert_eq!(listed.len(), KEYS.len());
    }

    #[test]
    fn an_unknown_key_is_refused_with_what_was_probably_meant() {
        assert!(refused("serve.lisen").contains(r#"did you mean "serve.listen"?"#));
        assert!(refused("tools.sdlc.comand").contains(r#"did you mean "command"?"#));
        assert!(refused("tools.shell.enable").contains("tools.shell.enabled"));
        assert!(refused("serve").contains("a section"));
        assert!(refused("colour").contains("there are"));
    }

    #[test]
    fn a_chain_of_escalation_may_have_any_name() {
        assert_eq!(kind_of(&Path::parse("escalation.night.steps")), Ok(ValueKind::List));
        assert_eq!(kind_of(&Path::parse("escalation.default.ack_timeout")), Ok(ValueKind::Text));
        assert!(refused("escalation.night").contains("needs steps"));
        assert!(refused("escalation.night.step").contains("steps"));
    }

    #[test]
    fn a_tool_of_ones_own_may_have_any_name() {
        assert_eq!(kind_of(&Path::parse("tools.sdlc.args")), Ok(ValueKind::List));
        assert_eq!(kind_of(&Path::parse("tools.sdlc.env.HOME")), Ok(ValueKind::Text));
        assert_eq!(kind_of(&Path::parse("tools.sdlc.limits.cpu_seconds")), Ok(ValueKind::Number));
        assert!(refused("tools.sdlc.limits.cpu_secnds").contains(r#"did you mean "cpu_seconds"?"#));
    }
}
