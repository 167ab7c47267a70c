//! Connections: one pool for reading, one for writing, each connection set up the same way.
//!
//! Invariant: what is acknowledged is durable, whatever the server's default; and a process that stops in the middle
//! of a transaction holds others up for seconds, not for ever.

use std::time::Duration;

use deadpool_postgres::{Runtime, Timeouts};
use ordo_store::Fault;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connection::session::{DatabaseSession, Pooler};
use crate::connection::source::{ConnectionManager, ConnectionSource};
use crate::fault::Trouble;

/// How long a caller waits for a free connection.
const POOL_PATIENCE: Duration = Duration::from_secs(10);
/// How many connections write.
pub(crate) const WRITERS: usize = 2;
/// Reads are tried again after these pauses: a pooled connection may be one of a server that is gone.
const READ_PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];

const ONE_MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const FOR_LONG: &str = "SET LOCAL idle_in_transaction_session_timeout = 0";

pub(crate) type ConnectionPool = deadpool::managed::Pool<ConnectionManager>;
/// A connection that goes back to its pool.
pub(crate) type PooledConnection = deadpool::managed::Object<ConnectionManager>;

pub(crate) type SqlParams<'a> = &'a [&'a (dyn ToSql + Sync)];

#[derive(Debug, Clone)]
pub(crate) struct ConnectionPools {
    reading: ConnectionPool,
    writing: ConnectionPool,
    pooler: Option<Pooler>,
    /// Its reading connections are inside of a transaction.
    at_one_moment: bool,
}

impl ConnectionPools {
    pub(crate) fn new(source: &ConnectionSource, readers: usize) -> Result<ConnectionPools, Fault> {
        let (schema, is_pooled) = (source.schema(), source.is_pooled());
        let set_up = if is_pooled { String::new() } else { settings(schema, SettingsScope::Session) };
        let (reading, writing) = (pool(source, readers, &set_up)?, pool(source, WRITERS, &set_up)?);
        let asking = is_pooled.then(|| pool(source, 1, "")).transpose()?;
        let pooler = asking.map(|asking| Pooler::new(&settings(schema, SettingsScope::Transaction), asking));
        Ok(ConnectionPools { reading, writing, pooler, at_one_moment: false })
    }

    /// Reads that all see one moment: one connection, in one transaction that never writes.
    pub(crate) fn at_one_moment(&self, source: &ConnectionSource) -> Result<ConnectionPools, Fault> {
        let settings = settings(source.schema(), SettingsScope::Transaction);
        let reading = pool(source, 1, &format!("{ONE_MOMENT}; {settings}; {FOR_LONG}"))?;
        Ok(ConnectionPools { reading, at_one_moment: true, ..self.clone() })
    }

    pub(crate) async fn writer(&self) -> Result<DatabaseSession, Trouble> {
        Ok(DatabaseSession::new(self.writing.get().await?, self.pooler.clone()))
    }

    /// One statement that changes nothing, or nothing that must not be done twice.
    pub(crate) async fn query(&self, doing: &'static str, sql: &str, params: SqlParams<'_>) -> Result<Vec<Row>, Fault> {
        let mut pauses = READ_PAUSES.into_iter();
        loop {
            match (self.ask(sql, params).await, pauses.next()) {
                (Ok(rows), _) => return Ok(rows),
                (Err(Trouble::Passing(_)), Some(pause)) => tokio::time::sleep(pause).await,
                (Err(trouble), _) => return Err(trouble.into_fault(doing)),
            }
        }
    }

    /// Once, whatever comes of it.
    pub(crate) async fn ask(&self, sql: &str, params: SqlParams<'_>) -> Result<Vec<Row>, Trouble> {
        let connection = DatabaseSession::new(self.reading.get().await?, self.pooler.clone());
        match self.at_one_moment {
            true => connection.query(sql, params).await,
            false => connection.query_alone(sql, params).await,
        }
    }
}

fn pool(source: &ConnectionSource, size: usize, set_up: &str) -> Result<ConnectionPool, Fault> {
    let timeouts = Timeouts { wait: Some(POOL_PATIENCE), create: Some(POOL_PATIENCE), recycle: Some(POOL_PATIENCE) };
    ConnectionPool::builder(source.manager(set_up)?)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .timeouts(timeouts)
        .build()
        .map_err(|error| Fault::unavailable("preparing connections", error))
}

/// Every statement goes by an index, whatever its parameters are: it is planned once for each session. Asked for a few rows,
/// the server would think a plan of its own worth making every time, which takes longer than the statement. A plan that was
/// made while the tables were small must not outlive that. What has no index to go by is a handful of rows, but counts as
/// very dear then: dear enough to be compiled, for longer than all else takes together.
pub(crate) fn settings(schema: &str, scope: SettingsScope) -> String {
    let (set, is_local) = match scope {
        SettingsScope::Session => ("SET", "false"),
        SettingsScope::Transaction => ("SET LOCAL", "true"),
    };
    format!(
        "{set} search_path TO {schema}; \
         {set} idle_in_transaction_session_timeout = '10s'; \
         {set} enable_seqscan = off; {set} enable_hashjoin = off; {set} enable_mergejoin = off; {set} jit = off; \
         {set} plan_cache_mode = force_generic_plan; \
         {set} client_min_messages = warning; \
         SELECT set_config('synchronous_commit', 'on', {is_local}) WHERE current_setting('synchronous_commit') = 'off'"
    )
}

/// How long settings last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsScope {
    Session,
    Transaction,
}
