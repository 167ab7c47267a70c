//! Quotas: what entities of many partitions share, and take a share of when they are changed.
//!
//! Invariant: a quota is judged and taken in the commit of the item that names it, against what is durable then: however many
//! writers there are, it is never exceeded. The share of an item that is refused is not taken.

use ordo_model::{Millis, Timestamp};

use crate::{RowWrite, View};

/// By how much the clocks of writers may differ at most.
const CLOCKS_DIFFER: Millis = Millis::from_secs(10);

/// A limit that an item must stay within. No key is the beginning of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    pub key: Vec<u8>,
    pub limit: QuotaLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaLimit {
    /// At most `max` rows of the view begin with the key once the item is applied. Whoever puts such a row knows that it was
    /// not there, and whoever deletes one that it was: the version of their entity says so.
    Rows { view: View, max: u32 },
    /// At most `max` items with the key are committed within `per`. This is one of them, at `at`. Whoever names the key names the
    /// same `per`: an item is remembered for no longer.
    Rate { at: Timestamp, per: Millis, max: u32 },
}

impl QuotaLimit {
    /// From when on a place is free again whose last use was at `used_at`, if it is not free yet. What lies ahead by more than
    /// clocks differ was written before a clock was set back.
    pub fn taken_until(at: Timestamp, per: Millis, used_at: Timestamp) -> Option<Timestamp> {
        let until = used_at.plus(per);
        (until > at && used_at <= at.plus(CLOCKS_DIFFER)).then_some(until)
    }
}

/// How many rows of a view that begin with a key an item puts, and how many it deletes.
pub fn row_balance(rows: &[RowWrite], view: View, key: &[u8]) -> (u64, u64) {
    let mine = rows.iter().filter(|row| row.view == view && row.key.starts_with(key));
    mine.fold((0, 0), |(put, gone), row| match row.value {
        Some(_) => (put + 1, gone),
        None => (put, gone + 1),
    })
}
