//! The contract, kept by PostgreSQL: commits go to the writer, reads to any free connection.
//!
//! Invariant: the store holds nothing that the database does not: any number of them may be open on one schema.

use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::Pool;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Batch, Chunk, Cluster, CommitOutcome, Direction, DueAlarm, Fault, KeyRange, Partition, Position, Rebuilt, Row,
    Snapshot, Stats, Store, StoredEvent, StreamPage, SubmissionQueue, TableCell, Version, View,
};
use uuid::Uuid;

use crate::connection::connect::{ConnectionPools, WRITERS};
use crate::connection::probe;
use crate::connection::source::ConnectionSource;
use crate::connection::url::{BadUrl, ConnectTarget, checked_schema};
use crate::hints::HintChannel;
use crate::read::position::Vector;
use crate::read::stats::LatestEstimate;
use crate::read::{alarms, read_log, stats};
use crate::write::writer::PostgresWriter;
use crate::{migrate, read, rebuild, tables};

/// The smallest pool of a host: two connections write, one reads, one is left to the host.
const HOST_POOL_MIN: usize = 4;

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
    source: ConnectionSource,
    writer: PostgresWriter,
    estimate: LatestEstimate,
}

impl PostgresStore {
    /// Opens the schema that the URL names, or makes it, and brings it to this version's layout.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<PostgresStore, Fault> {
        let target: ConnectTarget = url.parse().map_err(|error: BadUrl| Fault::Misuse { what: error.to_string() })?;
        let channel = HintChannel::new(Uuid::new_v4(), Some(&target))?;
        PostgresStore::open_on(ConnectionSource::Url(Box::new(target)), options.readers.max(1), channel).await
    }

    /// The same with connections of a pool that the program has anyway: at most half of them, and at least three, stay here
    /// while the store is open. Other nodes are heard of at once only with a URL to listen at; without it within a second.
    pub async fn open_with(pool: &Pool, schema: &str, listen_url: Option<&str>) -> Result<PostgresStore, Fault> {
        let schema = checked_schema(schema).map_err(|error| Fault::misuse(error.to_string()))?;
        let size = pool.status().max_size;
        if size < HOST_POOL_MIN {
            return Err(Fault::misuse(format!(
                "the pool has at most {size} connections: give it {HOST_POOL_MIN} or more, Ordo keeps up to half of them"
            )));
        }
        let readers = (size / 2).saturating_sub(WRITERS).clamp(1, PostgresOptions::default().readers);
        let mut target: Option<ConnectTarget> =
            listen_url.map(str::parse).transpose().map_err(|error: BadUrl| Fault::misuse(error.to_string()))?;
        if let Some(target) = &mut target {
            target.schema.clone_from(&schema);
        }
        let channel = HintChannel::new(Uuid::new_v4(), target.as_ref())?;
        PostgresStore::open_on(ConnectionSource::Host { pool: pool.clone(), schema }, readers, channel).await
    }

    /// Opens a standby of a database that has the layout of this version: for reading only.
    pub async fn open_standby(url: &str, options: PostgresOptions) -> Result<PostgresStore, Fault> {
        let target: ConnectTarget = url.parse().map_err(|error: BadUrl| Fault::Misuse { what: error.to_string() })?;
        let hints = HintChannel::new(Uuid::new_v4(), None)?;
        let source = ConnectionSource::Url(Box::new(target));
        let database = ConnectionPools::new(&source, options.readers.max(1))?;
        let rows = database.query(OPENING, "SELECT layout FROM meta WHERE one = 1", &[]).await?;
        let layout = rows.first().map_or(0, |row| row.get::<_, i32>(0));
        if layout < migrate::LAYOUT.cast_signed() {
            let behind = format!("the standby has layout {layout} yet, not {}", migrate::LAYOUT);
            return Err(Fault::unavailable(OPENING, behind));
        }
        let (name, hints) = (hints.name(), Arc::new(hints));
        let writer = PostgresWriter::start(database.clone(), name, hints.clone());
        Ok(PostgresStore { database, hints, source, writer, estimate: LatestEstimate::default() })
    }

    async fn open_on(source: ConnectionSource, readers: usize, hints: HintChannel) -> Result<PostgresStore, Fault> {
        let database = ConnectionPools::new(&source, readers)?;
        prepare(&database, source.schema()).await?;
        let name = hints.name();
        sign_on(&database, name).await?;
        let hints = Arc::new(hints);
        let writer = PostgresWriter::start(database.clone(), name, hints.clone());
        Ok(PostgresStore { database, hints, source, writer, estimate: LatestEstimate::default() })
    }

    /// The schema that it is in.
    pub fn schema(&self) -> &str {
        self.source.schema()
    }

    /// The same store whose reads all see the moment of the first of them: for whoever reads all of it.
    /// If its connection is lost, the moment is another from then on.
    pub fn at_this_moment(&self) -> Result<PostgresStore, Fault> {
        Ok(PostgresStore {
            database: self.database.at_one_moment(&self.source)?,
            hints: self.hints.clone(),
            source: self.source.clone(),
            writer: self.writer.clone(),
            estimate: LatestEstimate::default(),
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
        client.close();
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
        if batch.is_empty() {
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
        let all: Vec<Partition> = Partition::all().collect();
        alarms::due(&self.database, &all, until, after, limit).await
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
        self.estimate.get(&self.database).await
    }

    async fn ping(&self) -> Result<(), Fault> {
        let answer = self.database.ask("SELECT 1", &[]).await;
        answer.map(drop).map_err(|trouble| trouble.into_fault("asking the database whether it is there"))
    }

    async fn try_write(&self) -> Result<(), Fault> {
        probe::try_write(&self.database).await
    }

    fn submissions(&self) -> Option<&dyn SubmissionQueue> {
        Some(self)
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }
}
