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
    /// How much memory rows take that redb does not hold yet. Commits wait for redb when it is reached.
    pub overlay_bytes: usize,
    /// Microseconds that go on steadily, to say how long a recovery took: this crate reads no clock. By default they
    /// stand still.
    pub micros: fn() -> u64,
}

/// Keeps a daemon with a million waiting jobs well below 300 MiB.
pub const CACHE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// Three quarters of it hold a burst of twenty thousand runs.
pub const OVERLAY_BYTES_DEFAULT: usize = 128 * 1024 * 1024;
/// What is worth a transaction of redb, of the overlay;
const WORTH_PARTS: usize = 32;
/// what is enough for one, so that commits begin another overlay;
const SLICE_PARTS: usize = 8;
/// what is left alone for a while, so that a burst passes before redb follows.
const BURST_QUARTERS: usize = 3;
/// redb is made durable with what it takes when so much of the journal is not durable there;
const CHECKPOINT_PARTS: usize = 8;
/// it follows at once when so much is not.
const PRESSING_EIGHTHS: usize = 5;

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
    /// So many bytes of rows are worth a transaction of redb: keys written several times come together in them.
    pub(crate) fn worth_bytes(self) -> usize {
        (self.rows_bytes() / WORTH_PARTS).max(1)
    }

    /// So many bytes of rows are enough for one: redb's pages of a larger one would not fit into its cache.
    pub(crate) fn slice_bytes(self) -> usize {
        (self.rows_bytes() / SLICE_PARTS).max(1)
    }

    /// So many bytes of rows are left alone for a while. The rest is there for those who commit while redb follows.
    pub(crate) fn burst_bytes(self) -> usize {
        self.rows_bytes() / 4 * BURST_QUARTERS
    }

    /// With so many bytes of records behind it, redb is made durable when it takes some.
    pub(crate) fn checkpoint_bytes(self) -> u64 {
        (self.journal_bytes / CHECKPOINT_PARTS) as u64
    }

    /// With so many bytes of records behind it, redb follows at once.
    pub(crate) fn pressing_bytes(self) -> u64 {
        (self.journal_bytes / 8 * PRESSING_EIGHTHS) as u64
    }

    fn rows_bytes(self) -> usize {
        self.overlay_bytes.min(self.journal_bytes)
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
