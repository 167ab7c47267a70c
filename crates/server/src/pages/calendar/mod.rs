//! The calendar: what fires in the days to come, hour by hour or day by day, what gets in each other's way, and what if a
//! job were added.
//!
//! Invariant: days and hours are those of the viewer's zone; an hour that a clock skips is empty, one that comes twice is
//! twice as long. Numbers are exact, or say that they are the least.

mod grid;
pub(crate) mod hint;
mod what_if;
mod words;

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::civil::Date;
use ordo_model::Timestamp;
use ordo_model::forecast::{Forecast, ForecastBin};

use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::calendar::grid::{DayCell, HourRow, WeekDay};
use crate::pages::calendar::what_if::WhatIf;
use crate::pages::calendar::words::{CalendarFinding, CalendarJob};
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::moment::Times;
use crate::pages::layout::shell::{NavSection, PageShell};
use crate::pages::objects::address;

const WEEK: i64 = 7;
/// Five weeks hold every month but those that begin late in a week.
const MONTH: i64 = 35;
const HOURS: i8 = 24;

#[derive(Template)]
#[template(path = "calendar.html")]
struct CalendarPage {
    shell: PageShell,
    is_month: bool,
    views: [(&'static str, String, bool); 2],
    title: String,
    earlier: Option<String>,
    later: String,
    today: Option<String>,
    summary: String,
    notes: Vec<String>,
    days: Vec<WeekDay>,
    hours: Vec<HourRow>,
    weeks: Vec<Vec<DayCell>>,
    findings: Vec<CalendarFinding>,
    jobs: Vec<CalendarJob>,
    jobs_more: usize,
    what_if: WhatIf,
    cli: String,
    curl: String,
    zone: String,
}

pub(crate) async fn show(ctx: PageContext, mut params: Params, headers: HeaderMap) -> Result<Response, Problem> {
    let times = ctx.times();
    let today = times.local(ctx.now).date();
    let is_month = params.take_text("view").is_some_and(|view| view == "month");
    let asked = params.take_text("from").and_then(|text| text.parse::<Date>().ok());
    let from = first_day(asked.unwrap_or(today).max(today), today, is_month);
    let count = if is_month { MONTH } else { WEEK };
    let days: Vec<Date> = (0..count).filter_map(|day| from.checked_add(jiff::Span::new().days(day)).ok()).collect();
    let bounds = bounds(&days, &times);
    let ground = ctx.app.engine.forecast(bounds).await?;
    let what_if = WhatIf::read(&ctx, &mut params, &ground);
    let forecast = what_if.forecast().unwrap_or_else(|| ground.as_it_stands());
    let link = |view: &str, from: Date| ctx.link(&format!("/calendar?view={view}&from={from}{}", what_if.query()));
    let view = if is_month { "month" } else { "week" };
    let step = |by: i64| from.checked_add(jiff::Span::new().days(by)).unwrap_or(from);
    let days_cli = count.min(ordo_model::limits::FORECAST_DAYS_MAX as i64);
    let page = CalendarPage {
        shell: PageShell::new(&ctx, NavSection::Calendar, "Calendar").await?,
        is_month,
        views: [
            ("Week", link("week", from.max(today)), !is_month),
            ("Month", link("month", from.max(today)), is_month),
        ],
        title: title(&days),
        earlier: (from > today).then(|| link(view, step(-count).max(today))),
        later: link(view, step(count)),
        today: (from > today).then(|| link(view, today)),
        summary: words::summary(&forecast),
        notes: words::notes(&forecast),
        days: grid::week_days(&days, &forecast, &times),
        hours: if is_month { Vec::new() } else { grid::hours(&days, &forecast, &times) },
        weeks: if is_month {
            grid::weeks(&days, &forecast, &times, |day| link("week", day.max(today)))
        } else {
            Vec::new()
        },
        findings: words::findings(&forecast, &times),
        jobs_more: forecast.jobs.len().saturating_sub(words::JOBS_SHOWN),
        jobs: words::jobs(&ctx, &forecast, &times),
        cli: format!("ordo forecast --days {days_cli}"),
        curl: format!(
            "curl -H \"Authorization: Bearer $ORDO_TOKEN\" '{}/v1/forecast?days={days_cli}'",
            address(&headers, &ctx.app.base_path)
        ),
        zone: times.zone_name(),
        what_if,
    };
    answer::ok(&page)
}

/// A week begins with the day that is asked for, a month with the Monday before it.
fn first_day(asked: Date, today: Date, is_month: bool) -> Date {
    if !is_month {
        return asked.max(today);
    }
    let back = i64::from(asked.weekday().to_monday_zero_offset());
    asked.checked_sub(jiff::Span::new().days(back)).unwrap_or(asked)
}

/// Where every hour of the days begins on the viewer's clock, and where the last one ends.
fn bounds(days: &[Date], times: &Times) -> Vec<Timestamp> {
    let hour = |day: &Date, hour: i8| times.of_wall(day.at(hour, 0, 0, 0));
    let mut bounds: Vec<Timestamp> =
        days.iter().flat_map(|day| (0..HOURS).filter_map(|of| hour(day, of)).collect::<Vec<_>>()).collect();
    let end = days.last().and_then(|day| day.tomorrow().ok()).and_then(|day| hour(&day, 0));
    bounds.extend(end);
    bounds
}

fn title(days: &[Date]) -> String {
    match (days.first(), days.last()) {
        (Some(first), Some(last)) => format!("{} – {}", first.strftime("%b %d"), last.strftime("%b %d, %Y")),
        _ => String::new(),
    }
}

/// The parts of a forecast that belong to one day.
fn of_day(forecast: &Forecast, place: usize) -> &[ForecastBin] {
    let from = place * HOURS as usize;
    forecast.bins.get(from..from + HOURS as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_24_bins_also_when_the_clock_is_set() {
        let times = Times::new("2026-03-28T12:00:00Z".parse().unwrap(), "Europe/Berlin", false);
        let days: Vec<Date> = ["2026-03-28", "2026-03-29", "2026-03-30"].map(|day| day.parse().unwrap()).to_vec();
        let bounds = bounds(&days, &times);
        assert_eq!(bounds.len(), 3 * 24 + 1);
        assert!(bounds.is_sorted());
        // 02:00 does not exist on the 29th: its bin is empty, and 03:00 begins at the same instant.
        assert_eq!(bounds[24 + 2], bounds[24 + 3]);
        let autumn = Times::new("2026-10-24T12:00:00Z".parse().unwrap(), "Europe/Berlin", false);
        let days: Vec<Date> = ["2026-10-25"].map(|day| day.parse().unwrap()).to_vec();
        let bounds = super::bounds(&days, &autumn);
        assert_eq!(bounds[3].since(bounds[2]).ms(), 2 * 3_600_000);
    }

    #[test]
    fn a_month_begins_on_a_monday_and_a_week_never_in_the_past() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        assert_eq!(first_day(day("2026-11-18"), day("2026-11-18"), true), day("2026-11-16"));
        assert_eq!(first_day(day("2026-11-16"), day("2026-11-18"), false), day("2026-11-18"));
    }
}
