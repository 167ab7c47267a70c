//! What the buttons of a job do. Each leads back with a word about it.

use axum::extract::Form;
use axum::response::Response;
use ordo_model::job::{Cause, Command, SlottedCommand, decide};
use ordo_model::limits::BACKFILL_MAX;
use ordo_model::{JobId, Timestamp, zones};
use serde_json::Value;

use crate::api::jobs::tool_check;
use crate::api::jobs::{find, named};
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::runs::outcome::{Counted, counted};

pub(crate) type FormFields = Form<Vec<(String, String)>>;

pub(crate) fn field<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let given = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    given.filter(|value| !value.is_empty())
}

/// Back to where the button was; a refusal is shown there.
fn back(ctx: &PageContext, fields: &[(String, String)], id: JobId, done: Result<String, Problem>) -> Response {
    let own = format!("/jobs/{id}");
    let to = field(fields, "back").unwrap_or(&own);
    match done {
        Ok(text) => ctx.go(to, &Flash::good(text)),
        Err(problem) => ctx.go(to, &Flash::bad(problem.detail)),
    }
}

async fn order(ctx: &PageContext, id: JobId, command: Command, done: &str) -> Result<String, Problem> {
    ctx.operator()?;
    let accepted = ctx.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(format!("{done} {}", accepted.job.definition.label))
}

pub(crate) async fn pause(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    let reason = field(&fields, "reason").map(str::to_owned);
    let done = order(&ctx, id, Command::Pause { reason }, "Paused").await;
    back(&ctx, &fields, id, done)
}

pub(crate) async fn resume(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    let done = order(&ctx, id, Command::Resume, "Resumed").await;
    back(&ctx, &fields, id, done)
}

pub(crate) async fn cancel(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    let reason = field(&fields, "reason").map(str::to_owned);
    let done = match field(&fields, "confirmed") {
        Some(_) => order(&ctx, id, Command::Cancel { reason }, "Cancelled").await,
        None => {
            Err(Problem::field(ordo_api::Code::InvalidBody, "confirmed", "confirm that the job is to end for good"))
        }
    };
    back(&ctx, &fields, id, done)
}

/// Leads to the run when it was asked for from the job's own page.
pub(crate) async fn trigger(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    match triggered(&ctx, id, &fields).await {
        Ok((label, Some(run))) if field(&fields, "back").is_none() => {
            ctx.go(&format!("/runs/{run}"), &Flash::good(format!("Triggered {label}")))
        }
        Ok((label, _)) => back(&ctx, &fields, id, Ok(format!("Triggered {label}"))),
        Err(problem) => back(&ctx, &fields, id, Err(problem)),
    }
}

async fn triggered(
    ctx: &PageContext,
    id: JobId,
    fields: &[(String, String)],
) -> Result<(String, Option<ordo_model::RunId>), Problem> {
    ctx.operator()?;
    let job = find(&ctx.app, id).await?;
    let given = field(fields, "tool_input").map(serde_json::from_str::<Value>).transpose();
    let unread = |error| Problem::new(ordo_api::Code::InvalidJson, format!("the input is not JSON: {error}"));
    let input = given.map_err(unread)?.filter(|input| *input != job.definition.tool_input);
    if let Some(input) = &input {
        tool_check::check(&ctx.app.engine, &job.definition, input).await?;
    }
    let command = Command::Trigger { tool_input: input, traceparent: None };
    let accepted = ctx.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    let mine = accepted.runs.iter().filter(|run| matches!(run.cause, Cause::Manual)).max_by_key(|run| run.version);
    Ok((job.definition.label.clone(), mine.map(|run| run.id)))
}

pub(crate) async fn backfill(ctx: PageContext, Named(id): Named<JobId>, Form(fields): FormFields) -> Response {
    let done = backfilled(&ctx, id, &fields).await;
    back(&ctx, &fields, id, done)
}

async fn backfilled(ctx: &PageContext, id: JobId, fields: &[(String, String)]) -> Result<String, Problem> {
    ctx.operator()?;
    let from = moment(ctx, fields, "from")?;
    let to = moment(ctx, fields, "to")?.min(ctx.now);
    let job = find(&ctx.app, id).await?;
    let schedule = job.definition.trigger.schedule();
    let found = schedule.map_or(0, |schedule| schedule.between(from, to, BACKFILL_MAX, id.0).len());
    let command = Command::Backfill { from, to };
    if field(fields, "dry_run").is_some() {
        decide(id, Some(job), SlottedCommand { command, reservation: None }, ctx.now)?;
        return Ok(format!("A backfill would run {}", counted(Counted::exactly(found), "occurrence", "occurrences")));
    }
    ctx.app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(format!("Backfilling {}", counted(Counted::exactly(found), "occurrence", "occurrences")))
}

/// A wall-clock time in the viewer's zone.
fn moment(ctx: &PageContext, fields: &[(String, String)], name: &str) -> Result<Timestamp, Problem> {
    let wrong = || Problem::field(ordo_api::Code::InvalidBody, name, "must be a date and a time");
    wall_time(field(fields, name).ok_or_else(wrong)?, ctx.preferences.zone_name()).ok_or_else(wrong)
}

/// `2026-11-15T19:30` in a zone.
pub(crate) fn wall_time(text: &str, zone: &str) -> Option<Timestamp> {
    let wall: jiff::civil::DateTime = text.parse().ok()?;
    let zone = zones::current().get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    Timestamp::in_zone(wall, &zone).ok()
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
