//! The forecast, as it stands and with jobs that do not exist yet.

use axum::Json;
use axum::extract::State;
use ordo_api::Code;
use ordo_api::forecast::{AskForecast, FORECAST_DAYS_DEFAULT, ForecastAnswer, ForecastFigures, JobProposal};
use ordo_engine::forecast::ProposedJob;
use ordo_model::job::Invalid;
use ordo_model::limits::{FORECAST_ADDED_MAX, FORECAST_DAYS_MAX};
use ordo_model::{Millis, Timestamp};

use crate::app::App;
use crate::http::body::Body;
use crate::http::params::Params;
use crate::http::problem::Problem;

const HOURS_PER_DAY: usize = 24;

pub(crate) async fn read(State(app): State<App>, mut params: Params) -> Result<Json<ForecastAnswer>, Problem> {
    let days = params.take_count("days", FORECAST_DAYS_DEFAULT, FORECAST_DAYS_MAX)?;
    let from = params.take::<Timestamp>("from")?.unwrap_or_else(|| app.now());
    params.finish()?;
    let ground = app.engine.forecast(hours(from, days)).await?;
    Ok(Json(ForecastAnswer { forecast: ground.as_it_stands(), without: None }))
}

pub(crate) async fn ask(State(app): State<App>, body: Body) -> Result<Json<ForecastAnswer>, Problem> {
    let AskForecast { from, days, jobs } = body.parse_or_default()?;
    let days = days.unwrap_or(FORECAST_DAYS_DEFAULT);
    if !(1..=FORECAST_DAYS_MAX).contains(&days) {
        return Err(Problem::field(Code::InvalidBody, "days", format!("must be between 1 and {FORECAST_DAYS_MAX}")));
    }
    if jobs.len() > FORECAST_ADDED_MAX {
        return Err(Problem::field(Code::InvalidBody, "jobs", format!("has more than {FORECAST_ADDED_MAX} jobs")));
    }
    let jobs = checked(app.now(), jobs)?;
    let ground = app.engine.forecast(hours(from.unwrap_or_else(|| app.now()), days)).await?;
    let without = (!jobs.is_empty()).then(|| ForecastFigures::of(&ground.as_it_stands()));
    Ok(Json(ForecastAnswer { forecast: ground.with_proposed(&jobs), without }))
}

/// A job that could not be added has no forecast.
fn checked(now: Timestamp, jobs: Vec<JobProposal>) -> Result<Vec<ProposedJob>, Problem> {
    let check = |(place, JobProposal { job, took }): (usize, JobProposal)| {
        let named = |invalid: Invalid| {
            Problem::field(Code::InvalidJob, format!("jobs[{place}].job.{}", invalid.field), invalid.message)
        };
        Ok(ProposedJob { definition: job.definition.prepared(now).map_err(named)?, took })
    };
    jobs.into_iter().enumerate().map(check).collect()
}

/// Where each hour begins, and where the last one ends.
fn hours(from: Timestamp, days: usize) -> Vec<Timestamp> {
    (0..=days * HOURS_PER_DAY).map(|hour| from.plus(Millis::from_hours(hour as u64))).collect()
}
