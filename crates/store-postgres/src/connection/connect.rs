//! Connections: one pool for reading, one for writing, each connection set up the same way.
//!
//! Invariant: what is acknowledged is durable, whatever the server's default; and a process that stops in the middle
//! of a transaction holds others up for seconds, not for ever.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use ordo_store::Fault;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connection::tls::MakeTls;
use crate::connection::url::ConnectTarget;
use crate::fault::Trouble;

/// How long a caller waits for a free connection.
const POOL_PATIENCE: Duration = Duration::from_secs(10);
/// Reads are tried again after these pauses: a pooled connection may be one of a server that is gone.
const READ_PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];

const ONE_MOMENT: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0";

pub(crate) type SqlParams<'a> = &'a [&'a (dyn ToSql + Sync)];

#[derive(Debug, Clone)]
pub(crate) struct ConnectionPools {
    reading: Pool,
    writing: Pool,
}

impl ConnectionPools {
    pub(crate) fn new(target: &ConnectTarget, readers: usize) -> Result<ConnectionPools, Fault> {
        let tls = MakeTls::of(target)?;
        Ok(ConnectionPools { reading: pool(target, &tls, readers, "")?, writing: pool(target, &tls, 2, "")? })
    }

    /// Reads that all see one moment: one connection, in one transaction that never writes.
    pub(crate) fn at_one_moment(&self, target: &ConnectTarget) -> Result<ConnectionPools, Fault> {
        let reading = pool(target, &MakeTls::of(target)?, 1, ONE_MOMENT)?;
        Ok(ConnectionPools { reading, writing: self.writing.clone() })
    }

    pub(crate) async fn writer(&self) -> Result<Object, Trouble> {
        Ok(self.writing.get().await?)
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
        let client = self.reading.get().await?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, params).await?)
    }
}

fn pool(target: &ConnectTarget, tls: &MakeTls, size: usize, begin: &'static str) -> Result<Pool, Fault> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(target.config.clone(), tls.clone(), recycling);
    let session = session(&target.schema);
    let set_up = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let session = session.clone();
        Box::pin(async move {
            client.batch_execute(&session).await.map_err(HookError::Backend)?;
            client.batch_execute(begin).await.map_err(HookError::Backend)
        })
    });
    let timeouts = Timeouts { wait: Some(POOL_PATIENCE), create: Some(POOL_PATIENCE), recycle: Some(POOL_PATIENCE) };
    Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .timeouts(timeouts)
        .post_create(set_up)
        .build()
        .map_err(|error| Fault::unavailable("preparing connections", error))
}

/// Every statement goes by an index; a plan that was made while the tables were small must not outlive that. What has
/// no index to go by is a handful of rows, but counts as very dear then: dear enough to be compiled, for longer than
/// all else takes together.
pub(crate) fn session(schema: &str) -> String {
    format!(
        "SET search_path TO {schema}; \
         SET idle_in_transaction_session_timeout = '10s'; \
         SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
         SET client_min_messages = warning; \
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
}
