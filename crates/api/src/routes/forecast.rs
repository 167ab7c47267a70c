//! The routes of the forecast.

use ordo_model::limits::FORECAST_DAYS_MAX;
use serde_json::json;

use super::{Get, Post, READ, reference};
use crate::code::Code;
use crate::forecast::{AskForecast, FORECAST_DAYS_DEFAULT, ForecastAnswer};
use crate::route::{READS, Route};

const SAYING: &str = "Made of the schedules as they stand and of how long the last runs took. Jobs without a schedule, and \
                      those that come after others, are not part of it. `is_exact` says whether every count is exact; \
                      where it is not, counts are the least, and `limits` names what was left out.";

pub(crate) fn read() -> Route {
    let days =
        json!({ "type": "integer", "minimum": 1, "maximum": FORECAST_DAYS_MAX, "default": FORECAST_DAYS_DEFAULT });
    Route::new(Get, "/v1/forecast", READ, "server")
        .summary("What fires in the days to come, and what gets in each other's way")
        .saying(SAYING)
        .query("from", reference("Time"), "Where it begins; now when left out.")
        .query("days", days, "How many days it reaches.")
        .answers::<ForecastAnswer>(200, "The forecast.")
        .refuses(&[Code::InvalidQuery])
        .refuses(READS)
}

pub(crate) fn ask() -> Route {
    Route::new(Post, "/v1/forecast", READ, "server")
        .summary("The same with jobs that do not exist yet")
        .saying("Nothing is stored. `without` has the numbers as they are without these jobs.")
        .body_or_none::<AskForecast>()
        .answers::<ForecastAnswer>(200, "The forecast with these jobs.")
        .refuses(&[Code::InvalidJob])
        .refuses(READS)
}
