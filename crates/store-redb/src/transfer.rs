//! Transfer: everything is listed in the order of its table, and written under the versions it had.

use async_trait::async_trait;
use ordo_store::{Chunk, Dedup, Fault, Transfer, TransferBatch, TransferredKey, Version};
use uuid::Uuid;

use crate::handle::Handle;
use crate::read;
use crate::store::RedbStore;

#[async_trait]
impl Transfer for RedbStore {
    async fn is_incomplete(&self) -> Result<bool, Fault> {
        self.handle.read(|layers| Ok(layers.is_rebuilding()))
    }

    async fn all_chunks(&self, after: Option<(Uuid, u64)>, limit: usize) -> Result<Vec<Chunk>, Fault> {
        self.handle.read(|layers| read::all_chunks(layers, after, limit))
    }

    async fn all_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<TransferredKey>, Fault> {
        self.handle.read(|layers| read::all_keys(layers, after, limit))
    }

    async fn put(&self, batch: TransferBatch) -> Result<(), Fault> {
        self.task(move |handle| put(handle, &batch)).await
    }
}

fn put(handle: &Handle, batch: &TransferBatch) -> Result<(), Fault> {
    handle.write(|writing| {
        for moved in &batch.events {
            let Some((first, _)) = moved.events.first() else { continue };
            writing.remove_between(moved.entity, *first, Version::MAX)?;
            for (version, event) in &moved.events {
                writing.put_event(moved.entity, *version, event);
            }
        }
        for TransferredKey { key, until, value } in &batch.keys {
            let entry = Dedup { key: key.clone(), at: *until, until: *until, value: value.clone() };
            writing.put_dedup(&entry)?;
        }
        batch.chunks.iter().for_each(|chunk| writing.put_chunk(chunk));
        Ok(())
    })
}
