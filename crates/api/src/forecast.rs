//! The forecast: what fires in a time to come, and what would change with jobs that do not exist yet.

use ordo_model::forecast::Forecast;
use ordo_model::limits::FORECAST_ADDED_MAX;
use ordo_model::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::jobs::NewJob;

/// How many days are looked at when nobody says how many.
pub const FORECAST_DAYS_DEFAULT: usize = 7;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AskForecast {
    /// Where it begins; now when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// How many days it reaches; 7 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 62)]
    pub days: Option<usize>,
    /// Jobs that somebody thinks of adding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub jobs: Vec<JobProposal>,
}

const _: () = assert!(FORECAST_ADDED_MAX == 100);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobProposal {
    pub job: NewJob,
    /// How long one run is likely to take; without it, a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Millis>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ForecastAnswer {
    /// With the jobs that were asked about. Its bins are hours.
    pub forecast: Forecast,
    /// Without them; left out when none was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<ForecastFigures>,
}

/// A forecast in a few numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForecastFigures {
    pub fires: u64,
    pub is_exact: bool,
    /// How many runs are likely to be under way at once, at most.
    pub peak: u32,
    /// For how long more is asked of some pool than it has.
    pub saturated: Millis,
    /// How many jobs fire in the fullest minute.
    pub together: u32,
}

impl ForecastFigures {
    pub fn of(forecast: &Forecast) -> ForecastFigures {
        ForecastFigures {
            fires: forecast.fires,
            is_exact: forecast.is_exact,
            peak: forecast.peak(),
            saturated: Millis::from_ms(forecast.saturated_ms()),
            together: forecast.collisions.first().map_or(0, |first| first.count),
        }
    }
}
