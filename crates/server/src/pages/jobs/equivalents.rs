//! The same job as a command line and as a request, for those who want to write it down.
//!
//! Invariant: what is shown makes the same job; what stands at its default is left out.

use ordo_model::job::{
    AfterMode, AfterOn, Block, Definition, IncidentPolicy, KeySource, OnConflict, Reaction, Retry, Trigger,
};
use ordo_model::schedule::Rule;
use serde_json::{Map, Value, json};

/// What is written in another way than as an option of the same name.
const OWN_FORM: [&str; 3] = ["label", "tool_name", "block"];

pub(crate) fn cli(definition: &Definition) -> String {
    let mut words = vec!["ordo job add".to_owned(), quoted(&definition.label)];
    let mut option = |name: &str, value: &str| {
        // A value that looks like an option must not be taken for one.
        let between = if value.starts_with('-') { "=" } else { " " };
        words.push(format!("--{name}{between}{}", quoted(value)));
    };
    let short = short_form(definition);
    trigger_options(&definition.trigger, &mut option);
    for (key, value) in short.iter().filter(|(key, _)| !OWN_FORM.contains(&key.as_str())) {
        if let Some(text) = one_word(value) {
            option(&key.replace('_', "-"), &text);
        }
    }
    for tag in &definition.tags {
        option("tag", tag);
    }
    if let Some(misfire @ Value::Object(_)) = short.get("misfire") {
        option("misfire", &misfire.to_string());
    }
    match definition.block {
        Block::Serial => {}
        Block::Discard => option("block", "discard"),
        Block::Cover => option("block", "cover"),
        Block::Concurrent { max } => option("concurrent", &max.to_string()),
    }
    retry_options(definition.retry, &mut option);
    if short.contains_key("retention") {
        option("retain-runs", &definition.retention.runs.to_string());
        option("retain-age", &definition.retention.age.to_string());
    }
    limit_options(definition, &mut option);
    reaction_options(definition, &mut option);
    if agreed(definition).is_some_and(|policy| policy.resolve_on_recovery) {
        words.push("--resolve-on-recovery".to_owned());
    }
    if definition.idempotent {
        words.push("--idempotent".to_owned());
    }
    words.push(action(definition));
    words.join(" \\\n  ").replacen(" \\\n  ", " ", 1)
}

/// A text or a number as an option takes it.
fn one_word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn retry_options(retry: Retry, option: &mut impl FnMut(&str, &str)) {
    let Retry { max_attempts, backoff, max_backoff } = Retry::default();
    if retry.max_attempts != max_attempts {
        option("retry", &(retry.max_attempts.saturating_sub(1)).to_string());
    }
    for (name, value, default) in [("backoff", retry.backoff, backoff), ("max-backoff", retry.max_backoff, max_backoff)]
    {
        if value != default {
            option(name, &value.to_string());
        }
    }
}

/// What the incidents of a job have in common, if they do not contradict each other: then options say it best.
fn agreed(definition: &Definition) -> Option<&IncidentPolicy> {
    let common = |policy: &IncidentPolicy| (policy.resolve_on_recovery, policy.escalation.clone());
    match (definition.on_failure.as_ref(), definition.on_missed.as_ref()) {
        (Some(one), Some(other)) if common(&one.incident) != common(&other.incident) => None,
        (one, other) => one.or(other).map(|reaction| &reaction.incident),
    }
}

fn reaction_options(definition: &Definition, option: &mut impl FnMut(&str, &str)) {
    let agreed = agreed(definition);
    for (name, reaction) in [("on-failure", &definition.on_failure), ("on-missed", &definition.on_missed)] {
        let Some(Reaction { incident }) = reaction else { continue };
        if agreed.is_none() {
            option(&format!("{name}-incident"), &serde_json::to_string(incident).unwrap_or_default());
            continue;
        }
        option(&format!("{name}-incident"), incident.severity.name());
        if incident.after != 1 {
            option(&format!("{name}-after"), &incident.after.to_string());
        }
    }
    if let Some(escalation) = agreed.and_then(|policy| policy.escalation.as_deref()) {
        option("escalation", escalation);
    }
}

/// Keys that runs share, and the jobs that it comes after.
fn limit_options(definition: &Definition, option: &mut impl FnMut(&str, &str)) {
    let key = |source: &KeySource| String::from(source.clone());
    if let Some(limit) = &definition.concurrency_key {
        option("concurrency-key", &format!("{}:{}", key(&limit.key), limit.max));
    }
    if let Some(rate) = &definition.rate_limit {
        option("rate-limit", &format!("{}:{}/{}", key(&rate.key), rate.limit, rate.per));
    }
    if let Some(unique) = &definition.unique_key {
        let end = if unique.on_conflict == OnConflict::Merge { ":merge" } else { "" };
        option("unique-key", &format!("{}:{}{end}", key(&unique.key), unique.window));
    }
    let Some(after) = &definition.after else { return };
    for job in &after.jobs {
        option("after", &job.to_string());
    }
    if after.mode == AfterMode::Any {
        option("after-mode", after.mode.name());
    }
    if after.on != AfterOn::Success {
        option("after-on", after.on.name());
    }
}

fn trigger_options(trigger: &Trigger, option: &mut impl FnMut(&str, &str)) {
    let schedule = match trigger {
        Trigger::Scheduled(schedule) => schedule,
        Trigger::Webhook { hook } => return option("on-hook", hook),
        Trigger::Manual => return,
    };
    match &schedule.rule {
        Rule::At { at } => option("at", &at.to_string()),
        Rule::Every { every } => option("every", &every.to_string()),
        Rule::Cron { expr, timezone, dst } => {
            option("cron", expr);
            option("tz", timezone);
            for (name, value, default) in [
                ("dst-skipped", serde_json::to_value(dst.skipped), "shift"),
                ("dst-repeated", serde_json::to_value(dst.repeated), "first"),
            ] {
                if let Ok(Value::String(value)) = value
                    && value != default
                {
                    option(name, &value);
                }
            }
        }
    }
    if let Some(jitter) = schedule.jitter {
        option("jitter", &jitter.to_string());
    }
    for (name, moment) in [("start", schedule.start), ("end", schedule.end)] {
        if let Some(moment) = moment {
            option(name, &moment.to_string());
        }
    }
    for window in &schedule.exclude {
        option("exclude", &serde_json::to_string(window).unwrap_or_default());
    }
}

/// A plain command stands behind `--`; everything else is a tool with its input.
fn action(definition: &Definition) -> String {
    let input = definition.tool_input.as_object();
    if let Some((command, args)) = input.filter(|_| definition.tool_name == "shell").and_then(plain_command) {
        return std::iter::once("--".to_owned())
            .chain([quoted(command)])
            .chain(args.iter().map(|arg| quoted(arg)))
            .collect::<Vec<_>>()
            .join(" ");
    }
    if let Some(script) = input.filter(|_| definition.tool_name == "shell").and_then(only_script) {
        return format!("--script {}", quoted(script));
    }
    let input = definition.tool_input.to_string();
    match definition.tool_input == json!({}) {
        true => format!("--tool {}", quoted(&definition.tool_name)),
        false => format!("--tool {} --input {}", quoted(&definition.tool_name), quoted(&input)),
    }
}

/// One that does not look like an option.
fn only_script(input: &Map<String, Value>) -> Option<&str> {
    let script = input.get("script").and_then(Value::as_str).filter(|script| !script.starts_with('-'))?;
    (input.len() == 1).then_some(script)
}

fn plain_command(input: &Map<String, Value>) -> Option<(&str, Vec<&str>)> {
    let args = match input.get("args") {
        None => Vec::new(),
        Some(args) => {
            args.as_array().filter(|args| !args.is_empty())?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?
        }
    };
    let is_plain = input.keys().all(|key| key == "command" || key == "args");
    input.get("command").and_then(Value::as_str).filter(|_| is_plain).map(|command| (command, args))
}

pub(crate) fn curl(definition: &Definition, base_path: &str) -> String {
    let body = serde_json::to_string_pretty(&short_form(definition)).unwrap_or_default();
    format!(
        "curl -X POST \"$ORDO_SERVER{base_path}/v1/jobs\" \\\n  -H \"Authorization: Bearer $ORDO_TOKEN\" \\\n  \
         -H \"Content-Type: application/json\" \\\n  -d {}",
        quoted(&body)
    )
}

/// The definition without what stands at its default.
fn short_form(definition: &Definition) -> Map<String, Value> {
    let full = serde_json::to_value(definition).ok();
    let plain = json!({ "label": "", "tool_name": "", "trigger": { "type": "manual" } });
    let plain = serde_json::from_value::<Definition>(plain).ok().and_then(|plain| serde_json::to_value(plain).ok());
    let fields = full.and_then(|full| full.as_object().cloned()).unwrap_or_default();
    let is_needed = |key: &str| ["label", "tool_name", "trigger"].contains(&key);
    let is_default = |key: &str, value: &Value| plain.as_ref().is_some_and(|plain| plain.get(key) == Some(value));
    fields.into_iter().filter(|(key, value)| is_needed(key) || !is_default(key, value)).collect()
}

/// For a shell of Unix.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(text: &str) -> Definition {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_plain_command_is_one_line_a_newcomer_would_type() {
        let hello = definition(
            r#"{"label":"hello","tool_name":"shell","tool_input":{"command":"echo","args":["it's"]},
                "trigger":{"type":"scheduled","every":"10s"}}"#,
        );
        assert_eq!(cli(&hello), "ordo job add hello \\\n  --every 10s \\\n  -- echo 'it'\\''s'");
    }

    #[test]
    fn limits_and_chains_are_options_too() {
        let limited = definition(
            r#"{"label":"a","tool_name":"noop","trigger":{"type":"manual"},"expire_after":"5m",
                "description_url":"https://wiki/a","tags":["nightly","team:a"],"priority":7,"misfire":{"fire_all":{"cap":5}},
                "concurrency_key":{"key":"/tenant","max":2},"rate_limit":{"key":"label","limit":3,"per":"1m"},
                "unique_key":{"key":"label","window":"1h","on_conflict":"merge"},
                "after":{"jobs":["01a1df14-1e00-736d-9929-59576f602556"],"on":"failure"}}"#,
        );
        let cli = cli(&limited);
        for part in [
            "--description-url https://wiki/a",
            "--priority 7",
            "--tag nightly \\\n  --tag team:a",
            "--misfire '{\"fire_all\":{\"cap\":5,",
            "--expire-after 5m",
            "--concurrency-key /tenant:2",
            "--rate-limit label:3/1m",
            "--unique-key label:1h:merge",
            "--after 01a1df14-1e00-736d-9929-59576f602556",
            "--after-on failure",
        ] {
            assert!(cli.contains(part), "{part}: {cli}");
        }
    }

    #[test]
    fn defaults_are_left_out_and_the_rest_is_kept() {
        let nightly = definition(
            r#"{"label":"a b","tool_name":"http","tool_input":{"url":"http://x"},"retry":{"max_attempts":3},
                "block":"discard","trigger":{"type":"scheduled","cron":"0 2 * * *","timezone":"Europe/Berlin"}}"#,
        );
        let (cli, curl) = (cli(&nightly), curl(&nightly, ""));
        for part in ["'a b'", "--cron '0 2 * * *'", "--tz Europe/Berlin", "--retry 2", "--block discard", "--tool http"]
        {
            assert!(cli.contains(part), "{part}: {cli}");
        }
        assert!(curl.contains("\"max_attempts\": 3") && !curl.contains("priority"), "{curl}");
    }
}
