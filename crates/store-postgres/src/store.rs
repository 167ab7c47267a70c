//! The contract, kept by PostgreSQL: commits go to the writer, reads to any free connection.
//!
//! Invariant: the store holds nothing that the database does not: any number of them may be open on one schema.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Batch, Chunk, Cluster, CommitOutcome, Direction, DueAlarm, Fault, KeyRange, Position, Rebuilt, Row, Snapshot,
    Stats, Store, StoredEvent, StreamPage, TableCell, Version, View,
};
use uuid::Uuid;

use crate::connection::connect::ConnectionPools;
use crate::connection::probe;
use crate::connection::url::{BadUrl, ConnectTarget};
use crate::hints::HintChannel;
use crate::read::position::Vector;
use crate::read::{read_log, stats};
use crate::write::writer::PostgresWriter;
use crate::{migrate, read, rebuild, tables};

#[derive(Debug, Clone, Copy)]
pub struct PostgresOptions {
    /// How many connections read; two more write, and one carries hints where nodes work together.
    pub readers: usize,
}

impl Default for PostgresOptions {
    fn default() -> PostgresOptions {
        PostgresOptions { readers: 8 }
    }
}

/// A store in one schema of a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) database: ConnectionPools,
    pub(crate) hints: Arc<HintChannel>,
    target: ConnectTarget,
    writer: PostgresWriter,
}

impl PostgresStore {
    /// Opens the schema that the URL names, or makes it, and brings it to this version's layout.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<PostgresStore, Fault> {
        let target: ConnectTarget = url.parse().map_err(|error: BadUrl| Fault::Misuse { what: error.to_string() })?;
        let database = ConnectionPools::new(&target, options.readers.max(1))?;
        prepare(&database, &target.schema).await?;
        let name = Uuid::new_v4();
        sign_on(&database, name).await?;
        let hints = Arc::new(HintChannel::new(name, &target)?);
        let writer = PostgresWriter::start(database.clone(), name, hints.clone());
        Ok(PostgresStore { database, hints, target, writer })
    }

    /// The same store whose reads all see the moment of the first of them: for whoever reads all of it.
    /// If its connection is lost, the moment is another from then on.
    pub fn at_this_moment(&self) -> Result<PostgresStore, Fault> {
        Ok(PostgresStore {
            database: self.database.at_one_moment(&self.target)?,
            hints: self.hints.clone(),
            target: self.target.clone(),
            writer: self.writer.clone(),
        })
    }
}

const OPENING: &str = "opening the database";
const SIGNING_ON: &str = "signing on";

/// Whether a store could not be opened because its database was not reached: the same may succeed in a while. A server
/// that answers and is not trusted, or does not trust us, is not away.
pub fn is_away(fault: &Fault) -> bool {
    let Fault::Unavailable { doing: OPENING | SIGNING_ON, source } = fault else { return false };
    !source.to_string().contains("TLS handshake")
}

async fn prepare(database: &ConnectionPools, schema: &str) -> Result<(), Fault> {
    let opening = |trouble: crate::fault::Trouble| trouble.into_fault(OPENING);
    let client = database.writer().await.map_err(opening)?;
    let migrated = migrate::run(&client, schema).await;
    if migrated.is_err() {
        drop(deadpool_postgres::Object::take(client));
    }
    migrated.map_err(opening)
}

/// Writers that have not been seen for a week are forgotten: nobody asks for their last commit any more.
async fn sign_on(database: &ConnectionPools, name: Uuid) -> Result<(), Fault> {
    let now = crate::cluster::NOW;
    let forget = format!("DELETE FROM writers WHERE seen_at < {now} - 7 * 86400000");
    database.query(SIGNING_ON, &forget, &[]).await?;
    let sign = format!(
        "INSERT INTO writers (writer, committed, seen_at) VALUES ($1, $1, {now}) ON CONFLICT (writer) DO NOTHING"
    );
    database.query(SIGNING_ON, &sign, &[&name]).await.map(drop)
}

#[async_trait]
impl Store for PostgresStore {
    async fn commit(&self, batch: Batch) -> Result<Vec<CommitOutcome>, Fault> {
        batch.check()?;
        tables::check(batch.items.iter().flat_map(|item| &item.rows))?;
        if batch.items.is_empty() && batch.chunks.is_empty() {
            return Ok(Vec::new());
        }
        self.writer.commit(batch).await
    }

    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
        read::load(&self.database, entities).await
    }

    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
        read_log::history(&self.database, entity, from, limit).await
    }

    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
        read_log::events(&self.database, after, limit).await
    }

    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault> {
        Ok(Vector::read(to)?.beyond(&Vector::read(from)?))
    }

    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        read::due(&self.database, None, until, after, limit).await
    }

    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
        read::entities(&self.database, after, limit).await
    }

    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
        read_log::streams(&self.database, after, limit).await
    }

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        read::row(&self.database, view, key).await
    }

    fn has_tables(&self) -> bool {
        true
    }

    async fn cells(&self, view: View, key: &[u8]) -> Result<Option<Vec<TableCell>>, Fault> {
        tables::read::cells(&self.database, view, key).await
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault> {
        read::rows(&self.database, view, range, order, limit).await
    }

    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        read::rows_by_key(&self.database, view, keys).await
    }

    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        read::rows_of_ranges(&self.database, view, ranges, order, limit).await
    }

    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
        read::chunks(&self.database, owner, from, limit).await
    }

    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
        read::dedup(&self.database, key, now).await
    }

    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        read::forget_dedup(&self.database, now, limit).await
    }

    async fn clear_derived(&self) -> Result<(), Fault> {
        rebuild::clear(&self.database).await
    }

    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault> {
        rebuild::put(&self.database, &found).await
    }

    async fn end_rebuild(&self) -> Result<(), Fault> {
        rebuild::end(&self.database).await
    }

    async fn stats(&self) -> Result<Stats, Fault> {
        stats::stats(&self.database).await
    }

    async fn estimate(&self) -> Result<Stats, Fault> {
        stats::estimate(&self.database).await
    }

    async fn ping(&self) -> Result<(), Fault> {
        let answer = self.database.ask("SELECT 1", &[]).await;
        answer.map(drop).map_err(|trouble| trouble.into_fault("asking the database whether it is there"))
    }

    async fn try_write(&self) -> Result<(), Fault> {
        probe::try_write(&self.database).await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }
}
