//! Transfer: everything is listed in the order of its index, and written under the versions it had.

use std::collections::BTreeSet;

use async_trait::async_trait;
use ordo_store::{Chunk, Dedup, Fault, Partition, Transfer, TransferBatch, TransferredKey};
use uuid::Uuid;

use crate::codes;
use crate::connection::session::DatabaseSession;
use crate::fault::Trouble;
use crate::store::PostgresStore;
use crate::write::commit::{LOCK_SHARDS, write};
use crate::write::plan::{Appended, Writes};

/// How often a batch is tried; twice is the same as once.
const TRIES: usize = 4;

const REMOVE: &str = "DELETE FROM events e USING unnest($1::smallint[], $2::uuid[], $3::bigint[]) AS k (kind, id, first) \
     WHERE e.kind = k.kind AND e.id = k.id AND e.version >= k.first";

#[async_trait]
impl Transfer for PostgresStore {
    async fn is_incomplete(&self) -> Result<bool, Fault> {
        let sql = "SELECT 1 FROM partitions WHERE rebuilding LIMIT 1";
        Ok(!self.database.query("reading the partitions", sql, &[]).await?.is_empty())
    }

    async fn all_chunks(&self, after: Option<(Uuid, u64)>, limit: usize) -> Result<Vec<Chunk>, Fault> {
        let (owner, seq) = after.map_or((Uuid::nil(), i64::MIN), |(owner, seq)| (owner, codes::seq(seq)));
        let is_after = after.is_some();
        let sql = "SELECT owner, seq, bytes FROM chunks WHERE (owner, seq) >= ($1, $2) \
             AND NOT ($3 AND owner = $1 AND seq = $2) ORDER BY owner, seq LIMIT $4";
        let rows = self.database.query("reading chunks", sql, &[&owner, &seq, &is_after, &codes::limit(limit)]).await?;
        Ok(rows
            .iter()
            .map(|row| Chunk { owner: row.get(0), seq: codes::seq_of(row.get(1)), bytes: row.get(2) })
            .collect())
    }

    async fn all_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<TransferredKey>, Fault> {
        let sql = "SELECT key, until, value FROM dedup WHERE key >= $1 AND NOT ($2 AND key = $1) ORDER BY key LIMIT $3";
        let from = after.unwrap_or_default();
        let rows =
            self.database.query("reading dedup keys", sql, &[&from, &after.is_some(), &codes::limit(limit)]).await?;
        rows.iter()
            .map(|row| Ok(TransferredKey { key: row.get(0), until: codes::time(row.get(1))?, value: row.get(2) }))
            .collect()
    }

    async fn put(&self, batch: TransferBatch) -> Result<(), Fault> {
        let mut tries = 1;
        loop {
            let client = self.database.writer().await.map_err(|trouble| trouble.into_fault("moving"))?;
            let done = put_once(&client, &batch).await;
            if done.is_err() {
                // It may be in the middle of something.
                client.close();
            }
            match done {
                Err(Trouble::Passing(_)) if tries < TRIES => tries += 1,
                done => return done.map_err(|trouble| trouble.into_fault("moving")),
            }
        }
    }
}

async fn put_once(client: &DatabaseSession, batch: &TransferBatch) -> Result<(), Trouble> {
    client.begin().await?;
    let partitions: BTreeSet<i16> =
        batch.events.iter().map(|moved| codes::partition(Partition::of(moved.entity))).collect();
    let partitions: Vec<i16> = partitions.into_iter().collect();
    let mut writes = Writes::default();
    for row in client.query(LOCK_SHARDS, &[&partitions]).await? {
        writes.last.insert(codes::partition_of(row.get(0))?, codes::version_of(row.get(1))?);
    }
    let (mut kinds, mut ids, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for moved in &batch.events {
        let Some((first, _)) = moved.events.first() else { continue };
        kinds.push(codes::kind(moved.entity.kind));
        ids.push(moved.entity.id);
        firsts.push(codes::version(*first));
        for (version, event) in &moved.events {
            let last = writes.last.entry(Partition::of(moved.entity)).or_default();
            *last += 1;
            let appended = Appended { number: *last, version: *version, event };
            writes.events.entry(moved.entity).or_default().push(appended);
        }
    }
    client.query(REMOVE, &[&kinds, &ids, &firsts]).await?;
    let entry = |TransferredKey { key, until, value }: &TransferredKey| Dedup {
        key: key.clone(),
        at: *until,
        until: *until,
        value: value.clone(),
    };
    let keys: Vec<Dedup> = batch.keys.iter().map(entry).collect();
    writes.dedup.extend(keys.iter().map(|entry| (entry.key.as_slice(), entry)));
    writes.chunks.extend(batch.chunks.iter().map(|chunk| ((chunk.owner, chunk.seq), chunk.bytes.as_slice())));
    write(client, &writes, Uuid::new_v4(), None).await
}
