//! A connection as statements see it: with a session of its own, or through a pooler that lends out one for each transaction.
//!
//! Invariant: behind a pooler nothing outlives a transaction. Statements go without a name, with the types of their parameters
//! beside them; settings are made anew with each BEGIN.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Statement};

use crate::connection::connect::{ConnectionPool, PooledConnection, SqlParams};
use crate::fault::Trouble;

type ParamTypes = Arc<[Type]>;

/// What must be known behind a pooler: how a transaction begins, and the types of the parameters of each statement.
#[derive(Clone)]
pub(crate) struct Pooler {
    begin: Arc<str>,
    types: Arc<Mutex<HashMap<String, ParamTypes>>>,
    /// Where types are asked for: never the connection that is in the middle of something.
    reads: ConnectionPool,
}

impl std::fmt::Debug for Pooler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pooler").finish_non_exhaustive()
    }
}

impl Pooler {
    pub(crate) fn new(settings: &str, reads: ConnectionPool) -> Pooler {
        Pooler { begin: format!("BEGIN; {settings}").into(), types: Arc::default(), reads }
    }

    fn known(&self, sql: &str) -> Option<ParamTypes> {
        self.types.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned()
    }

    /// Asks once for each statement, in a transaction of its own: it is named, described and closed on one session.
    async fn types(&self, sql: &str) -> Result<ParamTypes, Trouble> {
        if let Some(types) = self.known(sql) {
            return Ok(types);
        }
        let client = self.reads.get().await?;
        client.batch_execute(&self.begin).await?;
        let described = client.prepare(sql).await.map(|statement| ParamTypes::from(statement.params()));
        client.batch_execute("ROLLBACK").await?;
        let types = described?;
        self.types.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.to_owned(), types.clone());
        Ok(types)
    }
}

/// A connection that is in use by one task.
#[derive(Debug)]
pub(crate) struct DatabaseSession {
    connection: PooledConnection,
    pooler: Option<Pooler>,
}

/// A statement that can be sent without waiting for anything.
pub(crate) enum Prepared {
    Named(Statement),
    Unnamed(String, ParamTypes),
}

impl DatabaseSession {
    pub(crate) fn new(connection: PooledConnection, pooler: Option<Pooler>) -> DatabaseSession {
        DatabaseSession { connection, pooler }
    }

    pub(crate) async fn begin(&self) -> Result<(), tokio_postgres::Error> {
        self.connection.batch_execute(self.pooler.as_ref().map_or("BEGIN", |pooler| &pooler.begin)).await
    }

    /// Commands without parameters.
    pub(crate) async fn command(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.connection.batch_execute(sql).await
    }

    pub(crate) async fn prepare(&self, sql: &str) -> Result<Prepared, Trouble> {
        match &self.pooler {
            None => Ok(Prepared::Named(self.connection.prepare_cached(sql).await?)),
            Some(pooler) => Ok(Prepared::Unnamed(sql.to_owned(), pooler.types(sql).await?)),
        }
    }

    /// Sent when it is first polled.
    pub(crate) async fn run(
        &self,
        prepared: &Prepared,
        params: SqlParams<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        match prepared {
            Prepared::Named(statement) => self.connection.query(statement, params).await,
            Prepared::Unnamed(sql, types) => {
                let typed: Vec<(&(dyn ToSql + Sync), Type)> =
                    params.iter().copied().zip(types.iter().cloned()).collect();
                self.connection.query_typed(sql, &typed).await
            }
        }
    }

    pub(crate) async fn query(&self, sql: &str, params: SqlParams<'_>) -> Result<Vec<Row>, Trouble> {
        let prepared = self.prepare(sql).await?;
        Ok(self.run(&prepared, params).await?)
    }

    /// One statement that is a transaction of its own. Behind a pooler it is three, sent together.
    pub(crate) async fn query_alone(&self, sql: &str, params: SqlParams<'_>) -> Result<Vec<Row>, Trouble> {
        let prepared = self.prepare(sql).await?;
        Ok(self.run_alone(&prepared, params).await?)
    }

    /// The same, of one that was prepared.
    pub(crate) async fn run_alone(
        &self,
        prepared: &Prepared,
        params: SqlParams<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        if self.pooler.is_none() {
            return self.run(prepared, params).await;
        }
        let (begun, rows, ended) =
            tokio::join!(biased; self.begin(), self.run(prepared, params), self.command("COMMIT"));
        begun?;
        let rows = rows?;
        ended?;
        Ok(rows)
    }

    /// For what speaks to the server in its own way. Behind a pooler only inside a transaction, and without names.
    pub(crate) fn client(&self) -> &tokio_postgres::Client {
        let client: &deadpool_postgres::ClientWrapper = &self.connection;
        client
    }

    /// Closed: whatever it was in the middle of is rolled back, unless it was committed.
    pub(crate) fn close(self) {
        drop(PooledConnection::take(self.connection));
    }
}
