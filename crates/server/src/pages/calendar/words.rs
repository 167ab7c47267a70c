//! What a forecast says, in words.

use ordo_model::forecast::{Collision, Forecast, LearnedDuration, QuietTime, Saturation, SelfOverlap};
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
    pub(super) none: &'static str,
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
        let their = if forecast.steady_jobs == 1 { "its" } else { "their" };
        notes.push(format!("{jobs} too often to be counted one by one; the load is estimated from {their} rate."));
    }
    if forecast.unknown_durations > 0 {
        let jobs = counted(Counted::exactly(forecast.unknown_durations as usize), "job has", "jobs have");
        let their = if forecast.unknown_durations == 1 { "its" } else { "their" };
        notes.push(format!("{jobs} not completed a run recently: {their} runs are counted as instantaneous."));
    }
    notes.extend(forecast.limits.iter().map(|limit| format!("Not everything is counted: {limit}.")));
    notes
}

pub(super) fn findings(forecast: &Forecast, times: &Times) -> Vec<CalendarFinding> {
    vec![
        CalendarFinding {
            title: "Pool saturation",
            about: "More runs are due than there are slots; the rest wait.",
            class: "failed",
            icon: "failed",
            more: forecast.saturations.len().saturating_sub(SHOWN),
            lines: forecast.saturations.iter().take(SHOWN).map(|one| saturation(one, times)).collect(),
            none: "Every pool has enough slots.",
        },
        CalendarFinding {
            title: "Collisions",
            about: "Jobs that fire in the same minute.",
            class: "late",
            icon: "clock",
            more: forecast.collisions.len().saturating_sub(SHOWN),
            lines: forecast.collisions.iter().take(SHOWN).map(|one| collision(one, times)).collect(),
            none: "No two jobs fire in the same minute.",
        },
        CalendarFinding {
            title: "Overlapping runs",
            about: "Jobs that fire again before their last run is likely to end.",
            class: "late",
            icon: "retry",
            more: forecast.overlaps.len().saturating_sub(SHOWN),
            lines: forecast.overlaps.iter().take(SHOWN).map(|one| overlap(one, times)).collect(),
            none: "Every job is likely to end before it fires again.",
        },
        CalendarFinding {
            title: "Quiet times",
            about: match forecast.steady_jobs {
                0 => "When nothing is likely to run; longest first.",
                _ => "When only jobs that fire too often to count are likely to run; longest first.",
            },
            class: "completed",
            icon: "moon",
            more: forecast.quiet.len().saturating_sub(SHOWN),
            lines: forecast.quiet.iter().take(SHOWN).map(|one| quiet(one, times)).collect(),
            none: "No quarter of an hour is free of runs.",
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
