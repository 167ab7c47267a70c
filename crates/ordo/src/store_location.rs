//! The store that was asked for: a file, or a database by its URL.
//!
//! Invariant: only this file chooses between drivers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ordo_store::{Fault, Store, Transfer};
use ordo_store_redb::RedbStore;

use crate::error::{Error, Result};
use crate::folder::shown;

/// How long a database that is away is left alone.
#[cfg(feature = "postgres")]
const AWAY_PAUSE: std::time::Duration = std::time::Duration::from_secs(3);

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    File(PathBuf),
    Database(String),
}

/// A store that is open.
#[derive(Debug, Clone)]
pub(crate) enum OpenStore {
    File(Arc<RedbStore>),
    Database(Arc<dyn DatabaseDriver>),
}

/// A store in a database, whichever driver it has.
pub(crate) trait DatabaseDriver: Transfer + std::fmt::Debug {
    /// As of one moment: it goes on while it is read.
    fn at_this_moment(&self) -> std::result::Result<Arc<dyn Transfer>, Fault>;
}

#[cfg(feature = "postgres")]
impl DatabaseDriver for ordo_store_postgres::PostgresStore {
    fn at_this_moment(&self) -> std::result::Result<Arc<dyn Transfer>, Fault> {
        Ok(Arc::new(ordo_store_postgres::PostgresStore::at_this_moment(self)?))
    }
}

/// Whether it names a database, also one that this build has no driver for.
pub(crate) fn is_database(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

#[cfg(feature = "postgres")]
async fn open_database(url: &str) -> Result<Arc<dyn DatabaseDriver>> {
    use ordo_store_postgres::{PostgresOptions, PostgresStore};
    let store = PostgresStore::open(url, PostgresOptions::default()).await;
    Ok(Arc::new(store.map_err(cannot_open)?))
}

/// A database that is away is waited for.
#[cfg(feature = "postgres")]
async fn open_database_once_there(url: &str) -> Result<Arc<dyn DatabaseDriver>> {
    use ordo_store_postgres::{PostgresOptions, PostgresStore, is_away};
    loop {
        match PostgresStore::open(url, PostgresOptions::default()).await {
            Err(fault) if is_away(&fault) => {
                let (store, reason) = (without_password(url), with_causes(&fault));
                tracing::warn!(%store, %reason, "the database cannot be reached: waiting for it");
                tokio::time::sleep(AWAY_PAUSE).await;
            }
            opened => return Ok(Arc::new(opened.map_err(cannot_open)?)),
        }
    }
}

#[cfg(not(feature = "postgres"))]
async fn open_database_once_there(url: &str) -> Result<Arc<dyn DatabaseDriver>> {
    open_database(url).await
}

#[cfg(not(feature = "postgres"))]
async fn open_database(url: &str) -> Result<Arc<dyn DatabaseDriver>> {
    let refused = Error::misused("this Ordo was built without PostgreSQL").detail(without_password(url));
    Err(refused.hint("name a file, or build Ordo with the feature postgres"))
}

/// A standby of the database, as soon as it is there. A node works without it too, so it is waited for however long it takes.
#[cfg(feature = "postgres")]
pub(crate) async fn open_standby(url: &str) -> Result<Arc<dyn Store>> {
    use ordo_store_postgres::{PostgresOptions, PostgresStore};
    loop {
        match PostgresStore::open_standby(url, PostgresOptions::default()).await {
            Err(fault @ Fault::Unavailable { .. }) => {
                let (standby, reason) = (without_password(url), with_causes(&fault));
                tracing::warn!(%standby, %reason, "the standby cannot be read: pages read the database itself");
                tokio::time::sleep(AWAY_PAUSE).await;
            }
            opened => return Ok(Arc::new(opened.map_err(cannot_open)?)),
        }
    }
}

#[cfg(not(feature = "postgres"))]
pub(crate) async fn open_standby(url: &str) -> Result<Arc<dyn Store>> {
    open_database(url).await.map(|never| -> Arc<dyn Store> { never })
}

impl StoreLocation {
    /// As a flag or a setting names it.
    pub(crate) fn of(path: &Path) -> StoreLocation {
        match path.to_str().filter(|text| is_database(text)) {
            Some(url) => StoreLocation::Database(url.to_owned()),
            None => StoreLocation::File(path.to_owned()),
        }
    }

    pub(crate) async fn open(&self, cache_bytes: usize) -> Result<OpenStore> {
        match self {
            StoreLocation::File(path) => {
                let store = RedbStore::open(path, file_options(cache_bytes))?;
                Ok(OpenStore::File(Arc::new(store)))
            }
            StoreLocation::Database(url) => Ok(OpenStore::Database(open_database(url).await?)),
        }
    }

    /// The same for whoever starts together with its database: one that is away is waited for.
    pub(crate) async fn open_once_there(&self, cache_bytes: usize) -> Result<OpenStore> {
        match self {
            StoreLocation::File(_) => self.open(cache_bytes).await,
            StoreLocation::Database(url) => Ok(OpenStore::Database(open_database_once_there(url).await?)),
        }
    }

    /// For a person; without a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            StoreLocation::File(path) => shown(path),
            StoreLocation::Database(url) => without_password(url),
        }
    }
}

impl OpenStore {
    pub(crate) fn moving(&self) -> Arc<dyn Transfer> {
        match self {
            OpenStore::File(store) => store.clone(),
            OpenStore::Database(store) => store.clone(),
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            OpenStore::File(store) => store.clone(),
            OpenStore::Database(store) => store.clone(),
        }
    }
}

/// How a store in a file is opened.
pub(crate) fn file_options(cache_bytes: usize) -> ordo_store_redb::RedbOptions {
    let micros = ordo_engine::clock::steady_micros;
    ordo_store_redb::RedbOptions { cache_bytes, micros, ..Default::default() }
}

#[cfg(feature = "postgres")]
fn with_causes(fault: &Fault) -> String {
    let causes = std::iter::successors(std::error::Error::source(fault), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(feature = "postgres")]
fn cannot_open(fault: Fault) -> Error {
    match fault {
        Fault::Misuse { what } => Error::misused(what),
        fault @ Fault::Unavailable { .. } => {
            Error::from(fault).hint("see whether the database runs and the URL has its user, password and name")
        }
        fault => Error::from(fault),
    }
}

/// `postgres://user@host/database`, whatever else the URL says.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return without_secrets(url) };
    let user = rest[..at].split(':').next().unwrap_or_default();
    without_secrets(&format!("{scheme}://{user}{}", &rest[at..]))
}

/// Any other address: without user, password and query, which may be keys.
pub(crate) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A password may stand among the parameters too.
fn without_secrets(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("password=")).collect();
    if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_database_and_all_else_a_file() {
        let of = |text: &str| StoreLocation::of(Path::new(text));
        assert_eq!(of("postgres://h/d"), StoreLocation::Database("postgres://h/d".into()));
        assert_eq!(of("postgres"), StoreLocation::File("postgres".into()));
        assert_eq!(of(".ordo/orchestrator.db"), StoreLocation::File(".ordo/orchestrator.db".into()));
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(without_password("postgres://me:s3cret@h:1/d?schema=x"), "postgres://me@h:1/d?schema=x");
        assert_eq!(without_password("postgres://me:p@ss:w@h/d"), "postgres://me@h/d");
        assert_eq!(without_password("postgres://h/d?password=s3cret&schema=x"), "postgres://h/d?schema=x");
        assert_eq!(without_password("postgres://h/d?user=a@b"), "postgres://h/d?user=a@b");
        assert_eq!(without_credentials("https://me:s3@cret@c:4318/otlp?api-key=s3cret#x"), "https://c:4318/otlp");
        assert_eq!(without_credentials("https://c:4318"), "https://c:4318");
    }
}
