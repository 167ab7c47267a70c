//! All promises of the contract, kept by a real PostgreSQL server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use ordo_store::Store;
use ordo_store::conformance::StoreUnderTest;
use ordo_store_postgres::testing::TestServer;
use ordo_store_postgres::{PostgresOptions, PostgresStore};

struct Schema {
    _server: TestServer,
    url: String,
}

#[async_trait]
impl StoreUnderTest for Schema {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(&self.url, PostgresOptions::default()).await.unwrap())
    }
}

fn schema() -> Schema {
    let server = TestServer::join();
    Schema { url: server.fresh_url(), _server: server }
}

ordo_store::conformance!(crate::schema);
