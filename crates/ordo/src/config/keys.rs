//! Every key of the configuration, on one page.
//!
//! Invariant: a key that is not here is refused, with what was probably meant; nothing is silently ignored.

use super::layers::Path;

/// What a node is called if nobody says.
pub(crate) const DEFAULT_NODE: &str = "local";

/// How a value is written where everything is text (in the environment and in flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Bool,
    /// `a,b` or `["a", "b"]`
    List,
}

pub(super) struct Key {
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    /// As it would be written in the file.
    pub(super) default: Option<&'static str>,
}

pub(super) const KEYS: &[Key] = &[
    key("group", Kind::Text, Some("default")),
    // Shares of requests in a minute, for each token and each hook; 0 is without a limit.
    key("limits.hook_requests_per_minute", Kind::Number, Some("600")),
    key("limits.requests_per_minute", Kind::Number, Some("6000")),
    key("log.format", Kind::Text, Some("pretty")),
    key("log.level", Kind::Text, Some("info")),
    // Not the host's name: a container has a new one with every start, and its former generation would not be recognised.
    key("node", Kind::Text, Some(DEFAULT_NODE)),
    key("orchestrate.tick_rate", Kind::Text, Some("60s")),
    // Within this time what waits in an outbox is handed on, however the process went on.
    key("outbox.flush_delay_ms", Kind::Number, Some("100")),
    key("pools.fast.queue", Kind::Number, Some("2000")),
    key("pools.fast.slots", Kind::Number, Some("200")),
    key("pools.slow.queue", Kind::Number, Some("5000")),
    key("pools.slow.slots", Kind::Number, Some("100")),
    key("senders.file.path", Kind::Text, None),
    // The same file on every node of a cluster.
    key("secrets.key_file", Kind::Text, Some(".ordo/secret.key")),
    // What a proxy puts before every path: `/ordo`.
    key("serve.base_path", Kind::Text, Some("")),
    key("senders.file.path", Kind::Text, None),
    key("serve.grace", Kind::Text, Some("30s")),
    key("serve.listen", Kind::Text, Some("127.0.0.1:7070")),
    key("serve.tick_rate", Kind::Text, Some("1s")),
    key("slack.api_url", Kind::Text, Some("https://slack.com/api")),
    key("slack.bot_token", Kind::Text, None),
    key("slack.channel", Kind::Text, None),
    key("slack.events", Kind::List, Some("incident.*")),
    key("slack.signing_secret", Kind::Text, None),
    key("smtp.events", Kind::List, Some("incident.*")),
    key("smtp.from", Kind::Text, None),
    key("smtp.to", Kind::List, None),
    key("smtp.url", Kind::Text, None),
    key("store.cache_bytes", Kind::Number, Some("67108864")),
    key("store.path", Kind::Text, Some(".ordo/orchestrator.db")),
    key("telemetry.otlp_endpoint", Kind::Text, None),
    key("telemetry.sample", Kind::Text, Some("1")),
    key("telemetry.service_name", Kind::Text, Some("ordo")),
    // bundled, system, or newest: the newer of the two.
    key("time.zones", Kind::Text, Some("bundled")),
    key("tools.http.allow", Kind::List, Some("")),
    key("tools.shell.allow", Kind::List, None),
    // Variables of the server's environment that commands see besides PATH, HOME and their like.
    key("tools.shell.environment", Kind::List, Some("")),
    key("tools.shell.enabled", Kind::Bool, Some("true")),
    key("webhooks.allow", Kind::List, Some("")),
];

/// What a tool of one's own may say; `env` holds one key per variable.
const NAMED_TOOL: [(&str, Kind); 5] =
    [("args", Kind::List), ("command", Kind::Text), ("cwd", Kind::Text), ("env", Kind::Text), ("stdin", Kind::Text)];
const BUILT_IN_TOOLS: [&str; 3] = ["http", "noop", "shell"];

const fn key(path: &'static str, kind: Kind, default: Option<&'static str>) -> Key {
    Key { path, kind, default }
}

/// The kind of a key, or what to tell whoever wrote it.
pub(super) fn kind_of(path: &Path) -> Result<Kind, String> {
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

fn named_tool_kind(path: &Path) -> Option<Result<Kind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["tools", name, rest @ ..] = segments.as_slice() else { return None };
    if BUILT_IN_TOOLS.contains(name) {
        return None;
    }
    let known = NAMED_TOOL.iter().map(|(field, _)| *field);
    Some(match rest {
        [] => Err(format!("tools.{name} is a section, not a value: it needs a command")),
        ["env", _] => Ok(Kind::Text),
        [field] if *field != "env" => match NAMED_TOOL.iter().find(|(known, _)| known == field) {
            Some((_, kind)) => Ok(*kind),
            None => Err(format!("unknown key {path}{}", did_you_mean(field, known))),
        },
        _ => Err(format!("unknown key {path}")),
    })
}

/// A chain of escalation may have any name.
fn escalation_kind(path: &Path) -> Option<Result<Kind, String>> {
    let segments: Vec<&str> = path.segments().collect();
    let ["escalation", name, rest @ ..] = segments.as_slice() else { return None };
    Some(match rest {
        ["steps"] => Ok(Kind::List),
        ["ack_timeout"] => Ok(Kind::Text),
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
    fn an_unknown_key_is_refused_with_what_was_probably_meant() {
        assert!(refused("serve.lisen").contains(r#"did you mean "serve.listen"?"#));
        assert!(refused("tools.sdlc.comand").contains(r#"did you mean "command"?"#));
        assert!(refused("tools.shell.enable").contains("tools.shell.enabled"));
        assert!(refused("serve").contains("a section"));
        assert!(refused("colour").contains("there are"));
    }

    #[test]
    fn a_chain_of_escalation_may_have_any_name() {
        assert_eq!(kind_of(&Path::parse("escalation.night.steps")), Ok(Kind::List));
        assert_eq!(kind_of(&Path::parse("escalation.default.ack_timeout")), Ok(Kind::Text));
        assert!(refused("escalation.night").contains("needs steps"));
        assert!(refused("escalation.night.step").contains("steps"));
    }

    #[test]
    fn a_tool_of_ones_own_may_have_any_name() {
        assert_eq!(kind_of(&Path::parse("tools.sdlc.args")), Ok(Kind::List));
        assert_eq!(kind_of(&Path::parse("tools.sdlc.env.HOME")), Ok(Kind::Text));
    }
}
