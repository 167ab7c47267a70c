//! All promises of the contract, kept by the store as a daemon uses it, and again without a writer thread.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use ordo_store::Store;
use ordo_store::conformance::StoreUnderTest;
use ordo_store_redb::{RedbOptions, RedbStore};
use tempfile::TempDir;

struct Folder {
    folder: TempDir,
    inline: bool,
}

#[async_trait]
impl StoreUnderTest for Folder {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.folder.path().join("ordo.redb");
        let open = if self.inline { RedbStore::open_file_inline } else { RedbStore::open };
        Arc::new(open(path, RedbOptions::default()).unwrap())
    }
}

fn with_writer() -> Folder {
    Folder { folder: TempDir::new().unwrap(), inline: false }
}

fn without_writer() -> Folder {
    Folder { folder: TempDir::new().unwrap(), inline: true }
}

mod writer {
    ordo_store::conformance!(crate::with_writer);
}

mod inline {
    ordo_store::conformance!(crate::without_writer);
}
