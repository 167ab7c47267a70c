//! Where connections come from: a URL, or a pool that belongs to the program around us.
//!
//! Invariant: a connection of somebody else's pool never goes back there: it has our settings, so it is closed, and the pool
//! makes itself a new one. As long as we have it, it counts towards what that pool may have.

use std::ops::Deref;

use deadpool::managed::{Manager as PoolManager, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::{ClientWrapper, Manager, ManagerConfig, Pool as HostPool, PoolError, RecyclingMethod};
use ordo_store::Fault;

use super::tls::MakeTls;
use super::url::ConnectTarget;

#[derive(Clone)]
pub(crate) enum ConnectionSource {
    Url(Box<ConnectTarget>),
    Host { pool: HostPool, schema: String },
}

impl ConnectionSource {
    pub(crate) fn schema(&self) -> &str {
        match self {
            ConnectionSource::Url(target) => &target.schema,
            ConnectionSource::Host { schema, .. } => schema,
        }
    }

    /// A pooler lends out sessions for a transaction each.
    pub(crate) fn is_pooled(&self) -> bool {
        match self {
            ConnectionSource::Url(target) => target.is_pooled,
            ConnectionSource::Host { .. } => false,
        }
    }

    /// `set_up` is executed on every new connection.
    pub(crate) fn manager(&self, set_up: &str) -> Result<ConnectionManager, Fault> {
        let from = match self {
            ConnectionSource::Url(target) => {
                let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
                let manager = Manager::from_config(target.config.clone(), MakeTls::of(target)?, recycling);
                Supply::Url(Box::new(manager))
            }
            ConnectionSource::Host { pool, .. } => Supply::Host(pool.clone()),
        };
        Ok(ConnectionManager { from, set_up: set_up.to_owned() })
    }
}

impl std::fmt::Debug for ConnectionSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectionSource::Url(target) => target.fmt(f),
            ConnectionSource::Host { schema, .. } => write!(f, "a pool of the host, schema {schema}"),
        }
    }
}

enum Supply {
    Url(Box<Manager>),
    Host(HostPool),
}

/// Makes connections and sets them up.
pub(crate) struct ConnectionManager {
    from: Supply,
    set_up: String,
}

impl std::fmt::Debug for ConnectionManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionManager").finish_non_exhaustive()
    }
}

/// A connection with our settings.
#[derive(Debug)]
pub(crate) enum Connection {
    Own(ClientWrapper),
    Hosts(BorrowedConnection),
}

impl Deref for Connection {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        match self {
            Connection::Own(client) => client,
            Connection::Hosts(borrowed) => borrowed.client(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct BorrowedConnection(Option<deadpool_postgres::Object>);

impl BorrowedConnection {
    fn client(&self) -> &ClientWrapper {
        self.0.as_deref().expect("a connection is there until it is dropped")
    }
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        // Taken out of its pool, and closed.
        drop(self.0.take().map(deadpool_postgres::Object::take));
    }
}

impl PoolManager for ConnectionManager {
    type Type = Connection;
    type Error = PoolError;

    async fn create(&self) -> Result<Connection, PoolError> {
        let connection = match &self.from {
            Supply::Url(manager) => Connection::Own(manager.create().await.map_err(PoolError::Backend)?),
            Supply::Host(pool) => Connection::Hosts(BorrowedConnection(Some(pool.get().await?))),
        };
        if !self.set_up.is_empty() {
            connection.batch_execute(&self.set_up).await.map_err(PoolError::Backend)?;
        }
        Ok(connection)
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<PoolError> {
        match connection.is_closed() {
            true => Err(RecycleError::message("the connection is closed")),
            false => Ok(()),
        }
    }
}
