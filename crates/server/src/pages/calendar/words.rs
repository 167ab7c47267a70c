//! What a forecast says, in words.

use ordo_model::forecast::{Collision, Forecast, LearnedDuration, QuietTime, Saturation, SelfOverlap};
use ordo_model::limits::{FORECAST_FIRES_PER_JOB_MAX, FORECAST_QUIET_MIN};
use ordo_model::{Millis, Timestamp};

use crate::pages::layout::context::PageContext;
use crate::pages::layout::moment::{Times, length};
use crate::pages::runs::outcome::{Counted, counted, grouped};

/// How many of each kind are shown, and how many labels of those that fire together.
const SHOWN: usize = 6;
const NAMED: usize = 4;
pub(super) const JOBS_SHOWN: usize = 25;

/// One kind of thing that is worth a look.
pub(super) struct CalendarFinding {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) class: &'static str,
    pub(super) icon: &'static str,
    pub(super) lines: Vec<FindingLine>,
    pub(super) more: usize,
    /// What is said when there is nothing.
    pub(super) none: String,
}

pub(super) struct FindingLine {
    pub(super) when: String,
    pub(super) what: String,
}

pub(super) struct CalendarJob {
    pub(super) label: String,
    pub(super) href: Option<String>,
    pub(super) fires: String,
    pub(super) next: Option<crate::pages::layout::html::Html>,
    pub(super) took: String,
}

/// `1,234 fires, up to 12 runs at once`
pub(super) fn summary(forecast: &Forecast) -> String {
    let count = usize::try_from(forecast.fires).unwrap_or(usize::MAX);
    let fires = counted(Counted { count, is_exact: forecast.is_exact }, "fire", "fires");
    format!("{fires}, up to {} at once", counted(Counted::exactly(forecast.peak() as usize), "run", "runs"))
}

pub(super) fn notes(forecast: &Forecast) -> Vec<String> {
    let mut notes = Vec::new();
    if forecast.steady_jobs > 0 {
        let jobs = counted(Counted::exactly(forecast.steady_jobs as usize), "job fires", "jobs fire");
        let (their, each) = if forecast.steady_jobs == 1 { ("its", "") } else { ("their", " each") };
        notes.push(format!(
            "{jobs} too often to be counted one by one: the total has {} of {their} fires{each}, days and hours have none, \
             and the load is estimated from {their} rate.",
            grouped(FORECAST_FIRES_PER_JOB_MAX)
        ));
    }
    if forecast.unknown_durations > 0 {
        let jobs = counted(Counted::exactly(forecast.unknown_durations as usize), "job", "jobs");
        let their = if forecast.unknown_durations == 1 { "its" } else { "their" };
        notes.push(format!("How long {jobs} will take is not known: {their} runs are counted as instantaneous."));
    }
    notes.extend(forecast.limits.iter().map(|limit| format!("Not everything is counted: {limit}.")));
    notes
}

pub(super) fn findings(forecast: &Forecast, times: &Times) -> Vec<CalendarFinding> {
    // What was left out may well need slots, collide, overlap and run in times that look quiet.
    let is_whole = forecast.limits.is_empty();
    vec![
        CalendarFinding {
            title: "Pool saturation",
            about: "More runs are due than there are slots; the rest wait.",
            class: "failed",
            icon: "failed",
            more: forecast.saturations.len().saturating_sub(SHOWN),
            lines: forecast.saturations.iter().take(SHOWN).map(|one| saturation(one, times)).collect(),
            none: "No pool is known to be asked for more slots than it has.".to_owned(),
        },
        CalendarFinding {
            title: "Collisions",
            about: "Jobs that fire in the same minute.",
            class: "late",
            icon: "clock",
            more: forecast.collisions.len().saturating_sub(SHOWN),
            lines: forecast.collisions.iter().take(SHOWN).map(|one| collision(one, times)).collect(),
            none: match is_whole && forecast.steady_jobs == 0 {
                true => "No two jobs fire in the same minute.".to_owned(),
                false => "No two of the jobs that are counted one by one fire in the same minute.".to_owned(),
            },
        },
        CalendarFinding {
            title: "Overlapping runs",
            about: "Jobs that fire again before their last run is likely to end.",
            class: "late",
            icon: "retry",
            more: forecast.overlaps.len().saturating_sub(SHOWN),
            lines: forecast.overlaps.iter().take(SHOWN).map(|one| overlap(one, times)).collect(),
            none: "No job is known to fire again before its last run ends.".to_owned(),
        },
        CalendarFinding {
            title: "Quiet times",
            about: match forecast.steady_jobs {
                _ if !is_whole => "When nothing of what is counted is likely to run; longest first.",
                0 => "When nothing is likely to run; longest first.",
                _ => "When only jobs that fire too often to count are likely to run; longest first.",
            },
            class: "completed",
            icon: "moon",
            more: forecast.quiet.len().saturating_sub(SHOWN),
            lines: forecast.quiet.iter().take(SHOWN).map(|one| quiet(one, times)).collect(),
            none: format!("No {} are free of runs.", length(FORECAST_QUIET_MIN.ms() as i64)),
        },
    ]
}

fn at(at: Timestamp, times: &Times) -> String {
    times.local(at).strftime("%a %b %d, %H:%M").to_string()
}

fn millis(ms: Millis) -> String {
    length(i64::try_from(ms.ms()).unwrap_or(i64::MAX))
}

fn saturation(one: &Saturation, times: &Times) -> FindingLine {
    let for_how_long = millis(one.to.since(one.from));
    FindingLine {
        when: at(one.from, times),
        what: format!("{}: {} wanted of {} slots, for {for_how_long}", one.pool, one.peak, one.slots),
    }
}

fn collision(one: &Collision, times: &Times) -> FindingLine {
    let named = one.jobs.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if one.count as usize > NAMED { ", …" } else { "" };
    let times_more = if one.times > 1 { format!(" · {} times", one.times) } else { String::new() };
    FindingLine {
        when: at(one.at, times),
        what: format!("{} jobs: {named}{more}{times_more}", grouped(one.count as usize)),
    }
}

fn overlap(one: &SelfOverlap, times: &Times) -> FindingLine {
    FindingLine {
        when: at(one.at, times),
        what: format!("{} fires again after {} and takes {}", one.label, millis(one.apart), millis(one.typical)),
    }
}

fn quiet(one: &QuietTime, times: &Times) -> FindingLine {
    FindingLine {
        when: at(one.from, times),
        what: format!("until {}, {}", at(one.to, times), millis(one.to.since(one.from))),
    }
}

/// Those that fire next, first.
pub(super) fn jobs(ctx: &PageContext, forecast: &Forecast, times: &Times) -> Vec<CalendarJob> {
    let mut jobs: Vec<&ordo_model::forecast::JobForecast> = forecast.jobs.iter().collect();
    jobs.sort_by_key(|job| (job.id.is_some(), job.next));
    let row = |job: &ordo_model::forecast::JobForecast| CalendarJob {
        label: job.label.clone(),
        href: job.id.map(|id| ctx.link(&format!("/jobs/{id}"))),
        fires: Counted { count: job.fires as usize, is_exact: job.is_exact }.words(),
        next: job.next.map(|at| times.relative(at)),
        took: took(job.took),
    };
    jobs.into_iter().take(JOBS_SHOWN).map(row).collect()
}

fn took(learned: Option<LearnedDuration>) -> String {
    match learned {
        None => "not known".to_owned(),
        Some(LearnedDuration { typical, runs: 0, .. }) => format!("{}, as you say", millis(typical)),
        Some(LearnedDuration { typical, longest, runs }) if runs > 1 => {
            format!("{}, at most {} in {runs} runs", millis(typical), millis(longest))
        }
        Some(LearnedDuration { typical, .. }) => format!("{} in one run", millis(typical)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::forecast::{ForecastPool, PlannedJob, forecast};

    fn of(jobs: &[PlannedJob]) -> Forecast {
        let bounds: Vec<Timestamp> = (0..=24).map(|hour| at(hour * 3_600)).collect();
        forecast(jobs, &[ForecastPool { name: "default, fast".to_owned(), slots: 2 }], &bounds, at(0))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_ms(1_900_000_000_000 + second * 1_000).unwrap()
    }

    fn job(label: &str, every_secs: i64, count: i64, is_steady: bool) -> PlannedJob {
        PlannedJob {
            id: None,
            label: label.to_owned(),
            pool: Some(0),
            took: None,
            fires: (0..count).map(|n| at(n * every_secs)).collect(),
            count: if is_steady { 1_000 } else { count as u32 },
            is_steady,
            at_once: 1,
        }
    }

    fn none(forecast: &Forecast, title: &str) -> String {
        let found = findings(forecast, &Times::new(at(0), "UTC", false));
        found.into_iter().find(|finding| finding.title == title).unwrap().none
    }

    /// A job of which nobody knows how long it takes may overlap with itself and fill a pool.
    #[test]
    fn what_is_not_known_is_not_denied() {
        let alone = of(&[job("a", 3_600, 24, false)]);
        assert_eq!(none(&alone, "Collisions"), "No two jobs fire in the same minute.");
        for title in ["Pool saturation", "Overlapping runs"] {
            assert!(none(&alone, title).contains("is known to"), "{title}");
        }
        // The steady one fires in every minute.
        let beside = of(&[job("a", 3_600, 24, false), job("b", 10, 100, true)]);
        assert!(none(&beside, "Collisions").contains("counted one by one"), "{}", none(&beside, "Collisions"));
        let cut = Forecast { limits: vec!["only the 5000 jobs that fire soonest are counted".to_owned()], ..alone };
        assert!(none(&cut, "Collisions").contains("counted one by one"));
    }

    #[test]
    fn the_total_and_the_days_say_what_each_has_of_jobs_that_fire_too_often() {
        let notes = notes(&of(&[job("a", 3_600, 24, false), job("b", 10, 100, true)]));
        assert!(
            notes[0].starts_with("1 job fires too often to be counted one by one: the total has 1,000 of its fires")
        );
        assert_eq!(notes[1], "How long 2 jobs will take is not known: their runs are counted as instantaneous.");
    }
}
