//! What can be wrong with a schedule, said before it is stored.
//!
//! Invariant: a schedule that passes has at least one occurrence somewhere in time (not necessarily in the future:
//! whoever has a clock asks for the first one from now).

use uuid::Uuid;

use super::exclude::{DatesExclusion, Exclusion, RangeExclusion, WeeklyExclusion};
use super::{Compiled, Rule, Schedule, ScheduleError};
use crate::limits::{EVERY_MAX, EVERY_MIN, EXCLUDED_DATES_MAX, EXCLUSIONS_MAX, JITTER_MAX};
use crate::time::{Millis, Timestamp};

pub(super) fn validate(schedule: &Schedule) -> Result<(), ScheduleError> {
    check_every(&schedule.rule)?;
    check_window(schedule)?;
    check_jitter(schedule)?;
    check_exclusions(&schedule.exclude)?;
    schedule.compile()?;
    check_occurs(schedule)
}

fn check_every(rule: &Rule) -> Result<(), ScheduleError> {
    match rule {
        Rule::Every { every } if !(EVERY_MIN..=EVERY_MAX).contains(every) => {
            refuse("every", format!("the interval {every} is not between {EVERY_MIN} and {EVERY_MAX}"))
        }
        Rule::Every { .. } | Rule::At { .. } | Rule::Cron { .. } => Ok(()),
    }
}

fn check_window(schedule: &Schedule) -> Result<(), ScheduleError> {
    match (schedule.start, schedule.end) {
        (Some(start), Some(end)) if end <= start => {
            refuse("end", format!("the end {end} is not after the start {start}"))
        }
        (_, Some(end)) if end == Timestamp::MIN => refuse("end", "nothing can occur before 1970".to_owned()),
        _ => Ok(()),
    }
}

fn check_jitter(schedule: &Schedule) -> Result<(), ScheduleError> {
    let jitter = schedule.jitter.unwrap_or(Millis::ZERO);
    if jitter > JITTER_MAX {
        return refuse("jitter", format!("the jitter {jitter} is more than {JITTER_MAX}"));
    }
    match &schedule.rule {
        Rule::Every { every } if jitter >= *every => {
            refuse("jitter", format!("the jitter {jitter} is not shorter than the interval {every}"))
        }
        Rule::Every { .. } | Rule::At { .. } | Rule::Cron { .. } => Ok(()),
    }
}

fn check_exclusions(exclusions: &[Exclusion]) -> Result<(), ScheduleError> {
    if exclusions.len() > EXCLUSIONS_MAX {
        return refuse("exclude", format!("{} windows; at most {EXCLUSIONS_MAX} are allowed", exclusions.len()));
    }
    exclusions.iter().try_for_each(|exclusion| match exclusion {
        Exclusion::Range(range) => check_range(range),
        Exclusion::Weekly(weekly) => check_weekly(weekly),
        Exclusion::Dates(dates) => check_dates(dates),
    })
}

fn check_range(range: &RangeExclusion) -> Result<(), ScheduleError> {
    if range.from < range.to {
        return Ok(());
    }
    refuse("exclude", format!("the window ends at {}, which is not after its beginning {}", range.to, range.from))
}

fn check_weekly(weekly: &WeeklyExclusion) -> Result<(), ScheduleError> {
    if weekly.days.as_ref().is_some_and(Vec::is_empty) {
        return refuse("exclude", "the list of days is empty; leave it out to mean every day".to_owned());
    }
    if let Some(from) = weekly.from
        && weekly.to.is_some_and(|to| to == from)
    {
        return refuse(
            "exclude",
            format!("the window is empty: from and to are both {from}; leave both out to exclude whole days"),
        );
    }
    if weekly.from.is_some_and(|from| from.seconds() == 86_400) {
        return refuse("exclude", "a window begins at 23:59:59 at the latest; write 00:00".to_owned());
    }
    if weekly.from.is_none() && weekly.to.is_some_and(|to| to.seconds() == 0) {
        return refuse(
            "exclude",
            "the window is empty: it ends at 00:00; write 24:00 for the end of the day".to_owned(),
        );
    }
    Ok(())
}

fn check_dates(dates: &DatesExclusion) -> Result<(), ScheduleError> {
    match dates.dates.len() {
        0 => refuse("exclude", "the list of dates is empty".to_owned()),
        count if count > EXCLUDED_DATES_MAX => {
            refuse("exclude", format!("{count} dates in one window; at most {EXCLUDED_DATES_MAX} are allowed"))
        }
        _ => Ok(()),
    }
}

/// Whether anything is left, and if not, what took it away.
fn check_occurs(schedule: &Schedule) -> Result<(), ScheduleError> {
    if occurs(schedule)? {
        return Ok(());
    }
    let everywhere = Schedule { start: None, end: None, exclude: Vec::new(), ..schedule.clone() };
    if !occurs(&everywhere)? {
        return refuse("cron", "the expression never occurs: no date matches all of its fields".to_owned());
    }
    let without_exclusions = Schedule { exclude: Vec::new(), ..schedule.clone() };
    if occurs(&without_exclusions)? {
        return refuse("exclude", "nothing is left: every occurrence lies in an excluded window".to_owned());
    }
    let field = if schedule.end.is_some() { "end" } else { "start" };
    refuse(field, "there is no occurrence between start and end".to_owned())
}

fn occurs(schedule: &Schedule) -> Result<bool, ScheduleError> {
    let compiled: Compiled = schedule.compile()?;
    Ok(compiled.first_at_or_after(Timestamp::MIN, Uuid::nil()).is_some())
}

fn refuse(field: &'static str, message: String) -> Result<(), ScheduleError> {
    Err(ScheduleError { field, message })
}
