//! Transfer: everything is listed in the order of its table, and written under the versions it had.

use std::ops::Bound;

use async_trait::async_trait;
use ordo_store::{Chunk, Dedup, Fault, Transfer, TransferBatch, TransferredKey, Version};
use uuid::Uuid;

use crate::commit::{Writing, number};
use crate::fault::during;
use crate::handle::{Done, Handle};
use crate::keys::{chunk_key, chunk_number_of};
use crate::read::table;
use crate::store::RedbStore;
use crate::tables::{CHUNKS, ChunkKey, DEDUP, META, META_REBUILDING};
use crate::values::read_dedup;

#[async_trait]
impl Transfer for RedbStore {
    async fn is_incomplete(&self) -> Result<bool, Fault> {
        self.handle.read(|read| Ok(number(&table(read, META)?, META_REBUILDING)? != 0))
    }

    async fn all_chunks(&self, after: Option<(Uuid, u64)>, limit: usize) -> Result<Vec<Chunk>, Fault> {
        let after = after.map(|(owner, seq)| chunk_key(owner, seq));
        let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        self.handle.read(|read| {
            let mut found = Vec::new();
            let chunks = table(read, CHUNKS)?;
            let range = chunks.range::<&ChunkKey>((from, Bound::Unbounded)).map_err(during("reading chunks"))?;
            for entry in range.take(limit) {
                let (key, value) = entry.map_err(during("reading chunks"))?;
                let owner = Uuid::from_slice(&key.value()[..16]).map_err(|_| Fault::damaged("a short chunk key"))?;
                found.push(Chunk { owner, seq: chunk_number_of(key.value())?, bytes: value.value().to_vec() });
            }
            Ok(found)
        })
    }

    async fn all_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<TransferredKey>, Fault> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.handle.read(|read| {
            let mut found = Vec::new();
            let keys = table(read, DEDUP)?;
            let range = keys.range::<&[u8]>((from, Bound::Unbounded)).map_err(during("reading dedup keys"))?;
            for entry in range.take(limit) {
                let (key, value) = entry.map_err(during("reading dedup keys"))?;
                let (until, value) = read_dedup(value.value())?;
                found.push(TransferredKey { key: key.value().to_vec(), until, value: value.to_vec() });
            }
            Ok(found)
        })
    }

    async fn put(&self, batch: TransferBatch) -> Result<(), Fault> {
        self.task(move |handle| put(handle, &batch)).await
    }
}

fn put(handle: &Handle, batch: &TransferBatch) -> Result<(), Fault> {
    handle.write(|transaction| {
        let mut writing = Writing::for_rebuild(transaction)?;
        for moved in &batch.events {
            let Some((first, _)) = moved.events.first() else { continue };
            writing.remove_between(moved.entity, *first, Version::MAX)?;
            for (version, event) in &moved.events {
                writing.put_event(moved.entity, *version, event)?;
            }
        }
        for TransferredKey { key, until, value } in &batch.keys {
            let entry = Dedup { key: key.clone(), at: *until, until: *until, value: value.clone() };
            writing.put_dedup(&entry)?;
        }
        for chunk in &batch.chunks {
            writing.put_chunk(chunk)?;
        }
        Ok(if writing.end()? { Done::Write(()) } else { Done::Nothing(()) })
    })
}
