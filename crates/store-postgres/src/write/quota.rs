//! Quotas of a commit: which must be read, what the database says of them under the locks of their partitions, and whether an
//! item stays within them.
//!
//! Invariant: the partition of a quota's key is locked before it is counted, and every item that takes a share of it locks the
//! same one: nobody counts what another is about to take. A share that is given back needs no lock: seen late, it delays.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::{Millis, Timestamp};
use ordo_store::{Batch, CommitOutcome, Item, KeyRange, Partition, Quota, QuotaLimit, RowWrite, View, row_balance};
use tokio_postgres::types::ToSql;

use crate::codes;
use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;
use crate::write::pipeline::{Pipeline, params};

const COUNT_HELD: &str = "SELECT k.place, (SELECT count(*) FROM (SELECT 1 FROM rows r \
     WHERE r.view = k.view AND r.key >= k.low AND r.key < k.high LIMIT k.enough) AS held) \
     FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bigint[]) WITH ORDINALITY AS k (view, low, high, enough, place)";
/// The number of the last start under each key, and those that must be over before the next ones may begin.
const READ_STARTS: &str = "SELECT k.place, newest.number, s.number, s.at \
     FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS k (key, most, wanted, place) \
     CROSS JOIN LATERAL (SELECT number FROM starts WHERE key = k.key ORDER BY number DESC LIMIT 1) AS newest \
     LEFT JOIN LATERAL (SELECT number, at FROM starts WHERE key = k.key AND number > newest.number - k.most \
     AND number <= newest.number - k.most + k.wanted) AS s ON true";
const PUT_STARTS: &str = "INSERT INTO starts (key, number, partition, at, until) \
     SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[])";

/// What must be counted. Rows: by view and key, up to how many. Starts: by key and limit, how many are about to begin.
#[derive(Debug, Default)]
pub(crate) struct CountedQuotas {
    held: BTreeMap<(i32, Vec<u8>), u64>,
    starts: BTreeMap<(Vec<u8>, u32), u64>,
}

/// What the database says of them, and what the items so far have made of it.
#[derive(Debug, Default)]
pub(crate) struct KnownQuotas {
    held: BTreeMap<(i32, Vec<u8>), u64>,
    starts: BTreeMap<Vec<u8>, KnownStarts>,
}

#[derive(Debug, Default)]
struct KnownStarts {
    newest: u64,
    at: BTreeMap<u64, Timestamp>,
}

/// A start that is to be remembered.
#[derive(Debug)]
pub(crate) struct NewStart<'a> {
    key: &'a [u8],
    number: u64,
    at: Timestamp,
    until: Timestamp,
}

impl CountedQuotas {
    pub(crate) fn of(batches: &[Batch]) -> CountedQuotas {
        let mut counted = CountedQuotas::default();
        let items = || batches.iter().flat_map(|batch| &batch.items);
        for Quota { key, limit } in items().flat_map(|item| &item.quotas) {
            match *limit {
                QuotaLimit::Rows { view, max } => {
                    let enough = counted.held.entry((codes::view(view), key.clone())).or_default();
                    *enough = (*enough).max(u64::from(max) + 1);
                }
                QuotaLimit::Rate { max, .. } => *counted.starts.entry((key.clone(), max)).or_default() += 1,
            }
        }
        if !counted.held.is_empty() {
            // What is deleted before an item is judged must not be missing from what was counted.
            for row in items().flat_map(|item| &item.rows).filter(|row| row.value.is_none()) {
                if let Some(enough) = quota_of(&mut counted.held, row) {
                    *enough += 1;
                }
            }
        }
        counted
    }

    pub(crate) fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        let held = self.held.keys().map(|(_, key)| Partition::of_key(key));
        held.chain(self.starts.keys().map(|(key, _)| Partition::of_key(key)))
    }

    /// Counts inside the open transaction, behind the locks. Sends nothing where there is nothing to count.
    pub(crate) async fn count(&self, client: &DatabaseSession) -> Result<KnownQuotas, Trouble> {
        let mut known = KnownQuotas::default();
        if !self.held.is_empty() {
            self.count_held(client, &mut known).await?;
        }
        if !self.starts.is_empty() {
            self.read_starts(client, &mut known).await?;
        }
        Ok(known)
    }

    async fn count_held(&self, client: &DatabaseSession, known: &mut KnownQuotas) -> Result<(), Trouble> {
        let views: Vec<i32> = self.held.keys().map(|(view, _)| *view).collect();
        let ranges: Vec<KeyRange> = self.held.keys().map(|(_, key)| KeyRange::prefix(key)).collect();
        let low: Vec<&[u8]> = ranges.iter().map(|range| range.from.as_slice()).collect();
        // A key of nothing but the highest byte has no end; the engine writes none.
        let high: Vec<&[u8]> = ranges.iter().map(|range| range.to.as_deref().unwrap_or(&[0xff; 64])).collect();
        let enough: Vec<i64> = self.held.values().map(|enough| codes::version(*enough)).collect();
        let keys: Vec<&(i32, Vec<u8>)> = self.held.keys().collect();
        for row in client.query(COUNT_HELD, &[&views, &low, &high, &enough]).await? {
            if let Some(key) = place(&row).and_then(|place| keys.get(place)) {
                known.held.insert((*key).clone(), codes::version_of(row.get(1))?);
            }
        }
        Ok(())
    }

    async fn read_starts(&self, client: &DatabaseSession, known: &mut KnownQuotas) -> Result<(), Trouble> {
        let keys: Vec<&[u8]> = self.starts.keys().map(|(key, _)| key.as_slice()).collect();
        let most: Vec<i64> = self.starts.keys().map(|(_, most)| i64::from(*most)).collect();
        let wanted: Vec<i64> = self.starts.values().map(|wanted| codes::version(*wanted)).collect();
        for row in client.query(READ_STARTS, &[&keys, &most, &wanted]).await? {
            let Some(key) = place(&row).and_then(|place| keys.get(place)) else { continue };
            let starts = known.starts.entry(key.to_vec()).or_default();
            starts.newest = codes::version_of(row.get(1))?;
            if let (Some(number), Some(at)) = (row.get::<_, Option<i64>>(2), row.get::<_, Option<i64>>(3)) {
                starts.at.insert(codes::version_of(number)?, codes::time(at)?);
            }
        }
        Ok(())
    }
}

fn place(row: &tokio_postgres::Row) -> Option<usize> {
    usize::try_from(row.get::<_, i64>(0)).ok().and_then(|place| place.checked_sub(1))
}

/// The quota whose key the row begins with. No key is the beginning of another, so it is the last one before the row.
fn quota_of<'q>(held: &'q mut BTreeMap<(i32, Vec<u8>), u64>, row: &RowWrite) -> Option<&'q mut u64> {
    let code = codes::view(row.view);
    let before = held.range_mut(..=(code, row.key.clone())).next_back();
    before.filter(|((view, key), _)| *view == code && row.key.starts_with(key)).map(|(_, count)| count)
}

impl KnownQuotas {
    /// Takes the shares of an item, or says which quota is used up; then nothing was taken.
    pub(crate) fn take<'a>(&mut self, item: &'a Item) -> Result<Vec<NewStart<'a>>, CommitOutcome> {
        let mut starts: Vec<NewStart<'a>> = Vec::new();
        for Quota { key, limit } in &item.quotas {
            let until = match *limit {
                QuotaLimit::Rows { view, max } if self.holds_rows(item, view, key, max) => continue,
                QuotaLimit::Rows { .. } => None,
                QuotaLimit::Rate { at, per, max } => match self.start(&starts, key, at, per, max) {
                    Ok(number) => {
                        starts.push(NewStart { key, number, at, until: at.plus(per) });
                        continue;
                    }
                    Err(until) => Some(until),
                },
            };
            return Err(CommitOutcome::Exhausted { key: key.clone(), until });
        }
        for start in &starts {
            let known = self.starts.entry(start.key.to_vec()).or_default();
            known.newest = start.number;
            known.at.insert(start.number, start.at);
        }
        Ok(starts)
    }

    /// Rows of an item that was accepted, whether it has quotas or only gives shares back.
    pub(crate) fn wrote(&mut self, rows: &[RowWrite]) {
        if self.held.is_empty() {
            return;
        }
        for row in rows {
            if let Some(count) = quota_of(&mut self.held, row) {
                *count = if row.value.is_some() { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }

    fn holds_rows(&self, item: &Item, view: View, key: &[u8], max: u32) -> bool {
        let (put, gone) = row_balance(&item.rows, view, key);
        let there = self.held.get(&(codes::view(view), key.to_vec())).copied().unwrap_or_default();
        (there + put).saturating_sub(gone) <= u64::from(max)
    }

    /// The number of the next start, or when it may be made.
    fn start(&self, mine: &[NewStart<'_>], key: &[u8], at: Timestamp, per: Millis, max: u32) -> Result<u64, Timestamp> {
        let known = self.starts.get(key);
        let newest = known.map_or(0, |known| known.newest);
        let number = newest + mine.iter().filter(|start| start.key == key).count() as u64 + 1;
        let before = number.saturating_sub(u64::from(max));
        let used_at = match known {
            _ if before > newest => Some(at),
            known => known.and_then(|known| known.at.get(&before)).copied(),
        };
        match used_at.and_then(|used_at| QuotaLimit::taken_until(at, per, used_at)) {
            Some(until) => Err(until),
            None => Ok(number),
        }
    }
}

pub(crate) async fn put_starts<'a>(pipeline: &mut Pipeline<'a>, starts: &[NewStart<'a>]) -> Result<(), Trouble> {
    if starts.is_empty() {
        return Ok(());
    }
    let keys: Vec<&[u8]> = starts.iter().map(|start| start.key).collect();
    let numbers: Vec<i64> = starts.iter().map(|start| codes::version(start.number)).collect();
    let partitions: Vec<i16> = keys.iter().map(|key| codes::partition(Partition::of_key(key))).collect();
    let at: Vec<i64> = starts.iter().map(|start| start.at.ms()).collect();
    let until: Vec<i64> = starts.iter().map(|start| start.until.ms()).collect();
    pipeline.add(PUT_STARTS, params![keys, numbers, partitions, at, until]).await
}

/// The partitions of keys of which a share was given back.
pub(crate) fn freed(item: &Item) -> BTreeSet<Partition> {
    item.freed.iter().map(|key| Partition::of_key(key)).collect()
}
