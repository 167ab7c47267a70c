//! Care of the store, the same online and offline: check, backup, stats.
//!
//! Invariant: looking after a store never changes it; a copy made for a check is removed again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use ordo_api::upkeep::{StoreCheck, StoreCopy, StoreJournal, StoreStats};
use ordo_engine::check;
use ordo_server::{Maintenance, MaintenanceError};
use ordo_store::{Fault, JournalStats, Stats};
use ordo_store_redb::{RedbOptions, RedbStore};
use tokio::sync::Mutex;

use crate::folder::StateFolder;
use crate::store_location::{DatabaseDriver, OpenStore};

/// What a check of the file and of its meaning found.
#[derive(Debug)]
pub(crate) struct Checked {
    report: check::CheckReport,
    findings: Vec<String>,
    findings_omitted: u64,
}

impl Checked {
    pub(crate) fn is_clean(&self) -> bool {
        self.report.is_clean() && self.findings.is_empty()
    }

    pub(crate) fn view(&self) -> StoreCheck {
        StoreCheck {
            clean: self.is_clean(),
            entities: self.report.entities,
            events: self.report.events,
            rows: self.report.rows,
            differences: self.report.differences + self.findings.len() as u64 + self.findings_omitted,
            shown: self.findings.iter().chain(&self.report.shown).cloned().collect(),
        }
    }
}

/// Reads the whole file, then compares everything derived with the events. `progress`: (done, of how many).
pub(crate) async fn check(store: &RedbStore, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<Checked, Fault> {
    let verified = store.verify()?;
    let total = verified.entities;
    let report = check::check(store, &mut |done| progress(done, total)).await?;
    Ok(Checked { report, findings: verified.findings, findings_omitted: verified.omitted })
}

/// As of one moment: a database goes on while it is looked at.
pub(crate) async fn check_database(
    store: &dyn DatabaseDriver,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Checked, Fault> {
    let moment = store.at_this_moment()?;
    let total = moment.stats().await?.entities;
    let report = check::check(moment.as_ref(), &mut |done| progress(done, total)).await?;
    Ok(Checked { report, findings: Vec::new(), findings_omitted: 0 })
}

/// How a database is backed up.
pub(crate) const DUMP: &str = "a database is backed up with its own tools: pg_dump --schema=SCHEMA DATABASE";

pub(crate) fn stats_view(stats: &Stats) -> StoreStats {
    StoreStats {
        driver: stats.driver.to_owned(),
        format: stats.format,
        bytes_on_disk: stats.bytes_on_disk,
        entities: stats.entities,
        events: stats.events,
        alarms: stats.alarms,
        chunks: stats.chunks,
        rows: stats
            .rows
            .iter()
            .filter(|(view, count)| *count > 0 || !view.is_for_tables_only())
            .map(|(view, count)| (view.name().to_owned(), *count))
            .collect(),
        journal: stats.journal.map(journal_view),
    }
}

fn journal_view(journal: JournalStats) -> StoreJournal {
    let JournalStats {
        pending_bytes,
        allocated_bytes,
        checkpoints,
        checkpoint_micros_max,
        recovered_records,
        recovered_bytes,
        recovery_micros,
    } = journal;
    StoreJournal {
        pending_bytes,
        allocated_bytes,
        checkpoints,
        checkpoint_micros_max,
        recovered_records,
        recovered_bytes,
        recovery_micros,
    }
}

/// Maintains the store of a running daemon.
#[derive(Debug)]
pub(crate) struct StoreMaintenance {
    store: OpenStore,
    folder: StateFolder,
    /// One check at a time: there is one name for its copy.
    checking: Mutex<()>,
}

impl StoreMaintenance {
    pub(crate) fn new(store: OpenStore, folder: StateFolder) -> StoreMaintenance {
        StoreMaintenance { store, folder, checking: Mutex::new(()) }
    }

    async fn copy_to(&self, store: Arc<RedbStore>, to: PathBuf) -> Result<(), MaintenanceError> {
        let copied = tokio::task::spawn_blocking(move || store.backup(&to, &mut |_, _| {})).await;
        copied.map_err(|error| broken_off(&error))?.map_err(|fault| match fault {
            Fault::Held { what } => MaintenanceError::Refused(what),
            fault => MaintenanceError::Store(fault),
        })
    }
}

#[async_trait]
impl Maintenance for StoreMaintenance {
    async fn stats(&self) -> Result<StoreStats, MaintenanceError> {
        Ok(stats_view(&self.store.store().stats().await?))
    }

    async fn backup(&self, to: PathBuf) -> Result<StoreCopy, MaintenanceError> {
        if !to.parent().is_some_and(Path::is_dir) {
            return Err(MaintenanceError::Refused(format!("the folder of {} does not exist", to.display())));
        }
        let store = match &self.store {
            OpenStore::File(store) => store.clone(),
            OpenStore::Database(_) => return Err(MaintenanceError::Refused(DUMP.to_owned())),
        };
        self.copy_to(store, to.clone()).await?;
        let bytes = std::fs::metadata(&to).map_or(0, |file| file.len());
        Ok(StoreCopy { to, bytes })
    }

    /// Of a file on a copy: a check needs it for itself, and the daemon goes on meanwhile.
    async fn check(&self) -> Result<StoreCheck, MaintenanceError> {
        let _alone = self.checking.lock().await;
        let store = match &self.store {
            OpenStore::File(store) => store.clone(),
            OpenStore::Database(store) => return Ok(check_database(store.as_ref(), &mut |_, _| {}).await?.view()),
        };
        let copy = TemporaryCopy::at(self.folder.checking());
        self.copy_to(store, copy.0.clone()).await?;
        let path = copy.0.clone();
        let runtime = tokio::runtime::Handle::current();
        let checked = tokio::task::spawn_blocking(move || {
            let store = RedbStore::open_file_inline(&path, RedbOptions::default())?;
            runtime.block_on(check(&store, &mut |_, _| {}))
        });
        Ok(checked.await.map_err(|error| broken_off(&error))??.view())
    }
}

fn broken_off(error: &tokio::task::JoinError) -> MaintenanceError {
    MaintenanceError::Failed(format!("it broke off: {error}"))
}

/// A copy that is gone when dropped, with the files beside it; also what a dead daemon left under its name.
struct TemporaryCopy(PathBuf);

impl TemporaryCopy {
    fn at(path: PathBuf) -> TemporaryCopy {
        let copy = TemporaryCopy(path);
        copy.remove();
        copy
    }

    fn remove(&self) {
        // Not there is as good as removed; what cannot be removed is said by whoever writes it next.
        let _ = std::fs::remove_file(&self.0);
        ordo_store_redb::remove_beside(&self.0);
    }
}

impl Drop for TemporaryCopy {
    fn drop(&mut self) {
        self.remove();
    }
}
