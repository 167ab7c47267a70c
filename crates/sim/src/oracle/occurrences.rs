//! One job's schedule in account: which nominal time is next without an outcome.
//!
//! Invariant: outcomes come in the order of the calendar, without a hole and without a second time, never before
//! their time; whatever ends or suspends a schedule leaves nothing behind that was due.

use std::collections::VecDeque;

use ordo_model::job::{Definition, Misfire, SkipReason, Timeliness};
use ordo_model::limits::{AT_GRACE, MISFIRE_AFTER, MISFIRE_WINDOW};
use ordo_model::schedule::{Gap, Occurrence};

use super::calendar::Calendar;
use super::{Ruling, require};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OraclePhase {
    Active,
    Paused,
    Held,
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    within: (i64, i64),
    calendar: Option<Calendar>,
    jitter_ms: i64,
    pub(crate) phase: OraclePhase,
    /// The first nominal time without an outcome.
    pub(crate) expected: Option<i64>,
    accounted_to: Option<i64>,
    /// (next, end) of each backfill under way, in the order they were asked for.
    backfills: VecDeque<(i64, i64)>,
    /// When the schedule came to be: a one-off asked for after its time is due then.
    asked_at: i64,
    /// When the schedule last came to be or was resumed.
    pub(crate) awake_since: i64,
    /// The latest due time so far: whoever is due before its predecessor waits for it.
    due_max: i64,
    misfires: (i64, u32),
}

impl Ledger {
    pub(crate) fn new(definition: &Definition, held: bool, at: i64, within: (i64, i64)) -> Ledger {
        let mut ledger = Ledger {
            within,
            calendar: None,
            jitter_ms: 0,
            phase: if held { OraclePhase::Held } else { OraclePhase::Active },
            expected: None,
            accounted_to: None,
            backfills: VecDeque::new(),
            asked_at: at,
            awake_since: at,
            due_max: i64::MIN,
            misfires: (i64::MIN, 0),
        };
        ledger.follow(definition, at);
        ledger
    }

    /// Takes on the trigger of the definition, as new at `at`.
    fn follow(&mut self, definition: &Definition, at: i64) {
        let schedule = definition.trigger.schedule();
        self.calendar = schedule.map(|schedule| Calendar::of(schedule, self.within));
        self.jitter_ms = schedule.and_then(|s| s.jitter).map_or(0, |jitter| jitter.ms() as i64);
        self.due_max = i64::MIN;
        (self.asked_at, self.awake_since) = (at, at);
        self.expected = self.first(at);
    }

    fn first(&self, at: i64) -> Option<i64> {
        match self.calendar.as_ref()? {
            once @ Calendar::Once(_) => once.at_or_after(at - AT_GRACE.ms() as i64),
            calendar => match (calendar.at_or_after(at)?, self.accounted_to) {
                (first, Some(done)) if first <= done => calendar.after(done),
                (first, _) => Some(first),
            },
        }
    }

    fn is_one_off(&self) -> bool {
        matches!(self.calendar, Some(Calendar::Once(_)))
    }

    /// Nothing that was surely due at `at` is without an outcome.
    pub(crate) fn nothing_due(&self, at: i64) -> Ruling {
        let open = self.expected.filter(|nominal| self.latest_due(*nominal) <= at);
        require(open.is_none(), || format!("the occurrence {} is due at {at} and has no outcome", open.unwrap_or(0)))
    }

    /// When an occurrence is due at the latest: jitter may delay it, and a one-off may have been asked for late.
    fn latest_due(&self, nominal: i64) -> i64 {
        let asked_at = if self.is_one_off() { self.asked_at } else { nominal };
        (nominal + (self.jitter_ms - 1).max(0)).max(asked_at)
    }

    // --- what changes the schedule --------------------------------------------------------------

    pub(crate) fn updated(&mut self, definition: &Definition, same_trigger: bool, at: i64) -> Ruling {
        if same_trigger {
            return Ok(());
        }
        let left = self.expected.filter(|nominal| self.phase != OraclePhase::Held && *nominal <= at);
        require(left.is_none(), || format!("an update left the occurrence {} without an outcome", left.unwrap_or(0)))?;
        require(self.backfills.is_empty(), || "an update left a backfill of the old trigger".into())?;
        self.follow(definition, at);
        Ok(())
    }

    pub(crate) fn paused(&mut self, at: i64) -> Ruling {
        require(self.phase == OraclePhase::Active, || format!("paused while {:?}", self.phase))?;
        self.phase = OraclePhase::Paused;
        self.nothing_due(at)
    }

    pub(crate) fn resumed(&mut self, at: i64) -> Ruling {
        self.awake_since = at;
        match self.phase {
            OraclePhase::Held if self.is_one_off() => {}
            OraclePhase::Held => self.expected = self.calendar.as_ref().and_then(|calendar| calendar.at_or_after(at)),
            OraclePhase::Paused if self.is_one_off() => {}
            OraclePhase::Paused => self.nothing_due(at)?,
            OraclePhase::Active | OraclePhase::Cancelled => return Err(format!("resumed while {:?}", self.phase)),
        }
        self.phase = OraclePhase::Active;
        Ok(())
    }

    pub(crate) fn cancelled(&mut self, at: i64) -> Ruling {
        let was = std::mem::replace(&mut self.phase, OraclePhase::Cancelled);
        self.backfills.clear();
        let verdict = match was {
            OraclePhase::Active | OraclePhase::Paused => self.nothing_due(at),
            OraclePhase::Held => Ok(()),
            OraclePhase::Cancelled => Err("cancelled twice".into()),
        };
        self.expected = None;
        verdict
    }

    /// Nothing is left to do, as far as the schedule goes.
    pub(crate) fn is_over(&self) -> bool {
        match self.phase {
            OraclePhase::Cancelled => true,
            OraclePhase::Active => self.calendar.is_some() && self.expected.is_none() && self.backfills.is_empty(),
            OraclePhase::Paused | OraclePhase::Held => false,
        }
    }

    // --- outcomes -------------------------------------------------------------------------------

    /// An occurrence was fired. Returns how late it was by its own fault, not by its predecessor's jitter.
    pub(crate) fn fired(&mut self, occurrence: Occurrence, at: i64) -> Result<i64, String> {
        let (nominal, due) = (occurrence.nominal.ms(), occurrence.due.ms());
        require(self.phase == OraclePhase::Active, || format!("fired by its schedule while {:?}", self.phase))?;
        self.check_due(nominal, due, at)?;
        self.advance(nominal, nominal)?;
        self.due_max = self.due_max.max(due);
        Ok(at - self.due_max)
    }

    fn check_due(&self, nominal: i64, due: i64, at: i64) -> Ruling {
        require(at >= due && at >= nominal, || format!("{nominal} (due {due}) fired early, at {at}"))?;
        let latest = self.latest_due(nominal);
        require((nominal..=latest).contains(&due), || format!("{nominal} was due at {due}, not by {latest}"))
    }

    pub(crate) fn check_timeliness(&mut self, misfire: Misfire, timeliness: Timeliness, late: i64, at: i64) -> Ruling {
        let wanted = match late {
            late if late <= MISFIRE_WINDOW.ms() as i64 => Timeliness::OnTime,
            late if late <= MISFIRE_AFTER.ms() as i64 => Timeliness::Late,
            _ => Timeliness::Misfire,
        };
        require(timeliness == wanted, || format!("late by {late} ms and recorded as {timeliness:?}"))?;
        if wanted != Timeliness::Misfire {
            return Ok(());
        }
        let so_far = if self.misfires.0 == at { self.misfires.1 } else { 0 };
        self.misfires = (at, so_far + 1);
        let allowed = match misfire {
            Misfire::DoNothing => 0,
            Misfire::FireOnceNow => 1,
            Misfire::FireAll { cap, window } if late <= window.ms() as i64 => cap,
            Misfire::FireAll { .. } => 0,
        };
        require(so_far < allowed, || format!("late by {late} ms: {misfire:?} allows {allowed} runs, not one more"))
    }

    pub(crate) fn skipped(&mut self, reason: SkipReason, gap: Option<Gap>, at: i64) -> Ruling {
        let gap = gap.ok_or("an occurrence was skipped without saying which")?;
        let (from, to) = (gap.from.ms(), gap.to.ms());
        require(at >= to, || format!("{to} was skipped before its time, at {at}"))?;
        let allowed = match reason {
            SkipReason::Paused => self.phase == OraclePhase::Paused,
            // A schedule does not run while its job is held; only deliveries are skipped for it.
            SkipReason::Held => false,
            SkipReason::Changed => self.phase != OraclePhase::Cancelled,
            SkipReason::Misfire => self.phase == OraclePhase::Active && at - to > MISFIRE_AFTER.ms() as i64,
            SkipReason::CatchUpLimit | SkipReason::Overlap | SkipReason::QueueFull => self.phase == OraclePhase::Active,
            // A run expires, not an occurrence.
            SkipReason::Expired => false,
        };
        require(allowed, || format!("skipped {from}..={to} as {reason:?} while {:?}, at {at}", self.phase))?;
        self.check_count(gap)?;
        self.advance(from, to)
    }

    fn check_count(&self, gap: Gap) -> Ruling {
        let calendar = self.calendar.as_ref().ok_or("a gap of a job without a schedule")?;
        let (from, to) = (gap.from.ms(), gap.to.ms());
        let count = calendar.count(from, to);
        let right = if gap.exact { gap.count == count } else { gap.count <= count };
        require(right && calendar.contains(to), || {
            format!("the gap {from}..={to} is said to hold {} (exact: {}), it holds {count}", gap.count, gap.exact)
        })
    }

    /// The occurrences `from..=to` have their outcome; they must be the next ones.
    fn advance(&mut self, from: i64, to: i64) -> Ruling {
        let expected = self.expected;
        self.expected = self.calendar.as_ref().and_then(|calendar| calendar.after(to));
        self.accounted_to = self.accounted_to.max(Some(to));
        require(expected == Some(from), || format!("outcome for {from}, but the next one without is {expected:?}"))
    }

    // --- backfills ------------------------------------------------------------------------------

    pub(crate) fn backfill(&mut self, from: i64, to: i64, at: i64) -> Ruling {
        require(to <= at, || format!("a backfill up to {to}, asked for at {at}"))?;
        let next = self.calendar.as_ref().and_then(|calendar| calendar.at_or_after(from)).filter(|next| *next < to);
        let next = next.ok_or("a backfill of nothing was accepted")?;
        self.backfills.push_back((next, to));
        Ok(())
    }

    /// An occurrence of the oldest backfill has its outcome.
    pub(crate) fn backfilled(&mut self, nominal: i64, rest: bool) -> Ruling {
        let (next, to) = *self.backfills.front().ok_or("a backfill nobody asked for")?;
        let after = self.calendar.as_ref().and_then(|calendar| calendar.after(nominal)).filter(|after| *after < to);
        match after {
            Some(after) if !rest => self.backfills[0].0 = after,
            Some(_) | None => drop(self.backfills.pop_front()),
        }
        require(next == nominal, || format!("backfilled {nominal}, but {next} is next"))
    }

    /// The rest of a backfill was recorded as skipped.
    pub(crate) fn backfill_ended(&mut self, gap: Option<Gap>) -> Ruling {
        let (next, to) = *self.backfills.front().ok_or("a backfill nobody asked for")?;
        let gap = gap.ok_or("the rest of a backfill was skipped without saying what")?;
        let count = self.calendar.as_ref().map_or(0, |calendar| calendar.count(next, to - 1));
        require(gap.from.ms() == next && gap.to.ms() < to && gap.count == count, || {
            format!("the rest {next}..{to} of a backfill ({count}) was skipped as {gap:?}")
        })?;
        self.backfilled(next, true)
    }
}
