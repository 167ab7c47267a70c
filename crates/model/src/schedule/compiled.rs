//! A schedule ready to be asked: the expression parsed, the zones looked up.
//!
//! Invariant: going forwards and going backwards meet the same occurrences. Every search is bounded: it jumps over
//! excluded windows, and gives up after [`EXCLUDED_JUMPS_MAX`] of them.

use uuid::Uuid;

use super::cron::CronPattern;
use super::dst::CronBeat;
use super::every::EveryBeat;
use super::jitter::delay_ms;
use super::window::{Window, span_of};
use super::zone::Zone;
use super::{Occurrence, Rule, Schedule, ScheduleError};
use crate::limits::EXCLUDED_JUMPS_MAX;
use crate::time::{Millis, Timestamp};

/// A parsed [`Schedule`]. Parsing costs more than asking: whoever asks often keeps one of these.
#[derive(Debug, Clone)]
pub struct Compiled {
    pub(super) beat: Beat,
    /// Nominal times lie in `from..to`.
    from: i64,
    to: i64,
    pub(super) jitter_ms: u64,
    pub(super) windows: Vec<Window>,
}

/// The nominal times of a rule, regardless of start, end and exclusions, in milliseconds.
#[derive(Debug, Clone)]
pub(super) enum Beat {
    At(i64),
    Every(EveryBeat),
    Cron(Box<CronBeat>),
}

impl Beat {
    fn compile(rule: &Rule, start: i64) -> Result<Beat, ScheduleError> {
        match rule {
            Rule::At { at } => Ok(Beat::At(at.ms())),
            Rule::Every { every } => {
                let every = i64::try_from(every.ms()).unwrap_or(i64::MAX).max(1);
                Ok(Beat::Every(EveryBeat { start, every }))
            }
            Rule::Cron { expr, timezone, dst } => {
                let pattern = CronPattern::parse(expr).map_err(|message| ScheduleError { field: "cron", message })?;
                let zone = Zone::get(timezone).map_err(|message| ScheduleError { field: "timezone", message })?;
                Ok(Beat::Cron(Box::new(CronBeat { pattern, zone, dst: *dst })))
            }
        }
    }

    fn at_or_after(&self, ms: i64) -> Option<i64> {
        match self {
            Beat::At(at) => (*at >= ms).then_some(*at),
            Beat::Every(every) => every.at_or_after(ms),
            Beat::Cron(cron) => Some(cron.at_or_after(-(-ms).div_euclid(1_000))? * 1_000),
        }
    }

    fn at_or_before(&self, ms: i64) -> Option<i64> {
        match self {
            Beat::At(at) => (*at <= ms).then_some(*at),
            Beat::Every(every) => every.at_or_before(ms),
            Beat::Cron(cron) => Some(cron.at_or_before(ms.div_euclid(1_000))? * 1_000),
        }
    }
}

impl Compiled {
    pub(super) fn new(schedule: &Schedule) -> Result<Compiled, ScheduleError> {
        let from = schedule.start.unwrap_or(Timestamp::MIN).ms();
        let zone = schedule.rule.zone();
        let windows: Result<Vec<Window>, String> =
            schedule.exclude.iter().map(|exclusion| Window::compile(exclusion, zone)).collect();
        Ok(Compiled {
            beat: Beat::compile(&schedule.rule, from)?,
            from,
            to: schedule.end.map_or(Timestamp::MAX.ms() + 1, Timestamp::ms),
            jitter_ms: schedule.jitter.map_or(0, Millis::ms),
            windows: windows.map_err(|message| ScheduleError { field: "exclude", message })?,
        })
    }

    /// See [`Schedule::first_at_or_after`].
    pub fn first_at_or_after(&self, from: Timestamp, job: Uuid) -> Option<Occurrence> {
        self.occurrence(self.nominal_at_or_after(from.ms())?, job)
    }

    /// See [`Schedule::next_after`].
    pub fn next_after(&self, nominal: Timestamp, job: Uuid) -> Option<Occurrence> {
        self.occurrence(self.nominal_at_or_after(nominal.ms() + 1)?, job)
    }

    /// See [`Schedule::between`].
    pub fn between(&self, from: Timestamp, to: Timestamp, limit: usize, job: Uuid) -> Vec<Occurrence> {
        let first = self.first_at_or_after(from, job);
        std::iter::successors(first, |last| self.next_after(last.nominal, job))
            .take_while(|occurrence| occurrence.nominal < to)
            .take(limit)
            .collect()
    }

    /// The occurrences whose time has not come at the moment, in nominal order.
    pub(super) fn due_after(&self, after: Timestamp, job: Uuid) -> impl Iterator<Item = Occurrence> {
        let surely_due = after.minus(Millis::from_ms(self.jitter_ms));
        let first = self.first_at_or_after(surely_due, job);
        std::iter::successors(first, move |last| self.next_after(last.nominal, job))
            .skip_while(move |occurrence| occurrence.due <= after)
    }

    pub(super) fn nominal_at_or_after(&self, ms: i64) -> Option<i64> {
        let mut ms = ms.max(self.from);
        for _ in 0..EXCLUDED_JUMPS_MAX {
            let nominal = self.beat.at_or_after(ms).filter(|nominal| *nominal < self.to)?;
            let span = span_of(&self.windows, nominal);
            if !span.excluded {
                return Some(nominal);
            }
            ms = span.to;
        }
        None
    }

    pub(super) fn nominal_at_or_before(&self, ms: i64) -> Option<i64> {
        let mut ms = ms.min(self.to - 1);
        for _ in 0..EXCLUDED_JUMPS_MAX {
            let nominal = self.beat.at_or_before(ms).filter(|nominal| *nominal >= self.from)?;
            let span = span_of(&self.windows, nominal);
            if !span.excluded {
                return Some(nominal);
            }
            ms = span.from.checked_sub(1)?;
        }
        None
    }

    pub(super) fn occurrence(&self, nominal_ms: i64, job: Uuid) -> Option<Occurrence> {
        let nominal = Timestamp::from_ms(nominal_ms).ok()?;
        let due = nominal.plus(Millis::from_ms(delay_ms(self.jitter_ms, job, nominal_ms)));
        Some(Occurrence { nominal, due })
    }
}
