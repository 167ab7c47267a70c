//! What is due at some moment, however long nobody looked.
//!
//! Invariant: what is due is a prefix. Occurrences are taken in nominal order, and one that jitter made due before its
//! predecessor waits for it; so `older`, `newest` and `next` follow each other without a hole.

use uuid::Uuid;

use super::compiled::{Beat, Compiled};
use super::every::EveryBeat;
use super::window::span_of;
use super::{Due, Gap, Occurrence};
use crate::limits::GAP_COUNT_MAX;
use crate::time::Timestamp;

impl Compiled {
    /// See [`super::Schedule::due`].
    pub fn due(&self, first: Occurrence, now: Timestamp, keep: usize, job: Uuid) -> Due {
        if first.due > now {
            return Due { older: None, newest: Vec::new(), next: Some(first) };
        }
        let next = self.first_not_due(first, now, job);
        let mut newest = Vec::new();
        let mut before = self.latest(first, next.map_or(now.ms(), |next| next.nominal.ms() - 1));
        while let Some(nominal) = before
            && newest.len() < keep
        {
            newest.extend(self.occurrence(nominal, job));
            before = self.latest(first, nominal - 1);
        }
        // `first` itself is taken as given: the schedule may have changed since it was computed.
        let older = if newest.len() < keep {
            newest.push(first);
            None
        } else {
            Some(self.gap(first.nominal, before.unwrap_or(first.nominal.ms())))
        };
        newest.reverse();
        Due { older, newest, next }
    }

    /// The first occurrence after `first` whose due time has not come.
    fn first_not_due(&self, first: Occurrence, now: Timestamp, job: Uuid) -> Option<Occurrence> {
        let longest_delay = i64::try_from(self.jitter_ms).unwrap_or(i64::MAX).max(1) - 1;
        let surely_due = now.ms().saturating_sub(longest_delay).max(first.nominal.ms());
        let mut next = self.nominal_at_or_after(surely_due + 1);
        while let Some(nominal) = next {
            let occurrence = self.occurrence(nominal, job)?;
            if occurrence.due > now {
                return Some(occurrence);
            }
            next = self.nominal_at_or_after(nominal + 1);
        }
        None
    }

    /// The last nominal time up to `ms` that comes after `first`.
    fn latest(&self, first: Occurrence, ms: i64) -> Option<i64> {
        self.nominal_at_or_before(ms).filter(|nominal| *nominal > first.nominal.ms())
    }

    /// The record of `from` and everything after it up to and with `to`.
    fn gap(&self, from: Timestamp, to: i64) -> Gap {
        let (more, exact) = match &self.beat {
            Beat::At(_) => (0, true),
            Beat::Every(every) => self.count_spans(every, from.ms() + 1, to + 1),
            Beat::Cron(_) => self.count_steps(from.ms() + 1, to + 1),
        };
        Gap { from, to: Timestamp::from_ms(to).unwrap_or(from), count: more + 1, exact }
    }

    /// Counts an interval by one division per span between borders of excluded windows.
    fn count_spans(&self, every: &EveryBeat, from: i64, to: i64) -> (u64, bool) {
        let (mut at, mut count) = (from, 0);
        for _ in 0..GAP_COUNT_MAX {
            if at >= to {
                return (count, true);
            }
            let span = span_of(&self.windows, at);
            let end = span.to.min(to);
            if !span.excluded {
                count += every.count(at, end);
            }
            at = end;
        }
        (count, at >= to)
    }

    fn count_steps(&self, from: i64, to: i64) -> (u64, bool) {
        let mut next = self.nominal_at_or_after(from);
        for count in 0..GAP_COUNT_MAX {
            match next.filter(|nominal| *nominal < to) {
                None => return (count, true),
                Some(nominal) => next = self.nominal_at_or_after(nominal + 1),
            }
        }
        (GAP_COUNT_MAX, next.is_none_or(|nominal| nominal >= to))
    }
}
