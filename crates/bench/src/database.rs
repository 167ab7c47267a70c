//! What is measured on a database; a build without the driver knows no database.

use std::sync::Arc;

use ordo_engine::clock::Stopwatch;
use ordo_store::{Batch, Store};

#[cfg(feature = "postgres")]
mod driver {
    pub(super) use ordo_store_postgres::raw::{PostgresRawLoop, drop_schema};
    pub(super) use ordo_store_postgres::{PostgresOptions, PostgresStore, is_url};
}

#[cfg(feature = "postgres")]
pub(super) fn is_url(text: &str) -> bool {
    driver::is_url(text)
}

#[cfg(feature = "postgres")]
pub(super) async fn open(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Arc::new(driver::PostgresStore::open(url, driver::PostgresOptions::default()).await?))
}

#[cfg(feature = "postgres")]
pub(super) async fn remove(url: &str) -> anyhow::Result<()> {
    Ok(driver::drop_schema(url).await?)
}

/// Writes the batches in a bare loop; since when it has been written.
#[cfg(feature = "postgres")]
pub(super) async fn write(url: &str, batches: &[Batch]) -> anyhow::Result<Stopwatch> {
    let mut raw = driver::PostgresRawLoop::open(url).await?;
    let watch = Stopwatch::start();
    for batch in batches {
        raw.write(batch).await?;
    }
    Ok(watch)
}

#[cfg(not(feature = "postgres"))]
pub(super) fn is_url(_: &str) -> bool {
    false
}

#[cfg(not(feature = "postgres"))]
pub(super) async fn open(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    anyhow::bail!("{url}: this Ordo was built without PostgreSQL")
}

#[cfg(not(feature = "postgres"))]
pub(super) async fn remove(url: &str) -> anyhow::Result<()> {
    open(url).await.map(drop)
}

#[cfg(not(feature = "postgres"))]
pub(super) async fn write(url: &str, _: &[Batch]) -> anyhow::Result<Stopwatch> {
    open(url).await.map(|_| Stopwatch::start())
}
