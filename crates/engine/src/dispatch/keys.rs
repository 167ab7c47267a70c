//! The limits that runs of many jobs share: how many of one key at once, how many in a time.
//!
//! Invariant: a guess that spares commits. What this node started is counted here, and what the store refused is remembered for
//! a while; whether a run may begin is judged by the commit that begins it, against what all nodes have started.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ordo_model::Timestamp;
use ordo_store::Partition;

use super::requirements::{Rate, RunTerms};
use crate::commit::change::{RateKey, SharedLimit};
use crate::time::partitions::PartitionSet;

#[derive(Debug, Default)]
pub(super) struct Keys {
    busy: HashMap<String, u32>,
    starts: HashMap<RateKey, VecDeque<Timestamp>>,
    /// Keys that the store said are used up, and until when that is believed.
    full: BTreeMap<String, Timestamp>,
    closed: HashMap<RateKey, Timestamp>,
}

/// Whether a run may begin as far as its keys go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyVerdict {
    Free,
    /// As many as may run with this key are running.
    Busy(String),
    /// As many as may begin under this rate have begun; the next may at that time.
    Until(RateKey, Timestamp),
}

impl Keys {
    pub(super) fn judge(&mut self, terms: &RunTerms, now: Timestamp) -> KeyVerdict {
        if let Some(limit) = &terms.concurrency
            && (self.busy.get(&limit.key).is_some_and(|busy| *busy >= limit.max)
                || self.full.get(&limit.key).is_some_and(|until| *until > now))
        {
            return KeyVerdict::Busy(limit.key.clone());
        }
        match terms.rate.as_ref().and_then(|rate| Some((rate, self.next_start(rate, now)?))) {
            Some((rate, at)) => KeyVerdict::Until(rate.counted_by(), at),
            None => KeyVerdict::Free,
        }
    }

    /// When one more may begin, if not now.
    fn next_start(&mut self, rate: &Rate, now: Timestamp) -> Option<Timestamp> {
        let key = rate.counted_by();
        if let Some(until) = self.closed.get(&key).filter(|until| **until > now && **until <= now.plus(rate.per)) {
            return Some(*until);
        }
        let starts = self.starts.get_mut(&key)?;
        // What lies in the future was noted before the clock was set back.
        starts.retain(|at| at.plus(rate.per) > now && *at <= now);
        let over = starts.len().checked_sub(rate.limit as usize)?;
        starts.get(over).map(|first| first.plus(rate.per))
    }

    pub(super) fn take(&mut self, terms: &RunTerms, now: Timestamp) {
        if let Some(limit) = &terms.concurrency {
            self.hold(limit.key.clone());
        }
        if let Some(rate) = &terms.rate {
            self.starts.entry(rate.counted_by()).or_default().push_back(now);
        }
    }

    /// A start was refused.
    pub(super) fn did_not_start(&mut self, rate: &RateKey) {
        if let Some(starts) = self.starts.get_mut(rate) {
            starts.pop_back();
        }
    }

    pub(super) fn exhausted(&mut self, limit: SharedLimit, until: Timestamp) {
        match limit {
            SharedLimit::Concurrency(key) => self.full.insert(key, until),
            SharedLimit::Rate(key) => self.closed.insert(key, until),
        };
    }

    /// Whether the key was taken for used up.
    pub(super) fn may_be_free(&mut self, key: &str) -> bool {
        self.full.remove(key).is_some()
    }

    /// Keys that are taken for used up and that the store counts in one of these partitions.
    pub(super) fn exhausted_in(&self, partitions: &PartitionSet) -> Vec<String> {
        let is_in =
            |key: &&String| partitions.contains(Partition::of_key(&SharedLimit::Concurrency((*key).clone()).bytes()));
        if partitions.is_empty() { Vec::new() } else { self.full.keys().filter(is_in).cloned().collect() }
    }

    pub(super) fn hold(&mut self, key: String) {
        *self.busy.entry(key).or_default() += 1;
    }

    pub(super) fn release(&mut self, key: &str) {
        if let Some(busy) = self.busy.get_mut(key) {
            *busy = busy.saturating_sub(1);
            if *busy == 0 {
                self.busy.remove(key);
            }
        }
    }

    /// Forgets windows in which nothing began for so long that no limit can reach back to it, and what is believed no more.
    pub(super) fn forget_before(&mut self, oldest: Timestamp, now: Timestamp) {
        self.full.retain(|_, until| *until > now);
        self.closed.retain(|_, until| *until > now);
        self.starts.retain(|_, starts| starts.back().is_some_and(|last| *last > oldest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::requirements::ConcurrencyLimit;
    use ordo_model::Millis;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000 + ms).unwrap()
    }

    #[test]
    fn so_many_of_one_key_run_at_once() {
        let limit = |key: &str| RunTerms {
            concurrency: Some(ConcurrencyLimit { key: key.into(), max: 2 }),
            ..RunTerms::default()
        };
        let mut keys = Keys::default();
        keys.take(&limit("a"), at(0));
        keys.take(&limit("a"), at(0));
        assert_eq!(keys.judge(&limit("a"), at(0)), KeyVerdict::Busy("a".into()));
        assert_eq!(keys.judge(&limit("b"), at(0)), KeyVerdict::Free);
        keys.release("a");
        assert_eq!(keys.judge(&limit("a"), at(0)), KeyVerdict::Free);
    }

    #[test]
    fn in_no_window_do_more_begin_than_the_limit() {
        let terms = RunTerms {
            rate: Some(Rate { key: "a".into(), limit: 3, per: Millis::from_ms(100) }),
            ..RunTerms::default()
        };
        let mut keys = Keys::default();
        let mut begun: Vec<i64> = Vec::new();
        for ms in 0..1_000 {
            if keys.judge(&terms, at(ms)) == KeyVerdict::Free {
                keys.take(&terms, at(ms));
                begun.push(ms);
            }
        }
        assert_eq!(begun.len(), 30);
        assert!(begun.windows(4).all(|four| four[3] - four[0] >= 100), "{begun:?}");
        assert_eq!(
            keys.judge(&terms, at(902)),
            KeyVerdict::Until(RateKey { key: "a".into(), per: Millis::from_ms(100) }, at(1_000))
        );
    }

    #[test]
    fn jobs_that_share_a_key_and_differ_in_per_count_apart() {
        let rated = |limit, per| RunTerms {
            rate: Some(Rate { key: "a".into(), limit, per: Millis::from_ms(per) }),
            ..RunTerms::default()
        };
        let (short, long) = (rated(2, 100), rated(1, 1_000));
        let mut keys = Keys::default();
        keys.take(&long, at(0));
        for ms in [0, 50, 400, 450] {
            assert_eq!(keys.judge(&short, at(ms)), KeyVerdict::Free, "at {ms}");
            keys.take(&short, at(ms));
        }
        assert!(matches!(keys.judge(&long, at(500)), KeyVerdict::Until(_, until) if until == at(1_000)));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_close_a_key_for_long() {
        let terms = RunTerms {
            rate: Some(Rate { key: "a".into(), limit: 1, per: Millis::from_secs(1) }),
            ..RunTerms::default()
        };
        let mut keys = Keys::default();
        keys.take(&terms, at(900_000));
        assert_eq!(keys.judge(&terms, at(0)), KeyVerdict::Free);
    }
}
