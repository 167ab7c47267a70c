//! Backup while the store is in use, compaction while it is not.
//!
//! Invariant: a backup is one moment of the store, in one file that needs no journal; it has its name only once it is
//! complete and on disk, and never replaces another. Restoring is copying the file back: opening checks it.

use std::path::Path;

use ordo_store::Fault;
use redb::{
    Builder, Database, Durability, Key, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, TableDefinition, Value, WriteTransaction,
};

use crate::apply::put_number;
use crate::fault::{cannot_open, cannot_open_file, during};
use crate::files::open::create_tables;
use crate::files::unfinished::Unfinished;
use crate::guard::guarded;
use crate::read::table;
use crate::store::RedbStore;
use crate::tables::{META_JOURNAL, Visit, visit_all};

/// A backup writes this many entries at a time,
const COPIED_ENTRIES_MAX: usize = 20_000;
/// or about this many bytes, so that it needs little memory.
const COPIED_BYTES_MAX: usize = 8 * 1024 * 1024;
const COPY_CACHE_BYTES: usize = 16 * 1024 * 1024;

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl RedbStore {
    /// Copies one moment of the store into a new file, while others read and write. `progress` is called with how many
    /// entries of how many are copied. Blocks: call it where blocking is allowed.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), Fault> {
        if to.exists() {
            return Err(Fault::Held { what: format!("{} is there already: name another file", to.display()) });
        }
        let unfinished = Unfinished::of(to)?;
        let tables = self.handle.tables()?;
        guarded("copying it", || copy_into(unfinished.path(), &tables.read, progress))?;
        unfinished.finish()
    }

    /// Gives unused space back to the disk. Needs the store for itself, and room for a second file.
    pub fn compact(&self) -> Result<Compacted, Fault> {
        self.handle.refuse_damaged()?;
        let bytes_before = self.handle.source.bytes_on_disk();
        match self.handle.source.path() {
            Some(path) => self.handle.replace_file(|database| smaller_copy(database, path))?,
            None => self.handle.alone(compact_in_place)?,
        }
        Ok(Compacted { bytes_before, bytes_after: self.handle.source.bytes_on_disk() })
    }
}

/// A copy in order fills its pages, which moving pages around does not. None if it takes no less.
fn smaller_copy(database: &Database, path: &Path) -> Result<Option<Unfinished>, Fault> {
    let read = database.begin_read().map_err(during("compacting"))?;
    let copy = Unfinished::of(path)?;
    copy_into(copy.path(), &read, &mut |_, _| {})?;
    let bytes = |path: &Path| std::fs::metadata(path).map(|file| file.len());
    let sizes = bytes(copy.path()).and_then(|copied| Ok((copied, bytes(path)?)));
    let (copied, original) = sizes.map_err(|error| cannot_open_file(path, error))?;
    Ok((copied < original).then_some(copy))
}

fn compact_in_place(database: &mut Database) -> Result<(), Fault> {
    while database.compact().map_err(during("compacting"))? {}
    // Compaction leaves no quick-repair record behind; one more commit does.
    create_tables(database)
}

fn copy_into(path: &Path, read: &ReadTransaction, progress: &mut dyn FnMut(u64, u64)) -> Result<(), Fault> {
    let mut total = Total { read, entries: 0 };
    visit_all(&mut total)?;
    let target =
        Builder::new().set_cache_size(COPY_CACHE_BYTES).create(path).map_err(|error| cannot_open(path, error))?;
    let mut copy = TableCopier { read, target: &target, done: 0, total: total.entries, progress };
    visit_all(&mut copy)?;
    let transaction = begin_copying(&target)?;
    put_number(&transaction, META_JOURNAL, 0)?;
    transaction.commit().map_err(during("writing a backup"))?;
    // The one durable commit: everything before it becomes durable with it.
    create_tables(&target)
}

fn begin_copying(target: &Database) -> Result<WriteTransaction, Fault> {
    let mut transaction = target.begin_write().map_err(during("writing a backup"))?;
    transaction.set_durability(Durability::None).map_err(during("writing a backup"))?;
    Ok(transaction)
}

struct Total<'r> {
    read: &'r ReadTransaction,
    entries: u64,
}

impl Visit for Total<'_> {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault> {
        self.entries += table(self.read, definition)?.len().map_err(during("counting"))?;
        Ok(())
    }
}

struct TableCopier<'r> {
    read: &'r ReadTransaction,
    target: &'r Database,
    done: u64,
    total: u64,
    progress: &'r mut dyn FnMut(u64, u64),
}

impl Visit for TableCopier<'_> {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault> {
        let source: ReadOnlyTable<K, V> = table(self.read, definition)?;
        let mut entries = source.iter().map_err(during("reading for a backup"))?.peekable();
        while entries.peek().is_some() {
            let transaction = begin_copying(self.target)?;
            let mut into = transaction.open_table(definition).map_err(during("writing a backup"))?;
            let (mut copied, mut bytes) = (0, 0);
            while copied < COPIED_ENTRIES_MAX && bytes < COPIED_BYTES_MAX {
                let Some(entry) = entries.next() else { break };
                let (key, value) = entry.map_err(during("reading for a backup"))?;
                let (key, value) = (key.value(), value.value());
                bytes += K::as_bytes(&key).as_ref().len() + V::as_bytes(&value).as_ref().len();
                into.insert(key, value).map_err(during("writing a backup"))?;
                copied += 1;
            }
            drop(into);
            transaction.commit().map_err(during("writing a backup"))?;
            self.done += copied as u64;
            (self.progress)(self.done, self.total);
        }
        Ok(())
    }
}
