//! What a job does and by which rules: from what was typed to the fields of a job. A new job gets them, a job that is
//! there has them laid over it.

use ordo_api::jobs::JobPatch;
use ordo_model::JobId;
use ordo_model::job::{After, Block, IncidentPolicy, Reaction};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::job::definition::{ActionArgs, PolicyArgs, ReactionArgs};
use crate::commands::find;
use crate::commands::talk::{CommandSession, wire};
use crate::error::{Error, Result};

/// The fields that were given; the others keep their defaults, or what they were.
pub(crate) async fn fields(talk: &CommandSession, policies: &PolicyArgs, action: &ActionArgs) -> Result<JobPatch> {
    let mut fields = RequestFields::default();
    // Options that are a field of their own are named like it.
    if let Value::Object(plain) = wire(policies) {
        fields.0.extend(plain);
    }
    fields.put("block", policies.concurrent.map(|max| Block::Concurrent { max }));
    fields.put(
        "retry",
        nested([
            ("max_attempts", attempts(policies).map(|n| wire(&n))),
            ("backoff", given(policies.backoff)),
            ("max_backoff", given(policies.max_backoff)),
        ]),
    );
    fields.put("retention", nested([("runs", given(policies.retain_runs)), ("age", given(policies.retain_age))]));
    let reactions = &policies.reactions;
    let failure = reactions.on_failure_incident.as_ref();
    fields.put("on_failure", reaction(reactions, failure, reactions.on_failure_after));
    let missed = reactions.on_missed_incident.as_ref();
    fields.put("on_missed", reaction(reactions, missed, reactions.on_missed_after));
    fields.put("after", after(talk, policies).await?);
    fields.put("tags", tags(policies));
    fields.put("tool_name", tool_name(action));
    fields.put("tool_input", tool_input(action));
    Ok(JobPatch(fields.0))
}

#[derive(Default)]
struct RequestFields(Map<String, Value>);

impl RequestFields {
    fn put(&mut self, name: &str, value: Option<impl Serialize>) {
        self.0.extend(value.map(|value| (name.to_owned(), wire(&value))));
    }
}

fn given(value: Option<impl Serialize>) -> Option<Value> {
    value.map(|value| wire(&value))
}

/// A field whose own fields are merged: only those that were given.
fn nested<const N: usize>(fields: [(&str, Option<Value>); N]) -> Option<Value> {
    let given: Map<String, Value> =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!given.is_empty()).then_some(Value::Object(given))
}

/// An empty one says that there are none.
fn tags(args: &PolicyArgs) -> Option<Vec<&str>> {
    let tags = args.tags.iter().map(String::as_str).filter(|tag| !tag.is_empty()).collect();
    (!args.tags.is_empty()).then_some(tags)
}

/// So many retries are one attempt more.
fn attempts(args: &PolicyArgs) -> Option<u32> {
    args.retry.map(|retries| retries.saturating_add(1))
}

fn tool_name(args: &ActionArgs) -> Option<&str> {
    if args.command.is_empty() && args.script.is_none() { args.tool.as_deref() } else { Some("shell") }
}

fn tool_input(args: &ActionArgs) -> Option<Value> {
    if let Some(script) = &args.script {
        return nested([("script", Some(wire(script)))]);
    }
    let [program, arguments @ ..] = args.command.as_slice() else { return args.input.clone() };
    let env: Map<String, Value> = args.env.iter().map(|(name, value)| (name.clone(), wire(value))).collect();
    nested([
        ("command", Some(wire(program))),
        ("args", given((!arguments.is_empty()).then_some(arguments))),
        ("env", given((!env.is_empty()).then_some(env))),
        ("cwd", given(args.cwd.as_ref())),
    ])
}

/// The chain, if there is one: jobs are named by id or label, and written down by id.
async fn after(talk: &CommandSession, args: &PolicyArgs) -> Result<Option<After>> {
    if args.after_jobs.is_empty() {
        return Ok(None);
    }
    let mut jobs: Vec<JobId> = Vec::with_capacity(args.after_jobs.len());
    for name in &args.after_jobs {
        let id = find::job(talk, name).await?;
        jobs.push(id.parse().map_err(|_| Error::misused(format!("{id} is no id of a job")))?);
    }
    Ok(Some(After { jobs, mode: args.after_mode.unwrap_or_default(), on: args.after_on.unwrap_or_default() }))
}

/// What was said of both kinds of incidents is laid over what was said of the one.
fn reaction(args: &ReactionArgs, policy: Option<&IncidentPolicy>, after: Option<u32>) -> Option<Reaction> {
    let policy = policy?;
    let incident = IncidentPolicy {
        severity: policy.severity,
        after: after.unwrap_or(policy.after),
        resolve_on_recovery: policy.resolve_on_recovery || args.resolve_on_recovery,
        escalation: args.escalation.clone().or_else(|| policy.escalation.clone()),
    };
    Some(Reaction { incident })
}
