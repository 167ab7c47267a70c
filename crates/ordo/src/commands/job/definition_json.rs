//! What a job does and by which rules: from what was typed to the fields the server knows.

use serde_json::{Map, Value, json};

use crate::cli::definition::{ActionArgs, PolicyArgs, ReactionArgs};
use crate::commands::find;
use crate::commands::talk::Talk;
use crate::error::Result;

/// `tool_name` and `tool_input`, as far as they were given.
pub(crate) fn action(args: &ActionArgs) -> Map<String, Value> {
    let mut fields = Map::new();
    if let [program, arguments @ ..] = args.command.as_slice() {
        fields.insert("tool_name".to_owned(), json!("shell"));
        fields.insert("tool_input".to_owned(), shell_input(args, program, arguments));
        return fields;
    }
    fields.extend(args.tool.as_ref().map(|name| ("tool_name".to_owned(), json!(name))));
    fields.extend(args.input.as_ref().map(|input| ("tool_input".to_owned(), input.clone())));
    fields
}

fn shell_input(args: &ActionArgs, program: &str, arguments: &[String]) -> Value {
    let mut input = json!({ "command": program });
    if !arguments.is_empty() {
        input["args"] = json!(arguments);
    }
    if !args.env.is_empty() {
        input["env"] = args.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    }
    if let Some(cwd) = &args.cwd {
        input["cwd"] = json!(cwd);
    }
    input
}

/// The policies that were given; the others keep their defaults, or what they were.
pub(crate) fn policies(args: &PolicyArgs) -> Map<String, Value> {
    let block = args.concurrent.map(|max| json!({ "concurrent": { "max": max } })).or_else(|| args.block.clone());
    let given = [
        ("description", args.description.as_ref().map(|text| json!(text))),
        ("misfire", args.misfire.clone()),
        ("block", block),
        ("routing", args.routing.as_ref().map(|rule| json!(rule))),
        ("group", args.group.as_ref().map(|group| json!(group))),
        ("priority", args.priority.map(|priority| json!(priority))),
        ("timeout", args.timeout.map(|timeout| json!(timeout))),
        ("retry", retry(args)),
        ("idempotent", args.idempotent.map(|idempotent| json!(idempotent))),
        ("retention", retention(args)),
        ("on_failure", on_failure(&args.reactions)),
        ("on_missed", on_missed(&args.reactions)),
        ("expire_after", args.expire_after.map(|length| json!(length))),
        ("concurrency_key", args.concurrency_key.clone()),
        ("rate_limit", args.rate_limit.clone()),
        ("unique_key", args.unique_key.clone()),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The chain, if there is one: jobs are named by id or label, and written down by id.
pub(crate) async fn after(talk: &Talk, args: &PolicyArgs) -> Result<Option<Value>> {
    if args.after_jobs.is_empty() {
        return Ok(None);
    }
    let mut jobs = Vec::with_capacity(args.after_jobs.len());
    for name in &args.after_jobs {
        jobs.push(find::job(talk, name).await?);
    }
    let mut after = json!({ "jobs": jobs });
    if let Some(mode) = &args.after_mode {
        after["mode"] = json!(mode);
    }
    if let Some(on) = &args.after_on {
        after["on"] = json!(on);
    }
    Ok(Some(after))
}

fn on_failure(args: &ReactionArgs) -> Option<Value> {
    let severity = args.on_failure_incident.as_ref()?;
    Some(reaction(args, severity, args.on_failure_after))
}

fn on_missed(args: &ReactionArgs) -> Option<Value> {
    Some(reaction(args, args.on_missed_incident.as_ref()?, None))
}

fn reaction(args: &ReactionArgs, severity: &str, after: Option<u32>) -> Value {
    let mut incident = json!({ "severity": severity, "resolve_on_recovery": args.resolve_on_recovery });
    if let Some(after) = after {
        incident["after"] = json!(after);
    }
    if let Some(name) = &args.escalation {
        incident["escalation"] = json!(name);
    }
    json!({ "incident": incident })
}

/// So many retries are one attempt more.
fn retry(args: &PolicyArgs) -> Option<Value> {
    let mut retry = Map::new();
    retry.extend(args.retry.map(|retries| ("max_attempts".to_owned(), json!(retries.saturating_add(1)))));
    retry.extend(args.backoff.map(|backoff| ("backoff".to_owned(), json!(backoff))));
    (!retry.is_empty()).then_some(Value::Object(retry))
}

fn retention(args: &PolicyArgs) -> Option<Value> {
    let mut retention = Map::new();
    retention.extend(args.retain_runs.map(|runs| ("runs".to_owned(), json!(runs))));
    retention.extend(args.retain_age.map(|age| ("age".to_owned(), json!(age))));
    (!retention.is_empty()).then_some(Value::Object(retention))
}
