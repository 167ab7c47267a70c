//! The week by hours and the month by days.

use jiff::civil::Date;
use ordo_model::Timestamp;
use ordo_model::forecast::{BIN_JOBS_MAX, Forecast, ForecastBin};

use super::{HOURS, of_day};
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::Times;
use crate::pages::runs::outcome::{Counted, counted, grouped};

/// The head of a day.
pub(super) struct WeekDay {
    pub(super) name: String,
    pub(super) date: String,
    pub(super) is_today: bool,
    /// What a clock does on this day.
    pub(super) clock: Option<String>,
    pub(super) fires: String,
}

pub(super) struct HourRow {
    pub(super) hour: String,
    pub(super) cells: Vec<HourCell>,
}

pub(super) struct HourCell {
    /// How dark it is, from 0 to 5.
    pub(super) shade: usize,
    pub(super) text: String,
    pub(super) words: String,
    pub(super) is_past: bool,
    /// The clock leaves this hour out.
    pub(super) is_skipped: bool,
    pub(super) is_full: bool,
}

pub(super) struct DayCell {
    pub(super) href: String,
    pub(super) number: String,
    pub(super) is_today: bool,
    pub(super) is_past: bool,
    pub(super) fires: String,
    pub(super) peak: String,
    pub(super) clock: Option<String>,
    pub(super) is_full: bool,
    pub(super) picture: Html,
}

/// By the root, so that few are seen beside many.
fn shade(fires: u32, most: u32) -> usize {
    if fires == 0 || most == 0 {
        return 0;
    }
    let share = (f64::from(fires) / f64::from(most)).sqrt() * 5.0;
    (share.ceil() as usize).clamp(1, 5)
}

pub(super) fn week_days(days: &[Date], forecast: &Forecast, times: &Times) -> Vec<WeekDay> {
    let today = times.local(times.now).date();
    let day = |(place, day): (usize, &Date)| WeekDay {
        name: day.strftime("%a").to_string(),
        date: day.strftime("%b %d").to_string(),
        is_today: *day == today,
        clock: clock(*day, forecast, times),
        fires: at_least(forecast, grouped(of_day(forecast, place).iter().map(|bin| bin.fires as usize).sum())),
    };
    days.iter().enumerate().map(day).collect()
}

pub(super) fn hours(days: &[Date], forecast: &Forecast, times: &Times) -> Vec<HourRow> {
    let most = forecast.bins.iter().map(|bin| bin.fires).max().unwrap_or(0);
    let row = |hour: i8| HourRow {
        hour: format!("{hour:02}:00"),
        cells: (0..days.len())
            .filter_map(|place| of_day(forecast, place).get(hour as usize))
            .map(|bin| cell(bin, most, forecast, times))
            .collect(),
    };
    (0..HOURS).map(row).collect()
}

fn cell(bin: &ForecastBin, most: u32, forecast: &Forecast, times: &Times) -> HourCell {
    let is_skipped = bin.from == bin.to;
    let is_past = bin.to <= times.now && !is_skipped;
    HourCell {
        shade: shade(bin.fires, most),
        text: if bin.fires == 0 { String::new() } else { short(bin.fires) },
        words: words(bin, is_skipped, forecast.is_exact, times),
        is_past,
        is_skipped,
        is_full: is_full(bin.from, bin.to, forecast),
    }
}

fn words(bin: &ForecastBin, is_skipped: bool, is_exact: bool, times: &Times) -> String {
    let when = format!("{} – {}", times.local(bin.from).strftime("%a %H:%M"), times.hour(bin.to));
    if is_skipped {
        return "the clock skips this hour".to_owned();
    }
    if bin.fires == 0 {
        let nothing = if is_exact { "nothing fires" } else { "nothing is known to fire at a certain time" };
        return format!("{when}: {nothing}");
    }
    let fires = counted(Counted { count: bin.fires as usize, is_exact }, "fire", "fires");
    let at_once = counted(Counted::exactly(bin.peak as usize), "run", "runs");
    // A bin names no more jobs than this, whether there are others or not.
    let more = if bin.jobs.len() >= BIN_JOBS_MAX { ", …" } else { "" };
    let named = bin.jobs.iter().take(BIN_JOBS_MAX - 1).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{when}: {fires}, up to {at_once} at once: {named}{more}")
}

/// `1,234+` where not every fire is counted.
fn at_least(forecast: &Forecast, count: String) -> String {
    if forecast.is_exact { count } else { format!("{count}+") }
}

/// `1.2k`
fn short(count: u32) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}k", count / 1_000),
    }
}

pub(super) fn weeks(
    days: &[Date],
    forecast: &Forecast,
    times: &Times,
    href: impl Fn(Date) -> String,
) -> Vec<Vec<DayCell>> {
    let today = times.local(times.now).date();
    let most = forecast.bins.iter().map(|bin| bin.fires).max().unwrap_or(0);
    let cell = |(place, day): (usize, &Date)| {
        let bins = of_day(forecast, place);
        let fires: usize = bins.iter().map(|bin| bin.fires as usize).sum();
        let (from, to) = (bins.first().map(|bin| bin.from), bins.last().map(|bin| bin.to));
        DayCell {
            href: href(*day),
            number: if place == 0 || day.day() == 1 {
                day.strftime("%b %-d").to_string()
            } else {
                day.day().to_string()
            },
            is_today: *day == today,
            is_past: *day < today,
            fires: match fires {
                1 => format!("{} fire", at_least(forecast, grouped(fires))),
                _ => format!("{} fires", at_least(forecast, grouped(fires))),
            },
            peak: bins
                .iter()
                .map(|bin| bin.peak)
                .max()
                .filter(|peak| *peak > 0)
                .map_or_else(String::new, |peak| format!("{peak} at once")),
            clock: clock(*day, forecast, times),
            is_full: from.zip(to).is_some_and(|(from, to)| is_full(from, to, forecast)),
            picture: strip(bins, most),
        }
    };
    days.iter().enumerate().map(cell).collect::<Vec<_>>().into_iter().fold(
        Vec::new(),
        |mut weeks: Vec<Vec<DayCell>>, day| {
            match weeks.last_mut() {
                Some(week) if week.len() < 7 => week.push(day),
                Some(_) | None => weeks.push(vec![day]),
            }
            weeks
        },
    )
}

/// A day as 24 bars.
fn strip(bins: &[ForecastBin], most: u32) -> Html {
    let mut html = Html::new()
        .raw("<svg class=\"strip\" viewBox=\"0 0 240 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (place, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.fires > 0) {
        let height = (f64::from(bin.fires) / f64::from(most.max(1))).sqrt() * 22.0;
        html = html.raw(format_args!(
            "<rect x=\"{}\" y=\"{:.1}\" width=\"8\" height=\"{:.1}\"/>",
            place * 10 + 1,
            24.0 - height.max(2.0),
            height.max(2.0)
        ));
    }
    html.raw("</svg>")
}

fn is_full(from: Timestamp, to: Timestamp, forecast: &Forecast) -> bool {
    forecast.saturations.iter().any(|one| one.from < to && one.to > from)
}

fn clock(day: Date, forecast: &Forecast, times: &Times) -> Option<String> {
    let change = forecast.clock_changes.iter().find(|change| times.local(change.at).date() == day)?;
    let how = if change.by_secs > 0 { "forward" } else { "back" };
    Some(format!("{} goes {how}", change.timezone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_names_its_jobs_and_says_that_there_are_more_only_then() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let times = Times::new(at("2026-11-15T12:00:00Z"), "UTC", false);
        let bin = |fires: u32, jobs: &[&str], peak: u32| ForecastBin {
            from: at("2026-11-16T02:00:00Z"),
            to: at("2026-11-16T03:00:00Z"),
            fires,
            jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
            peak,
        };
        let said = |bin: &ForecastBin| words(bin, false, true, &times);
        assert_eq!(said(&bin(60, &["hello"], 1)), "Mon 02:00 – 03:00: 60 fires, up to 1 run at once: hello");
        assert_eq!(said(&bin(2, &["a", "b"], 2)), "Mon 02:00 – 03:00: 2 fires, up to 2 runs at once: a, b");
        let many = said(&bin(9, &["a", "b", "c", "d", "e"], 9));
        assert!(many.ends_with("9 runs at once: a, b, c, d, …"), "{many}");
    }

    #[test]
    fn few_fires_are_seen_beside_many() {
        assert_eq!([0, 1, 40, 1_000].map(|fires| shade(fires, 1_000)), [0, 1, 1, 5]);
        assert_eq!(shade(250, 1_000), 3);
        assert_eq!([999, 1_234, 45_678].map(short), ["999", "1.2k", "45k"]);
    }
}
