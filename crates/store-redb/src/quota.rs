//! Whether an item stays within its quotas.
//!
//! Invariant: looked at before the item's first write. What was started under a rate is an entry among the dedup keys, under the
//! key of the quota and a number that grows by one with each: how many began within a time is known by looking at two of them,
//! and they are forgotten as the others are.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use ordo_model::Timestamp;
use ordo_store::{CommitOutcome, Dedup, Direction, Fault, Item, KeyRange, Quota, QuotaLimit, View, row_balance};

use crate::commit::Writing;
use crate::tables::TableId;
use crate::tables::keys::{number_of, time_bytes, time_of};
use crate::tables::values::read_dedup;

pub(crate) enum Judged {
    /// What is to be remembered of the starts it makes.
    Within(Vec<Dedup>),
    UsedUp(CommitOutcome),
}

impl Writing<'_> {
    pub(crate) fn judge(&self, item: &Item) -> Result<Judged, Fault> {
        let mut starts: Vec<Dedup> = Vec::new();
        // How many of them are of each key.
        let mut taken: BTreeMap<&[u8], u64> = BTreeMap::new();
        for Quota { key, limit } in &item.quotas {
            let until = match *limit {
                QuotaLimit::Rows { view, max } if self.holds_rows(item, view, key, max)? => continue,
                QuotaLimit::Rows { .. } => None,
                QuotaLimit::Rate { at, per, max } => {
                    let newest = self.newest_start(key)?;
                    let taken = taken.entry(key).or_default();
                    let number = newest + *taken + 1;
                    let before = number.saturating_sub(u64::from(max));
                    let used_at = if before > newest { Some(at) } else { self.start(key, before)? };
                    match used_at.and_then(|used_at| QuotaLimit::taken_until(at, per, used_at)) {
                        Some(until) => Some(until),
                        None => {
                            *taken += 1;
                            let (key, value) = (start_key(key, number), time_bytes(at).to_vec());
                            starts.push(Dedup { key, at, until: at.plus(per), value });
                            continue;
                        }
                    }
                }
            };
            return Ok(Judged::UsedUp(CommitOutcome::Exhausted { key: key.clone(), until }));
        }
        Ok(Judged::Within(starts))
    }

    fn holds_rows(&self, item: &Item, view: View, key: &[u8], max: u32) -> Result<bool, Fault> {
        let (put, gone) = row_balance(&item.rows, view, key);
        let (max, range) = (u64::from(max), KeyRange::prefix(key));
        let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let enough = usize::try_from(max + gone + 1).unwrap_or(usize::MAX);
        let there = self.keys(TableId::Rows(view), (Bound::Included(&range.from), to), enough)?.len() as u64;
        Ok((there + put).saturating_sub(gone) <= max)
    }

    /// The number of the last start that is remembered; 0 if none is.
    fn newest_start(&self, key: &[u8]) -> Result<u64, Fault> {
        let (first, last) = (start_key(key, 0), start_key(key, u64::MAX));
        let mut newest = 0;
        let bounds = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
        self.layers().scan(TableId::Dedup, bounds, Direction::Descending, &mut |found, _| {
            newest = number_of(found.get(key.len()..).unwrap_or_default())?;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(newest)
    }

    fn start(&self, key: &[u8], number: u64) -> Result<Option<Timestamp>, Fault> {
        let at = |found: &[u8]| read_dedup(found).and_then(|(_, at)| time_of(at));
        self.layers().get(TableId::Dedup, &start_key(key, number), at)
    }
}

fn start_key(key: &[u8], number: u64) -> Vec<u8> {
    [key, &number.to_be_bytes()].concat()
}
