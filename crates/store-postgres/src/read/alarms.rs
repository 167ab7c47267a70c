//! Alarms in order of time, of some partitions or of all.
//!
//! Invariant: each partition is asked for itself, by the index that begins with it, for about its share of what is wanted: nothing
//! is read that belongs to others. What is returned is complete up to its last alarm.

use std::collections::BTreeMap;

use ordo_model::{Millis, Timestamp};
use ordo_store::{DueAlarm, Fault, Partition};
use tokio_postgres::Row as Found;

use super::{edge, rank};
use crate::codes;
use crate::connection::connect::ConnectionPools;

const DUE: &str = "SELECT e.kind, e.id, e.alarm_at, e.alarm_rank, p.partition FROM unnest($6::smallint[]) AS p (partition) \
     CROSS JOIN LATERAL (SELECT kind, id, alarm_at, alarm_rank FROM entities WHERE partition = p.partition AND alarm_at <= $1 \
     AND (alarm_at, id, kind) > ($2, $3, $4) ORDER BY alarm_at, id, kind LIMIT $5) AS e";
/// What is asked of a partition beyond its share: they are never quite even.
const SHARE_MORE: usize = 16;

/// Of these partitions.
pub(crate) async fn due(
    database: &ConnectionPools,
    partitions: &[Partition],
    until: Timestamp,
    after: Option<DueAlarm>,
    limit: usize,
) -> Result<Vec<DueAlarm>, Fault> {
    let (mut found, mut after) = (Vec::new(), after);
    if partitions.is_empty() || limit == 0 {
        return Ok(found);
    }
    let mut share = (2 * limit / partitions.len() + SHARE_MORE).min(limit);
    loop {
        let page = page(database, partitions, until, after, share).await?;
        let is_whole = page.complete_to.is_none();
        found.extend(page.alarms);
        if is_whole || found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
        // Some partitions have much more than others.
        (after, share) = (page.complete_to, (share * 4).min(limit));
    }
}

/// Alarms in order.
struct AlarmPage {
    alarms: Vec<DueAlarm>,
    /// Behind this one there may be more; None: these are all.
    complete_to: Option<DueAlarm>,
}

async fn page(
    database: &ConnectionPools,
    partitions: &[Partition],
    until: Timestamp,
    after: Option<DueAlarm>,
    share: usize,
) -> Result<AlarmPage, Fault> {
    let numbers: Vec<i16> = partitions.iter().map(|partition| codes::partition(*partition)).collect();
    let (kind, id) = edge(after.map(|after| after.entity));
    let (at, limit) = (after.map_or(-1, |after| after.at.ms()), codes::limit(share));
    let rows = database.query("reading alarms", DUE, &[&until.ms(), &at, &id, &kind, &limit, &numbers]).await?;
    let mut alarms = Vec::with_capacity(rows.len());
    let mut last: BTreeMap<i16, (usize, DueAlarm)> = BTreeMap::new();
    for row in &rows {
        let alarm = due_alarm(row)?;
        alarms.push(alarm);
        let known = last.entry(row.get(4)).or_insert((0, alarm));
        *known = (known.0 + 1, if order(&alarm) > order(&known.1) { alarm } else { known.1 });
    }
    // A partition that had as many as it was asked for may have more.
    let cut = last.into_values().filter(|(count, _)| *count >= share).map(|(_, last)| last);
    let complete_to = cut.min_by_key(order);
    alarms.sort_unstable_by_key(order);
    if let Some(last) = &complete_to {
        alarms.retain(|alarm| order(alarm) <= order(last));
    }
    Ok(AlarmPage { alarms, complete_to })
}

fn order(alarm: &DueAlarm) -> (Timestamp, uuid::Uuid, u8) {
    (alarm.at, alarm.entity.id, alarm.entity.kind.code())
}

/// Overdue alarms of any partition, each claimed for a while. Whoever is being written or swept right now is skipped: its turn comes
/// with the next sweep.
pub(crate) async fn sweep(
    database: &ConnectionPools,
    by: Millis,
    claim: Millis,
    limit: usize,
) -> Result<Vec<DueAlarm>, Fault> {
    let (now, once_now) = (crate::cluster::NOW, crate::cluster::ONCE_NOW);
    let sql = format!(
        "UPDATE entities e SET claimed_until = {now} + $2 FROM (SELECT o.kind, o.id FROM generate_series(0, 255) AS p (partition) \
         CROSS JOIN LATERAL (SELECT kind, id, alarm_at FROM entities WHERE partition = p.partition::smallint \
         AND alarm_at <= {once_now} - $1 AND claimed_until <= {once_now} ORDER BY alarm_at, id LIMIT $4 FOR UPDATE SKIP LOCKED) AS o \
         ORDER BY o.alarm_at, o.id LIMIT $3) c WHERE e.kind = c.kind AND e.id = c.id \
         RETURNING e.kind, e.id, e.alarm_at, e.alarm_rank"
    );
    let ms = |length: Millis| i64::try_from(length.ms()).unwrap_or(i64::MAX / 2);
    let (limit, share) = (codes::limit(limit), codes::limit(limit / 64 + SHARE_MORE));
    let rows = database.query("sweeping", &sql, &[&ms(by), &ms(claim), &limit, &share]).await?;
    let mut found = rows.iter().map(due_alarm).collect::<Result<Vec<DueAlarm>, Fault>>()?;
    found.sort_unstable_by_key(order);
    Ok(found)
}

/// Kind, id, time and rank.
fn due_alarm(row: &Found) -> Result<DueAlarm, Fault> {
    Ok(DueAlarm {
        entity: codes::entity(row.get(0), row.get(1))?,
        at: codes::time(row.get(2))?,
        rank: rank(row.get(3))?,
    })
}
