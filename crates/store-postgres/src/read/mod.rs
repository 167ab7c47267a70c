//! Reads of what stands: snapshots, alarms, rows, chunks, dedup keys, counts. Each is one statement, one moment.
//!
//! Invariant: a read goes by an index and touches about as many rows as it answers; only counts read everything.

pub(crate) mod alarms;
pub(crate) mod position;
pub(crate) mod read_log;
pub(crate) mod stats;

use ordo_model::{EntityId, Timestamp};
use ordo_store::{Alarm, Chunk, Direction, Fault, KeyRange, Row, Snapshot, View};
use tokio_postgres::Row as Found;
use uuid::Uuid;

use crate::codes;
use crate::connection::connect::ConnectionPools;
use crate::tables;

pub(crate) async fn load(database: &ConnectionPools, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
    if entities.is_empty() {
        return Ok(Vec::new());
    }
    let kinds: Vec<i16> = entities.iter().map(|entity| codes::kind(entity.kind)).collect();
    let ids: Vec<Uuid> = entities.iter().map(|entity| entity.id).collect();
    let sql = "SELECT k.place, e.version, e.alarm_at, e.alarm_rank, e.state \
         FROM unnest($1::smallint[], $2::uuid[]) WITH ORDINALITY AS k (kind, id, place) \
         JOIN entities e ON e.kind = k.kind AND e.id = k.id";
    let mut found: Vec<Option<Snapshot>> = vec![None; entities.len()];
    for row in database.query("loading snapshots", sql, &[&kinds, &ids]).await? {
        if let Some(asked) = ordinal(&row, &mut found) {
            *asked = Some(snapshot(&row, 1)?);
        }
    }
    Ok(found)
}

/// The answer to the question whose ordinal is in the first column; ordinals count from one.
pub(crate) fn ordinal<'a, T>(row: &Found, answers: &'a mut [T]) -> Option<&'a mut T> {
    usize::try_from(row.get::<_, i64>(0)).ok().and_then(|ordinal| answers.get_mut(ordinal.wrapping_sub(1)))
}

/// Version, time and rank of the alarm, state, from this column on.
fn snapshot(row: &Found, first: usize) -> Result<Snapshot, Fault> {
    let rank = rank(row.get(first + 2))?;
    let at = row.get::<_, Option<i64>>(first + 1).map(codes::time).transpose()?;
    let alarm = at.map(|at| Alarm { at, rank });
    Ok(Snapshot { version: codes::version_of(row.get(first))?, alarm, state: row.get(first + 3) })
}

fn rank(number: i16) -> Result<u8, Fault> {
    u8::try_from(number).map_err(|_| Fault::damaged(format!("an alarm of rank {number}")))
}

pub(crate) async fn entities(
    database: &ConnectionPools,
    after: Option<EntityId>,
    limit: usize,
) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
    let (kind, id) = edge(after);
    let sql = "SELECT kind, id, version, alarm_at, alarm_rank, state FROM entities \
         WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3";
    let rows = database.query("listing entities", sql, &[&kind, &id, &codes::limit(limit)]).await?;
    rows.iter().map(|row| Ok((codes::entity(row.get(0), row.get(1))?, snapshot(row, 2)?))).collect()
}

/// Before the first entity, or at one.
pub(crate) fn edge(after: Option<EntityId>) -> (i16, Uuid) {
    after.map_or((-1, Uuid::nil()), |entity| (codes::kind(entity.kind), entity.id))
}

pub(crate) async fn row(database: &ConnectionPools, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    if let Some(shape) = view.shape() {
        return tables::read::row(database, view, &shape, key).await;
    }
    let sql = "SELECT value FROM rows WHERE view = $1 AND key = $2";
    let rows = database.query("reading a row", sql, &[&codes::view(view), &key]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

pub(crate) async fn rows(
    database: &ConnectionPools,
    view: View,
    range: &KeyRange,
    order: Direction,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    if let Some(shape) = view.shape() {
        return tables::read::rows(database, view, &shape, range, order, limit).await;
    }
    let sql = match (order, &range.to) {
        (Direction::Ascending, None) => {
            "SELECT key, value FROM rows WHERE view = $1 AND key >= $2 ORDER BY key LIMIT $3"
        }
        (Direction::Descending, None) => {
            "SELECT key, value FROM rows WHERE view = $1 AND key >= $2 ORDER BY key DESC LIMIT $3"
        }
        (Direction::Ascending, Some(_)) => {
            "SELECT key, value FROM rows WHERE view = $1 AND key >= $2 AND key < $4 ORDER BY key LIMIT $3"
        }
        (Direction::Descending, Some(_)) => {
            "SELECT key, value FROM rows WHERE view = $1 AND key >= $2 AND key < $4 ORDER BY key DESC LIMIT $3"
        }
    };
    let (view, limit) = (codes::view(view), codes::limit(limit));
    let rows = match &range.to {
        None => database.query("reading rows", sql, &[&view, &range.from, &limit]).await?,
        Some(to) => database.query("reading rows", sql, &[&view, &range.from, &limit, to]).await?,
    };
    Ok(rows.iter().map(|row| Row { key: row.get(0), value: row.get(1) }).collect())
}

pub(crate) async fn rows_by_key(
    database: &ConnectionPools,
    view: View,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    if let Some(shape) = view.shape() {
        return tables::read::rows_by_key(database, view, &shape, keys).await;
    }
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT k.place, r.value FROM unnest($2::bytea[]) WITH ORDINALITY AS k (key, place) \
         JOIN rows r ON r.view = $1 AND r.key = k.key";
    let mut found: Vec<Option<Vec<u8>>> = vec![None; keys.len()];
    for row in database.query("reading rows by key", sql, &[&codes::view(view), &keys]).await? {
        if let Some(asked) = ordinal(&row, &mut found) {
            *asked = Some(row.get(1));
        }
    }
    Ok(found)
}

/// Ranges without an end are read one by one: an upper bound that may be missing would not go by the index.
pub(crate) async fn rows_of_ranges(
    database: &ConnectionPools,
    view: View,
    ranges: &[KeyRange],
    order: Direction,
    limit: usize,
) -> Result<Vec<Vec<Row>>, Fault> {
    if let Some(shape) = view.shape() {
        return tables::read::rows_of_ranges(database, view, &shape, ranges, order, limit).await;
    }
    let bounds: Option<Vec<&[u8]>> = ranges.iter().map(|range| range.to.as_deref()).collect();
    let Some(to) = bounds.filter(|to| !to.is_empty()) else {
        let mut found = Vec::with_capacity(ranges.len());
        for range in ranges {
            found.push(rows(database, view, range, order, limit).await?);
        }
        return Ok(found);
    };
    let from: Vec<&[u8]> = ranges.iter().map(|range| range.from.as_slice()).collect();
    let sql = match order {
        Direction::Ascending => {
            "SELECT k.place, r.key, r.value \
             FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS k (low, high, place), \
             LATERAL (SELECT key, value FROM rows WHERE view = $1 AND key >= k.low AND key < k.high \
                      ORDER BY key LIMIT $4) r ORDER BY k.place, r.key"
        }
        Direction::Descending => {
            "SELECT k.place, r.key, r.value \
             FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS k (low, high, place), \
             LATERAL (SELECT key, value FROM rows WHERE view = $1 AND key >= k.low AND key < k.high \
                      ORDER BY key DESC LIMIT $4) r ORDER BY k.place, r.key DESC"
        }
    };
    let mut found: Vec<Vec<Row>> = vec![Vec::new(); ranges.len()];
    for row in
        database.query("reading rows of ranges", sql, &[&codes::view(view), &from, &to, &codes::limit(limit)]).await?
    {
        if let Some(asked) = ordinal(&row, &mut found) {
            asked.push(Row { key: row.get(1), value: row.get(2) });
        }
    }
    Ok(found)
}

pub(crate) async fn chunks(
    database: &ConnectionPools,
    owner: Uuid,
    from: u64,
    limit: usize,
) -> Result<Vec<Chunk>, Fault> {
    let sql = "SELECT seq, bytes FROM chunks WHERE owner = $1 AND seq >= $2 ORDER BY seq LIMIT $3";
    let rows = database.query("reading chunks", sql, &[&owner, &codes::seq(from), &codes::limit(limit)]).await?;
    Ok(rows.iter().map(|row| Chunk { owner, seq: codes::seq_of(row.get(0)), bytes: row.get(1) }).collect())
}

pub(crate) async fn dedup(database: &ConnectionPools, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "SELECT value FROM dedup WHERE key = $1 AND until > $2";
    let rows = database.query("reading a dedup key", sql, &[&key, &now.ms()]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Keys, and starts under a rate. Repeatable: what is forgotten is not forgotten twice, and the count is for people.
pub(crate) async fn forget_dedup(database: &ConnectionPools, now: Timestamp, limit: usize) -> Result<usize, Fault> {
    let sql = "DELETE FROM dedup WHERE until <= $1 AND key IN \
         (SELECT key FROM dedup WHERE until <= $1 ORDER BY until LIMIT $2) RETURNING 1";
    let keys = database.query("forgetting dedup keys", sql, &[&now.ms(), &codes::limit(limit)]).await?.len();
    let sql = "DELETE FROM starts WHERE until <= $1 AND (key, number) IN \
         (SELECT key, number FROM starts WHERE until <= $1 ORDER BY until LIMIT $2) RETURNING 1";
    let left = limit.saturating_sub(keys);
    Ok(keys + database.query("forgetting starts", sql, &[&now.ms(), &codes::limit(left)]).await?.len())
}
