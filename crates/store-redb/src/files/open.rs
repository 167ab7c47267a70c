//! Opening a store: who may, whether the file is ours, and which layout it has.
//!
//! Invariant: a file is written to only after it is known to be a store of a layout this code writes.

use std::path::{Path, PathBuf};

use ordo_store::Fault;
use redb::{Database, Key, ReadTransaction, ReadableDatabase, TableDefinition, TableError, TableHandle, Value};

use crate::fault::during;
use crate::journal::JOURNAL_BYTES_DEFAULT;
use crate::tables::{FORMAT, FORMAT_WITHOUT_JOURNAL, META, META_FORMAT, Visit, visit_all};

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct RedbOptions {
    /// How much of the file redb keeps in memory.
    pub cache_bytes: usize,
    /// How much the journal takes that redb does not hold durably; a recovery replays no more.
    pub journal_bytes: usize,
    /// How much memory rows take that redb does not hold yet; as much again while it takes them. Commits wait for redb
    /// when it is reached.
    pub overlay_bytes: usize,
    /// Microseconds that go on steadily, to say how long a recovery took: this crate reads no clock. By default they
    /// stand still.
    pub micros: fn() -> u64,
}

/// Keeps a daemon with a million waiting jobs well below 300 MiB.
pub const CACHE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// Half a second of ten thousand jobs a second.
pub const OVERLAY_BYTES_DEFAULT: usize = 32 * 1024 * 1024;
/// redb takes what came together when the overlay is full to this part,
const FOLLOWED_PARTS: usize = 8;
/// and is made durable when the journal is full to this part.
const CHECKPOINTED_PARTS: usize = 4;

impl Default for RedbOptions {
    fn default() -> RedbOptions {
        RedbOptions {
            cache_bytes: CACHE_BYTES_DEFAULT,
            journal_bytes: JOURNAL_BYTES_DEFAULT,
            overlay_bytes: OVERLAY_BYTES_DEFAULT,
            micros: || 0,
        }
    }
}

impl RedbOptions {
    /// From so many bytes of rows on, redb takes them: large enough that keys written several times come together,
    /// small enough that commits seldom wait.
    pub(crate) fn follow_bytes(self) -> usize {
        self.overlay_bytes.min(self.journal_bytes) / FOLLOWED_PARTS
    }

    /// From so many bytes of records on, redb is made durable: then most of the journal is still free.
    pub(crate) fn checkpoint_bytes(self) -> u64 {
        (self.journal_bytes / CHECKPOINTED_PARTS) as u64
    }
}

/// Checks the layout of an opened file; a new file and one of an older layout get it.
pub(crate) fn prepare(database: &Database, path: Option<&Path>) -> Result<(), Fault> {
    let name = path.map_or_else(|| PathBuf::from("the store"), Path::to_owned);
    let read = database.begin_read().map_err(during("looking at the layout"))?;
    let mut tables: Vec<String> = Vec::new();
    for table in read.list_tables().map_err(during("listing the tables"))? {
        tables.push(table.name().to_owned());
    }
    let is_old = !tables.is_empty() && check_format(&read, &name)? != FORMAT;
    drop(read);
    let mut missing = Missing { tables, found: false };
    visit_all(&mut missing)?;
    if missing.found || is_old { create_tables(database) } else { Ok(()) }
}

/// The layout of the file, if it is one that can be read.
fn check_format(read: &ReadTransaction, name: &Path) -> Result<u32, Fault> {
    let name = name.display();
    let foreign = || Fault::damaged(format!("{name} is a redb file, but not an Ordo store: name another file"));
    let meta = match read.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::Storage(error)) => return Err(during("looking at the layout")(error)),
        Err(_) => return Err(foreign()),
    };
    let stored = meta.get(META_FORMAT).map_err(during("looking at the layout"))?.ok_or_else(foreign)?.value();
    if let Some(known) = [FORMAT, FORMAT_WITHOUT_JOURNAL].into_iter().find(|known| stored == u64::from(*known)) {
        return Ok(known);
    }
    Err(Fault::damaged(format!(
        "{name} has layout {stored} and this Ordo reads layouts up to {FORMAT}: use the Ordo that wrote it, or a newer one"
    )))
}

/// Looks for tables the file does not have: all of a new file, and views that came with a newer Ordo.
struct Missing {
    tables: Vec<String>,
    found: bool,
}

impl Visit for Missing {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault> {
        self.found |= !self.tables.iter().any(|name| name == table.name());
        Ok(())
    }
}

struct Create<'t>(&'t redb::WriteTransaction);

impl Visit for Create<'_> {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault> {
        self.0.open_table(table).map(drop).map_err(during("making the tables"))
    }
}

pub(crate) fn create_tables(database: &Database) -> Result<(), Fault> {
    let mut transaction = database.begin_write().map_err(during("making the tables"))?;
    transaction.set_quick_repair(true);
    visit_all(&mut Create(&transaction))?;
    {
        let mut meta = transaction.open_table(META).map_err(during("making the tables"))?;
        meta.insert(META_FORMAT, u64::from(FORMAT)).map_err(during("writing the layout's number"))?;
    }
    transaction.commit().map_err(during("making the tables"))
}
