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
}

pub(super) const KEYS: &[ConfigKey] = &[
    key("group", ValueKind::Text, Some("default")),
    // Shares of requests in a minute, for each token and each hook; 0 is without a limit.
    key("limits.hook_requests_per_minute", ValueKind::Number, Some("600")),
    key("limits.requests_per_minute", ValueKind::Number, Some("6000")),
    key("log.format", ValueKind::Text, Some("pretty")),
    key("log.level", ValueKind::Text, Some("info")),
    // Not the host's name: a container has a new one with every start, and its former generation would not be recognised.
    key("node", ValueKind::Text, Some(DEFAULT_NODE)),
    key("orchestrate.tick_rate", ValueKind::Text, Some("60s")),
    // Within this time what waits in an outbox is handed on, however the process went on.
    key("outbox.flush_delay_ms", ValueKind::Number, Some("100")),
    key("pools.fast.queue", ValueKind::Number, Some("2000")),
    key("pools.fast.slots", ValueKind::Number, Some("200")),
    key("pools.slow.queue", ValueKind::Number, Some("5000")),
    key("pools.slow.slots", ValueKind::Number, Some("100")),
    // The same file on every node of a cluster.
    key("secrets.key_file", ValueKind::Text, Some(".ordo/secret.key")),
    key("senders.file.path", ValueKind::Text, None),
    // What a proxy puts before every path: `/ordo`.
    key("serve.base_path", ValueKind::Text, Some("")),
    key("serve.grace", ValueKind::Text, Some("30s")),
    key("serve.listen", ValueKind::Text, Some("127.0.0.1:7070")),
    key("serve.tick_rate", ValueKind::Text, Some("1s")),
    // Where all events are mirrored to; needs a binary that was built with the feature of the same name.
    key("sinks.kurrentdb.connection", ValueKind::Text, None),
    key("slack.api_url", ValueKind::Text, Some("https://slack.com/api")),
    key("slack.bot_token", ValueKind::Text, None),
    key("slack.channel", ValueKind::Text, None),
    key("slack.events", ValueKind::List, Some("incident.*")),
    key("slack.signing_secret", ValueKind::Text, None),
    key("smtp.events", ValueKind::List, Some("incident.*")),
    key("smtp.from", ValueKind::Text, None),
    key("smtp.to", ValueKind::List, None),
    key("smtp.url", ValueKind::Text, None),
    key("store.cache_bytes", ValueKind::Number, Some("67108864")),
    key("store.path", ValueKind::Text, Some(".ordo/orchestrator.db")),
    key("telemetry.otlp_endpoint", ValueKind::Text, None),
    key("telemetry.sample", ValueKind::Text, Some("1")),
    key("telemetry.service_name", ValueKind::Text, Some("ordo")),
    // bundled, system, or newest: the newer of the two.
    key("time.zones", ValueKind::Text, Some("bundled")),
    key("tools.http.allow", ValueKind::List, Some("")),
    key("tools.shell.allow", ValueKind::List, None),
    // Variables of the server's environment that commands see besides PATH, HOME and their like.
    key("tools.shell.environment", ValueKind::List, Some("")),
    key("tools.shell.enabled", ValueKind::Bool, Some("true")),
    key("tools.shell.limits.cpu_seconds", ValueKind::Number, None),
    key("tools.shell.limits.file_bytes", ValueKind::Number, None),
    key("tools.shell.limits.memory_bytes", ValueKind::Number, None),
    key("tools.shell.limits.open_files", ValueKind::Number, None),
    key("tools.shell.limits.processes", ValueKind::Number, None),
    // These two need a server that runs as root.
    key("tools.shell.private_tmp", ValueKind::Bool, Some("false")),
    key("tools.shell.user", ValueKind::Text, None),
    key("webhooks.allow", ValueKind::List, Some("")),
];

/// What a tool of one's own may say; `env` holds one key per variable.
const NAMED_TOOL: [(&str, ValueKind); 7] = [
    ("args", ValueKind::List),
    ("command", ValueKind::Text),
    ("cwd", ValueKind::Text),
    ("env", ValueKind::Text),
    ("private_tmp", ValueKind::Bool),
    ("stdin", ValueKind::Text),
    ("user", ValueKind::Text),
];
const NAMED_TOOL_LIMITS: [&str; 5] = ["cpu_seconds", "file_bytes", "memory_bytes", "open_files", "processes"];
const BUILT_IN_TOOLS: [&str; 3] = ["http", "noop", "shell"];

const fn key(path: &'static str, kind: ValueKind, default: Option<&'static str>) -> ConfigKey {
    ConfigKey { path, kind, default }
}

/// The kind of a key, or the message for whoever wrote it.
pub(super) fn kind_of(path: &Path) -> Result<ValueKind, String> {
    if let Some(kind) = named_tool_kind(path) {
        return kind;
    }
    if let Some(kind) = escalation_kind(path) {
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
    let known = NAMED_TOOL.iter().map(|(field, _)| *field);
    Some(match rest {
        [] => Err(format!("tools.{name} is a section, not a value: it needs a command")),
        ["env", _] => Ok(ValueKind::Text),
        ["limits", limit] if NAMED_TOOL_LIMITS.contains(limit) => Ok(ValueKind::Number),
        ["limits", limit] => {
            Err(format!("unknown key {path}{}", did_you_mean(limit, NAMED_TOOL_LIMITS.iter().copied())))
        }
        [field] if *field != "env" => match NAMED_TOOL.iter().find(|(known, _)| known == field) {
            Some((_, kind)) => Ok(*kind),
            None => Err(format!("unknown key {path}{}", did_you_mean(field, known))),
        },
        _ => Err(format!("unknown key {path}")),
    })
}

/// A chain of escalation may have any name.
fn escalation_kind(path: &Path) -> Option<Result<ValueKind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["escalation", name, rest @ ..] = segments.as_slice() else { return None };
    Some(match rest {
        ["steps"] => Ok(ValueKind::List),
        ["ack_timeout"] => Ok(ValueKind::Text),
        [] => Err(format!("escalation.{name} is a section, not a value: it needs steps")),
        _ => Err(format!("unknown key {path}; there are steps and ack_timeout")),
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
