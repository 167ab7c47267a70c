//! What the buttons of a job do. Each leads back with a word about it.

use axum::extract::Form;
use axum::response::Response;
use ordo_model::job::{Cause, Command, Order, decide};
use ordo_model::limits::BACKFILL_MAX;
use ordo_model::{JobId, Timestamp};
use serde_json::Value;

use super::desk::{Desk, Flash};
use super::outcome::grouped;
use crate::jobs::{find, named};
use crate::path::Named;
use crate::problem::Problem;
use crate::tool_check;

type Fields = Form<Vec<(String, String)>>;

pub(crate) fn field<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let given = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    given.filter(|value| !value.is_empty())
}

/// Back to where the button was; a refusal is told there.
fn back(desk: &Desk, fields: &[(String, String)], id: JobId, done: Result<String, Problem>) -> Response {
    let own = format!("/jobs/{id}");
    let to = field(fields, "back").unwrap_or(&own);
    match done {
        Ok(text) => desk.go(to, &Flash::good(text)),
        Err(problem) => desk.go(to, &Flash::bad(problem.detail)),
    }
}

async fn order(desk: &Desk, id: JobId, command: Command, done: &str) -> Result<String, Problem> {
    desk.operator()?;
    let accepted = desk.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(format!("{done} {}", accepted.job.definition.label))
}

pub(crate) async fn pause(desk: Desk, Named(id): Named<JobId>, Form(fields): Fields) -> Response {
    let reason = field(&fields, "reason").map(str::to_owned);
    let done = order(&desk, id, Command::Pause { reason }, "Paused").await;
    back(&desk, &fields, id, done)
}

pub(crate) async fn resume(desk: Desk, Named(id): Named<JobId>, Form(fields): Fields) -> Response {
    let done = order(&desk, id, Command::Resume, "Resumed").await;
    back(&desk, &fields, id, done)
}

pub(crate) async fn cancel(desk: Desk, Named(id): Named<JobId>, Form(fields): Fields) -> Response {
    let reason = field(&fields, "reason").map(str::to_owned);
    let done = order(&desk, id, Command::Cancel { reason }, "Cancelled").await;
    back(&desk, &fields, id, done)
}

/// Leads to the run when it was asked for from the job's own page.
pub(crate) async fn trigger(desk: Desk, Named(id): Named<JobId>, Form(fields): Fields) -> Response {
    match triggered(&desk, id, &fields).await {
        Ok((label, Some(run))) if field(&fields, "back").is_none() => {
            desk.go(&format!("/runs/{run}"), &Flash::good(format!("Triggered {label}")))
        }
        Ok((label, _)) => back(&desk, &fields, id, Ok(format!("Triggered {label}"))),
        Err(problem) => back(&desk, &fields, id, Err(problem)),
    }
}

async fn triggered(
    desk: &Desk,
    id: JobId,
    fields: &[(String, String)],
) -> Result<(String, Option<ordo_model::RunId>), Problem> {
    desk.operator()?;
    let job = find(&desk.app, id).await?;
    let given = field(fields, "tool_input").map(serde_json::from_str::<Value>).transpose();
    let unread = |error| Problem::new(crate::code::Code::InvalidJson, format!("the input is not JSON: {error}"));
    let input = given.map_err(unread)?.filter(|input| *input != job.definition.tool_input);
    if let Some(input) = &input {
        tool_check::check(&desk.app.engine, &job.definition, input).await?;
    }
    let command = Command::Trigger { tool_input: input, traceparent: None };
    let accepted = desk.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    let mine = accepted.runs.iter().filter(|run| matches!(run.cause, Cause::Manual)).max_by_key(|run| run.version);
    Ok((job.definition.label.clone(), mine.map(|run| run.id)))
}

pub(crate) async fn backfill(desk: Desk, Named(id): Named<JobId>, Form(fields): Fields) -> Response {
    let done = backfilled(&desk, id, &fields).await;
    back(&desk, &fields, id, done)
}

async fn backfilled(desk: &Desk, id: JobId, fields: &[(String, String)]) -> Result<String, Problem> {
    desk.operator()?;
    let from = moment(desk, fields, "from")?;
    let to = moment(desk, fields, "to")?.min(desk.now);
    let job = find(&desk.app, id).await?;
    let schedule = job.definition.trigger.schedule();
    let found = schedule.map_or(0, |schedule| schedule.between(from, to, BACKFILL_MAX, id.0).len());
    let command = Command::Backfill { from, to };
    if field(fields, "dry_run").is_some() {
        decide(id, Some(job), Order { command, seat: None }, desk.now)?;
        return Ok(format!("A backfill would run {} occurrences", grouped(found)));
    }
    desk.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(format!("Backfilling {} occurrences", grouped(found)))
}

/// A wall-clock time in the viewer's zone.
fn moment(desk: &Desk, fields: &[(String, String)], name: &str) -> Result<Timestamp, Problem> {
    let wrong = || Problem::field(crate::code::Code::InvalidBody, name, "must be a date and a time");
    wall_time(field(fields, name).ok_or_else(wrong)?, desk.taste.zone_name()).ok_or_else(wrong)
}

/// `2026-11-15T19:30` in a zone.
pub(crate) fn wall_time(text: &str, zone: &str) -> Option<Timestamp> {
    let wall: jiff::civil::DateTime = text.parse().ok()?;
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    Timestamp::from_jiff(wall.to_zoned(zone).ok()?.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_from_a_form_is_meant_in_the_viewers_zone() {
        let at = wall_time("2026-11-15T19:30", "Europe/Berlin").unwrap();
        assert_eq!(at.to_string(), "2026-11-15T18:30:00.000Z");
        assert_eq!(wall_time("2026-11-15T19:30:05", "UTC").unwrap().to_string(), "2026-11-15T19:30:05.000Z");
        assert_eq!(wall_time("soon", "UTC"), None);
    }
}
