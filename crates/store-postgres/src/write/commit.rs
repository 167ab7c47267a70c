//! One commit on one connection, the careful way: look under lock, decide, write. Two trips to the server. Most commits need
//! only one statement (`at_once.rs`) and come here when that was refused, or when nothing was heard of it.
//!
//! Invariant: the rows of the partitions are locked in order before anything is read, and everything is written and
//! committed in one go. The row of the writer is locked first: whoever holds it knows that no earlier commit of this
//! writer is still under way, and the row says which was its last.

use ordo_store::{Batch, CommitOutcome, Fault, Partition};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::codes;
use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;
use crate::tables::put_tables;
use crate::write::at_once::{found_again, try_at_once};
use crate::write::pipeline::{Pipeline, params};
use crate::write::plan::{CommitPlan, Concerned, KnownState, Writes};
use crate::write::quota::put_starts;

const LOCK_WRITER: &str = "SELECT committed FROM writers WHERE writer = $1 FOR UPDATE";
pub(crate) const LOCK_SHARDS: &str = "SELECT partition, last, rebuilding FROM partitions WHERE partition = ANY($1::smallint[]) ORDER BY partition FOR UPDATE";
const VERSIONS: &str = "SELECT e.kind, e.id, e.version FROM unnest($1::smallint[], $2::uuid[]) AS k (kind, id) \
     JOIN entities e ON e.kind = k.kind AND e.id = k.id";
const TAKEN: &str = "SELECT d.key, d.until, d.value FROM unnest($1::bytea[]) AS k (key) JOIN dedup d ON d.key = k.key";

const SIGN: &str = "UPDATE writers SET committed = $2 WHERE writer = $1";
const PURGE_EVENTS: &str = "DELETE FROM events e USING unnest($1::smallint[], $2::uuid[]) AS k (kind, id) \
     WHERE e.kind = k.kind AND e.id = k.id";
const CUT_EVENTS: &str = "DELETE FROM events e USING unnest($1::smallint[], $2::uuid[], $3::bigint[]) AS k (kind, id, through) \
     WHERE e.kind = k.kind AND e.id = k.id AND e.version < k.through";
const PUT_CHECKPOINTS: &str = "UPDATE events e SET at = k.at, name = k.name, data = k.data, actor = k.actor \
     FROM unnest($1::smallint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bytea[]) \
     AS k (kind, id, through, at, name, data, actor) WHERE e.kind = k.kind AND e.id = k.id AND e.version = k.through";
pub(crate) const APPEND: &str = "INSERT INTO events (partition, number, kind, id, version, at, name, data, actor) \
     SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::smallint[], $4::uuid[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[])";
const REMOVE_ENTITIES: &str = "DELETE FROM entities e USING unnest($1::smallint[], $2::uuid[]) AS k (kind, id) \
     WHERE e.kind = k.kind AND e.id = k.id";
pub(crate) const PUT_ENTITIES: &str = "INSERT INTO entities (kind, id, partition, version, committed, alarm_at, alarm_rank, state) \
     SELECT k.kind, k.id, k.partition, k.version, $8, k.alarm_at, k.alarm_rank, k.state \
     FROM unnest($1::smallint[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[], $6::smallint[], $7::bytea[]) \
     AS k (kind, id, partition, version, alarm_at, alarm_rank, state) \
     ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, committed = excluded.committed, \
     alarm_at = excluded.alarm_at, alarm_rank = excluded.alarm_rank, claimed_until = 0, state = excluded.state";
const REMOVE_ROWS: &str = "DELETE FROM rows r USING unnest($1::integer[], $2::bytea[]) AS k (view, key) \
     WHERE r.view = k.view AND r.key = k.key";
pub(crate) const PUT_ROWS: &str = "INSERT INTO rows (view, key, partition, value) \
     SELECT * FROM unnest($1::integer[], $2::bytea[], $3::smallint[], $4::bytea[]) \
     ON CONFLICT (view, key) DO UPDATE SET partition = excluded.partition, value = excluded.value";
const PUT_DEDUP: &str = "INSERT INTO dedup (key, partition, until, value) \
     SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bytea[]) \
     ON CONFLICT (key) DO UPDATE SET until = excluded.until, value = excluded.value";
const FORGET_CHUNKS: &str = "DELETE FROM chunks WHERE owner = ANY($1::uuid[])";
const PUT_CHUNKS: &str = "INSERT INTO chunks (owner, seq, partition, bytes) \
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::bytea[]) \
     ON CONFLICT (owner, seq) DO UPDATE SET bytes = excluded.bytes";
const COUNT: &str = "UPDATE partitions s SET last = k.last FROM unnest($1::smallint[], $2::bigint[]) AS k (partition, last) \
     WHERE s.partition = k.partition";

/// What became of one try.
pub(crate) enum Tried {
    /// Durable, or nothing was to be written.
    Done { outcomes: Vec<Vec<CommitOutcome>>, partitions: Vec<Partition> },
    /// An earlier try was durable after all.
    Earlier { outcomes: Vec<Vec<CommitOutcome>> },
    /// It broke; when something was sent that may have been committed, `signed` says under which name.
    Broken { trouble: Trouble, signed: Option<UnconfirmedCommit> },
}

/// A commit that was sent and of which nothing was heard.
pub(crate) struct UnconfirmedCommit {
    pub(crate) name: Uuid,
    pub(crate) outcomes: Vec<Vec<CommitOutcome>>,
    pub(crate) partitions: Vec<Partition>,
    /// Whether the outcomes know the numbers of their events.
    pub(crate) is_numbered: bool,
}

/// Tries once. `earlier` is the last try of the same batches of which nothing was heard.
/// A connection on which it broke must not be used again: it may be in the middle of something.
pub(crate) async fn try_once(
    client: &DatabaseSession,
    writer: Uuid,
    batches: &[Batch],
    earlier: Option<&UnconfirmedCommit>,
) -> Tried {
    if earlier.is_none()
        && let Some(tried) = try_at_once(client, writer, batches).await
    {
        return tried;
    }
    let concerned = Concerned::of(batches);
    let lookup = match look(client, writer, &concerned).await {
        Ok(lookup) => lookup,
        Err(trouble) => return Tried::Broken { trouble, signed: None },
    };
    if let Some(earlier) = earlier.filter(|earlier| Some(earlier.name) == lookup.committed) {
        return match found_again(client, batches, earlier).await {
            Ok(outcomes) => end(client, Tried::Earlier { outcomes }).await,
            Err(trouble) => Tried::Broken { trouble, signed: None },
        };
    }
    if lookup.rebuilding {
        let unfinished = Fault::damaged(crate::rebuild::INCOMPLETE);
        return Tried::Broken { trouble: unfinished.into(), signed: None };
    }
    let CommitPlan { outcomes, writes, .. } = CommitPlan::of(batches, lookup.known);
    let partitions = writes.partitions();
    if writes.is_empty() {
        return end(client, Tried::Done { outcomes, partitions }).await;
    }
    let name = Uuid::new_v4();
    match write(client, &writes, name, Some(writer)).await {
        Ok(()) => Tried::Done { outcomes, partitions },
        Err(trouble) => {
            Tried::Broken { trouble, signed: Some(UnconfirmedCommit { name, outcomes, partitions, is_numbered: true }) }
        }
    }
}

/// Ends a transaction that wrote nothing.
async fn end(client: &DatabaseSession, tried: Tried) -> Tried {
    match client.command("ROLLBACK").await {
        Ok(()) => tried,
        Err(error) => Tried::Broken { trouble: error.into(), signed: None },
    }
}

struct CommitLookup {
    committed: Option<Uuid>,
    rebuilding: bool,
    known: KnownState,
}

async fn look(client: &DatabaseSession, writer: Uuid, concerned: &Concerned) -> Result<CommitLookup, Trouble> {
    let lock_writer = client.prepare(LOCK_WRITER).await?;
    let lock_partitions = client.prepare(LOCK_SHARDS).await?;
    let versions = client.prepare(VERSIONS).await?;
    let taken = client.prepare(TAKEN).await?;
    let partitions: Vec<i16> = concerned.partitions.iter().map(|partition| codes::partition(*partition)).collect();
    let kinds: Vec<i16> = concerned.entities.iter().map(|entity| codes::kind(entity.kind)).collect();
    let ids: Vec<Uuid> = concerned.entities.iter().map(|entity| entity.id).collect();
    let keys: Vec<&[u8]> = concerned.keys.iter().map(Vec::as_slice).collect();
    let (partition_params, key_params): ([&(dyn ToSql + Sync); 1], [&(dyn ToSql + Sync); 1]) = ([&partitions], [&keys]);
    let (writer_params, entity_params): ([&(dyn ToSql + Sync); 1], [&(dyn ToSql + Sync); 2]) =
        ([&writer], [&kinds, &ids]);
    // All of it is sent before the first answer: one trip. Each statement sees what was committed when it began,
    // and those behind the locks begin when the locks are held.
    let (begun, signed, locked, versions, taken, quotas) = tokio::join!(
        biased;
        client.begin(),
        client.run(&lock_writer, &writer_params),
        client.run(&lock_partitions, &partition_params),
        client.run(&versions, &entity_params),
        client.run(&taken, &key_params),
        concerned.quotas.count(client),
    );
    begun?;
    let committed = signed?.first().map(|row| row.get(0));
    if committed.is_none() {
        return Err(Fault::unavailable("committing", "this writer was forgotten: restart Ordo").into());
    }
    let (mut known, mut rebuilding) = (KnownState::default(), false);
    for row in locked? {
        known.last.insert(codes::partition_of(row.get(0))?, codes::version_of(row.get(1))?);
        rebuilding |= row.get::<_, bool>(2);
    }
    for row in versions? {
        known.versions.insert(codes::entity(row.get(0), row.get(1))?, codes::version_of(row.get(2))?);
    }
    for row in taken? {
        known.taken.insert(row.get(0), (codes::time(row.get(1))?, row.get(2)));
    }
    known.quotas = quotas?;
    Ok(CommitLookup { committed, rebuilding, known })
}

/// Writes everything inside the open transaction and commits it.
pub(crate) async fn write(
    client: &DatabaseSession,
    writes: &Writes<'_>,
    name: Uuid,
    writer: Option<Uuid>,
) -> Result<(), Trouble> {
    let mut pipeline = Pipeline::on(client);
    if let Some(writer) = writer {
        pipeline.add(SIGN, params![writer, name]).await?;
    }
    remove_events(&mut pipeline, writes).await?;
    append(&mut pipeline, writes).await?;
    put_entities(&mut pipeline, writes, name).await?;
    put_tables(&mut pipeline, &writes.tables).await?;
    put_rows(&mut pipeline, writes).await?;
    put_beside(&mut pipeline, writes).await?;
    put_starts(&mut pipeline, &writes.starts).await?;
    if !writes.last.is_empty() {
        let partitions: Vec<i16> = writes.last.keys().map(|partition| codes::partition(*partition)).collect();
        let last: Vec<i64> = writes.last.values().map(|last| codes::version(*last)).collect();
        pipeline.add(COUNT, params![partitions, last]).await?;
    }
    pipeline.command("COMMIT");
    pipeline.finish().await
}

async fn remove_events<'a>(pipeline: &mut Pipeline<'a>, writes: &Writes<'a>) -> Result<(), Trouble> {
    if !writes.purged.is_empty() {
        let kinds: Vec<i16> = writes.purged.iter().map(|entity| codes::kind(entity.kind)).collect();
        let ids: Vec<Uuid> = writes.purged.iter().map(|entity| entity.id).collect();
        pipeline.add(PURGE_EVENTS, params![kinds, ids]).await?;
    }
    if writes.cuts.is_empty() {
        return Ok(());
    }
    let kinds: Vec<i16> = writes.cuts.keys().map(|entity| codes::kind(entity.kind)).collect();
    let ids: Vec<Uuid> = writes.cuts.keys().map(|entity| entity.id).collect();
    let through: Vec<i64> = writes.cuts.values().map(|cut| codes::version(cut.through)).collect();
    pipeline.add(CUT_EVENTS, params![kinds, ids, through]).await?;
    let (mut kinds, mut ids, mut through) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut names, mut data, mut actors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (entity, cut) in &writes.cuts {
        let Some(checkpoint) = cut.checkpoint else { continue };
        kinds.push(codes::kind(entity.kind));
        ids.push(entity.id);
        through.push(codes::version(cut.through));
        at.push(checkpoint.at.ms());
        names.push(checkpoint.kind.as_str());
        data.push(checkpoint.data.as_slice());
        actors.push(codes::actor(&checkpoint.actor));
    }
    if !kinds.is_empty() {
        pipeline.add(PUT_CHECKPOINTS, params![kinds, ids, through, at, names, data, actors]).await?;
    }
    Ok(())
}

async fn append<'a>(pipeline: &mut Pipeline<'a>, writes: &Writes<'a>) -> Result<(), Trouble> {
    let (mut partitions, mut numbers, mut kinds, mut ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut versions, mut at, mut names, mut data) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut actors = Vec::new();
    for (entity, events) in &writes.events {
        for appended in events {
            partitions.push(codes::partition(Partition::of(*entity)));
            numbers.push(codes::version(appended.number));
            kinds.push(codes::kind(entity.kind));
            ids.push(entity.id);
            versions.push(codes::version(appended.version));
            at.push(appended.event.at.ms());
            names.push(appended.event.kind.as_str());
            data.push(appended.event.data.as_slice());
            actors.push(codes::actor(&appended.event.actor));
        }
    }
    match partitions.is_empty() {
        true => Ok(()),
        false => {
            pipeline.add(APPEND, params![partitions, numbers, kinds, ids, versions, at, names, data, actors]).await
        }
    }
}

async fn put_entities<'a>(pipeline: &mut Pipeline<'a>, writes: &Writes<'a>, name: Uuid) -> Result<(), Trouble> {
    let (mut gone_kinds, mut gone_ids) = (Vec::new(), Vec::new());
    let (mut kinds, mut ids, mut partitions, mut versions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut alarms, mut ranks, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for (entity, kept) in &writes.entities {
        let Some(kept) = kept else {
            gone_kinds.push(codes::kind(entity.kind));
            gone_ids.push(entity.id);
            continue;
        };
        kinds.push(codes::kind(entity.kind));
        ids.push(entity.id);
        partitions.push(codes::partition(Partition::of(*entity)));
        versions.push(codes::version(kept.version));
        alarms.push(kept.alarm.map(|alarm| alarm.at.ms()));
        ranks.push(kept.alarm.map_or(0, |alarm| i16::from(alarm.rank)));
        states.push(kept.state);
    }
    if !gone_kinds.is_empty() {
        pipeline.add(REMOVE_ENTITIES, params![gone_kinds, gone_ids]).await?;
    }
    match kinds.is_empty() {
        true => Ok(()),
        false => {
            pipeline.add(PUT_ENTITIES, params![kinds, ids, partitions, versions, alarms, ranks, states, name]).await
        }
    }
}

async fn put_rows<'a>(pipeline: &mut Pipeline<'a>, writes: &Writes<'a>) -> Result<(), Trouble> {
    let (mut gone_views, mut gone_keys) = (Vec::new(), Vec::new());
    let (mut views, mut keys, mut partitions, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((view, key), (partition, value)) in &writes.rows {
        match value {
            None => {
                gone_views.push(*view);
                gone_keys.push(*key);
            }
            Some(value) => {
                views.push(*view);
                keys.push(*key);
                partitions.push(codes::partition(*partition));
                values.push(*value);
            }
        }
    }
    if !gone_views.is_empty() {
        pipeline.add(REMOVE_ROWS, params![gone_views, gone_keys]).await?;
    }
    match views.is_empty() {
        true => Ok(()),
        false => pipeline.add(PUT_ROWS, params![views, keys, partitions, values]).await,
    }
}

/// Dedup keys and chunks.
async fn put_beside<'a>(pipeline: &mut Pipeline<'a>, writes: &Writes<'a>) -> Result<(), Trouble> {
    if !writes.dedup.is_empty() {
        let keys: Vec<&[u8]> = writes.dedup.keys().copied().collect();
        let partitions: Vec<i16> = keys.iter().map(|key| codes::partition(Partition::of_key(key))).collect();
        let until: Vec<i64> = writes.dedup.values().map(|entry| entry.until.ms()).collect();
        let values: Vec<&[u8]> = writes.dedup.values().map(|entry| entry.value.as_slice()).collect();
        pipeline.add(PUT_DEDUP, params![keys, partitions, until, values]).await?;
    }
    if !writes.forgotten.is_empty() {
        let owners: Vec<Uuid> = writes.forgotten.iter().copied().collect();
        pipeline.add(FORGET_CHUNKS, params![owners]).await?;
    }
    if !writes.chunks.is_empty() {
        let owners: Vec<Uuid> = writes.chunks.keys().map(|(owner, _)| *owner).collect();
        let seqs: Vec<i64> = writes.chunks.keys().map(|(_, seq)| codes::seq(*seq)).collect();
        let partitions: Vec<i16> = owners.iter().map(|owner| codes::partition(Partition::of_id(*owner))).collect();
        let bytes: Vec<&[u8]> = writes.chunks.values().copied().collect();
        pipeline.add(PUT_CHUNKS, params![owners, seqs, partitions, bytes]).await?;
    }
    Ok(())
}
