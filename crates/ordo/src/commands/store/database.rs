//! A store in a database, named by its URL: whether daemons use it makes no difference to reading it.

use ordo_engine::check;
use serde_json::Value;

use crate::commands::talk::wire;
use crate::error::Result;
use crate::maintenance;
use crate::output::progress::Progress;
use crate::store_location::{OpenStore, StoreLocation};

#[derive(Debug)]
pub(super) struct DatabaseStore {
    url: String,
}

impl DatabaseStore {
    pub(super) fn at(url: String) -> DatabaseStore {
        DatabaseStore { url }
    }

    async fn open(&self) -> Result<OpenStore> {
        StoreLocation::Database(self.url.clone()).open(0).await
    }

    pub(super) async fn check(&self) -> Result<Value> {
        let progress = Progress::counted("checking");
        let mut report = |done, total| progress.at(done, total);
        let checked = match self.open().await? {
            OpenStore::Database(store) => maintenance::check_database(store.as_ref(), &mut report).await?,
            OpenStore::File(store) => maintenance::check(&store, &mut report).await?,
        };
        Ok(wire(&checked.view()))
    }

    pub(super) async fn stats(&self) -> Result<Value> {
        Ok(wire(&maintenance::stats_view(&self.open().await?.store().stats().await?)))
    }

    /// Daemons on the database cannot commit until it is over; what they have to do waits.
    pub(super) async fn reindex(&self) -> Result<u64> {
        let store = self.open().await?.store();
        let total = store.stats().await?.entities;
        let progress = Progress::counted("rebuilding");
        Ok(check::reindex(store.as_ref(), &mut |done| progress.at(done, total.max(done))).await?)
    }
}
