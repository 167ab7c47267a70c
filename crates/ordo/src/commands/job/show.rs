//! `ordo job show`

use serde_json::Value;

use super::words;
use crate::commands::find::{self, text};
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{table, time};

pub(crate) async fn run(talk: &CommandSession, name: &str) -> Result<Exit> {
    let id = find::job(talk, name).await?;
    let job = talk.get(&format!("/v1/jobs/{id}")).await?;
    talk.value(&job, || human(talk, &job))?;
    Ok(Exit::Done)
}

fn human(talk: &CommandSession, job: &Value) -> String {
    let zone = words::zone_of(talk, job);
    let at = |field: &str| time::of(&job[field]).map(|at| time::both(at, talk.now(), &zone));
    let mut pairs = vec![
        ("label", text(job, "label")),
        ("id", text(job, "id")),
        ("state", talk.paint.state(&text(job, "state"))),
        ("runs", words::trigger(job)),
    ];
    pairs.extend(at("paused_since").map(|since| ("paused", paused(&since, job))));
    pairs.extend(at("next_tick_at").map(|next| ("next", next)));
    pairs.extend(job["description"].as_str().map(|text| ("description", text.to_owned())));
    pairs.extend(job["description_url"].as_str().map(|url| ("runbook", url.to_owned())));
    pairs.extend(tags(job).map(|tags| ("tags", tags)));
    pairs.push(("tool", text(job, "tool_name")));
    pairs.push(("input", job["tool_input"].to_string()));
    for (name, field) in [
        ("misfire", "misfire"),
        ("block", "block"),
        ("routing", "routing"),
        ("group", "group"),
        ("priority", "priority"),
        ("timeout", "timeout"),
        ("idempotent", "idempotent"),
    ] {
        pairs.push((name, text(job, field)));
    }
    pairs.push(("pool", format!("{}: {}", text(job, "pool"), text(job, "pool_reason"))));
    for (name, field) in [
        ("after", "after"),
        ("expires", "expire_after"),
        ("concurrency", "concurrency_key"),
        ("rate", "rate_limit"),
        ("unique", "unique_key"),
    ] {
        pairs.extend(job.get(field).filter(|value| !value.is_null()).map(|_| (name, text(job, field))));
    }
    pairs.push(("retry", retry(job)));
    pairs.push(("keeps", retention(&job["retention"])));
    pairs.push(("revision", text(job, "revision")));
    pairs.extend(at("created_at").map(|at| ("created", at)));
    pairs.extend(at("updated_at").map(|at| ("updated", at)));
    table::fields(&pairs, talk.paint)
}

fn paused(since: &str, job: &Value) -> String {
    match job["paused_reason"].as_str() {
        Some(reason) => format!("since {since}: {reason}"),
        None => format!("since {since}"),
    }
}

fn retention(retention: &Value) -> String {
    let runs = if retention["runs"] == 1 { "1 run".to_owned() } else { format!("{} runs", retention["runs"]) };
    format!("{runs}, at most {}", text(retention, "age"))
}

fn tags(job: &Value) -> Option<String> {
    let tags: Vec<&str> = job["tags"].as_array()?.iter().filter_map(Value::as_str).collect();
    Some(tags.join(" "))
}

fn retry(job: &Value) -> String {
    match job["retry"]["max_attempts"].as_u64() {
        None | Some(0 | 1) => "no".to_owned(),
        Some(attempts) => format!("{} attempts, first after {}", attempts, text(&job["retry"], "backoff")),
    }
}
