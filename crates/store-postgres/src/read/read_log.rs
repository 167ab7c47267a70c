//! Reads of the log: a stream by version, all streams from a place on, which streams there are.
//!
//! Invariant: the next event of a reader follows from where it stands alone: of the next events of all partitions, the one
//! with the earliest time, then the smallest partition. So pages join without gap or repetition, however long they are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use ordo_model::EntityId;
use ordo_store::{Fault, PARTITIONS, Partition, Position, StoredEvent, StreamPage, Version};
use tokio_postgres::Row as Found;
use uuid::Uuid;

use crate::codes;
use crate::connection::connect::ConnectionPools;
use crate::read::edge;
use crate::read::position::Vector;

/// How many events of a partition are looked at first; more if the page is not full then.
const FIRST_LOOK: usize = 4;

pub(crate) async fn history(
    database: &ConnectionPools,
    entity: EntityId,
    from: Version,
    limit: usize,
) -> Result<StreamPage, Fault> {
    let (partition, kind) = (codes::partition(Partition::of(entity)), codes::kind(entity.kind));
    // The oldest stands in front of each event, and alone where there is none: one statement, one moment.
    let sql = "SELECT o.version, e.number, e.kind, e.id, e.version, e.at, e.name, e.data, e.actor FROM \
         (SELECT version FROM events WHERE kind = $2 AND id = $3 AND partition = $1 ORDER BY version LIMIT 1) o LEFT JOIN LATERAL \
         (SELECT * FROM events WHERE kind = $2 AND id = $3 AND partition = $1 AND version >= $4 ORDER BY version LIMIT $5) e ON true \
         ORDER BY e.version";
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&partition, &kind, &entity.id, &codes::version(from), &codes::limit(limit)];
    let rows = database.query("reading a stream", sql, &params).await?;
    let Some(first) = rows.first() else { return Ok(StreamPage::default()) };
    let oldest = codes::version_of(first.get(0))?;
    let mut events = Vec::with_capacity(rows.len());
    for row in rows.iter().filter(|row| row.get::<_, Option<i64>>(1).is_some()) {
        let mut event = event(row, 2)?;
        event.position = Vector::single(Partition::of(entity), codes::version_of(row.get(1))?).write();
        events.push(event);
    }
    Ok(StreamPage { events, oldest })
}

/// Kind, id, version, time, name, data and actor from this column on; the position is added by the caller.
fn event(row: &Found, first: usize) -> Result<StoredEvent, Fault> {
    Ok(StoredEvent {
        entity: codes::entity(row.get(first), row.get(first + 1))?,
        version: codes::version_of(row.get(first + 2))?,
        position: Position::default(),
        at: codes::time(row.get(first + 3))?,
        kind: row.get(first + 4),
        data: row.get(first + 5),
        actor: codes::actor_of(row.get(first + 6)),
    })
}

pub(crate) async fn events(
    database: &ConnectionPools,
    after: &Position,
    limit: usize,
) -> Result<Vec<StoredEvent>, Fault> {
    let mut vector = Vector::read(after)?;
    let mut found = Vec::new();
    let mut look = FIRST_LOOK.max(2 * limit / PARTITIONS);
    while found.len() < limit {
        let (places, complete) = next_places(database, &vector, look, limit - found.len()).await?;
        found.extend(at_places(database, &places, &mut vector).await?);
        if complete {
            break;
        }
        look = (look * 4).min(limit);
    }
    Ok(found)
}

type EventLocation = (Partition, u64);

/// Where the next events stand, in order; and whether there are no more than these.
async fn next_places(
    database: &ConnectionPools,
    vector: &Vector,
    look: usize,
    limit: usize,
) -> Result<(Vec<EventLocation>, bool), Fault> {
    let partitions: Vec<i16> = Partition::all().map(codes::partition).collect();
    let seen: Vec<i64> = Partition::all().map(|partition| codes::version(vector.at(partition))).collect();
    let sql = "SELECT e.partition, e.number, e.at FROM unnest($1::smallint[], $2::bigint[]) AS k (partition, seen) \
         CROSS JOIN LATERAL (SELECT partition, number, at FROM events WHERE partition = k.partition AND number > k.seen \
         ORDER BY number LIMIT $3) e ORDER BY e.partition, e.number";
    let mut queues: BTreeMap<Partition, Vec<(u64, i64)>> = BTreeMap::new();
    for row in database.query("reading events", sql, &[&partitions, &seen, &codes::limit(look)]).await? {
        let place = (codes::version_of(row.get(1))?, row.get(2));
        queues.entry(codes::partition_of(row.get(0))?).or_default().push(place);
    }
    Ok(merge(&queues, look, limit))
}

fn merge(queues: &BTreeMap<Partition, Vec<(u64, i64)>>, look: usize, limit: usize) -> (Vec<EventLocation>, bool) {
    let head = |partition: Partition, place: usize| {
        queues[&partition].get(place).map(|(_, at)| Reverse((*at, partition, place)))
    };
    let mut heads: BinaryHeap<_> = queues.keys().filter_map(|partition| head(*partition, 0)).collect();
    let mut places = Vec::new();
    while let Some(Reverse((_, partition, place))) = heads.pop() {
        if places.len() == limit {
            return (places, false);
        }
        places.push((partition, queues[&partition][place].0));
        match head(partition, place + 1) {
            Some(next) => heads.push(next),
            // What stands behind the last one seen of this partition is unknown: nothing may be put before it.
            None if queues[&partition].len() == look => return (places, false),
            None => {}
        }
    }
    (places, true)
}

/// The events at these places; what was trimmed since is left out, and the reader goes on behind it.
async fn at_places(
    database: &ConnectionPools,
    places: &[EventLocation],
    vector: &mut Vector,
) -> Result<Vec<StoredEvent>, Fault> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let partitions: Vec<i16> = places.iter().map(|(partition, _)| codes::partition(*partition)).collect();
    let numbers: Vec<i64> = places.iter().map(|(_, number)| codes::version(*number)).collect();
    let sql = "SELECT k.place, e.kind, e.id, e.version, e.at, e.name, e.data, e.actor \
         FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS k (partition, number, place) \
         JOIN events e ON e.partition = k.partition AND e.number = k.number ORDER BY k.place";
    let mut found = Vec::with_capacity(places.len());
    for row in database.query("reading events", sql, &[&partitions, &numbers]).await? {
        let place = usize::try_from(row.get::<_, i64>(0)).ok().and_then(|place| places.get(place.wrapping_sub(1)));
        let Some((partition, number)) = place else { continue };
        vector.advance(*partition, *number);
        let mut event = event(&row, 1)?;
        event.position = vector.write();
        found.push(event);
    }
    // Behind everything looked at, also where the last of it is gone.
    for (partition, number) in places {
        vector.advance(*partition, vector.at(*partition).max(*number));
    }
    Ok(found)
}

pub(crate) async fn streams(
    database: &ConnectionPools,
    after: Option<EntityId>,
    limit: usize,
) -> Result<Vec<EntityId>, Fault> {
    let (kind, id): (i16, Uuid) = edge(after);
    // From stream to stream by the index: what a stream has had does not count.
    let sql = "WITH RECURSIVE s AS (\
         (SELECT kind, id FROM events WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT 1) UNION ALL \
         SELECT n.kind, n.id FROM s CROSS JOIN LATERAL \
         (SELECT kind, id FROM events e WHERE (e.kind, e.id) > (s.kind, s.id) ORDER BY e.kind, e.id LIMIT 1) n) \
         SELECT kind, id FROM s LIMIT $3";
    let rows = database.query("listing streams", sql, &[&kind, &id, &codes::limit(limit)]).await?;
    rows.iter().map(|row| codes::entity(row.get(0), row.get(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_merged_by_time_and_never_beyond_what_was_seen() {
        let queues = BTreeMap::from([(Partition(1), vec![(1, 10), (2, 30)]), (Partition(2), vec![(7, 20)])]);
        let all = vec![(Partition(1), 1), (Partition(2), 7), (Partition(1), 2)];
        assert_eq!(merge(&queues, 4, 10), (all.clone(), true));
        // Partition 1 may have more: whether its third event comes next is not known.
        assert_eq!(merge(&queues, 2, 10), (all.clone(), false));
        assert_eq!(merge(&queues, 4, 2), (all[..2].to_vec(), false));
    }

    #[test]
    fn inside_a_partition_numbers_decide_even_where_times_go_back() {
        let queues = BTreeMap::from([(Partition(1), vec![(1, 30), (2, 10)]), (Partition(2), vec![(1, 20)])]);
        assert_eq!(merge(&queues, 4, 10).0, [(Partition(2), 1), (Partition(1), 1), (Partition(1), 2)]);
    }
}
