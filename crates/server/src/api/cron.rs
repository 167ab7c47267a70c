//! What a cron expression means, before a job is made of it.

use axum::Json;
use axum::extract::State;
use ordo_api::Code;
use ordo_api::upkeep::CronExplained;
use ordo_model::Timestamp;
use ordo_model::limits::PREVIEW_MAX;
use ordo_model::schedule::{Rule, Schedule, ScheduleError};
use uuid::Uuid;

use crate::app::App;
use crate::http::params::Params;
use crate::http::problem::Problem;

const SHOWN_DEFAULT: usize = 5;

pub(crate) async fn explain(State(app): State<App>, mut params: Params) -> Result<Json<CronExplained>, Problem> {
    let needed = || Problem::field(Code::InvalidQuery, "expr", "is needed: the cron expression");
    let expr = params.take_text("expr").ok_or_else(needed)?;
    let timezone = params.take_text("tz").unwrap_or_else(|| "UTC".to_owned());
    let n = params.take_count("n", SHOWN_DEFAULT, PREVIEW_MAX)?;
    let from = params.take::<Timestamp>("from")?.unwrap_or_else(|| app.now());
    params.finish()?;
    let rule = Rule::Cron { expr: expr.clone(), timezone: timezone.clone(), dst: Default::default() };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    schedule.validate().map_err(|error| refused(&error))?;
    let items = schedule.preview(from, n, Uuid::nil());
    Ok(Json(CronExplained { expr, timezone, schedule: schedule.describe(), items, next_cursor: None }))
}

fn refused(error: &ScheduleError) -> Problem {
    let field = if error.field == "timezone" { "tz" } else { "expr" };
    Problem::field(Code::InvalidQuery, field, error.message.clone())
}
