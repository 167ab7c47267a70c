//! The disk's plug: between the store and the simulated disk, where it can be pulled at any operation.
//!
//! Invariant: once pulled, nothing that the dying process still tries reaches the disk. What was written before is
//! there after a kill; after a loss of power only what was synced is sure to be.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ordo_store::Fault;
use ordo_store_redb::simdisk::{self, FailurePlan, Op, SimDisk, SimFile};
use ordo_store_redb::{Disk, RedbOptions, RedbStore, StoreFile};
use redb::StorageBackend;

/// So small that a few commits fill an overlay, and several of them wait before there is a checkpoint.
const WAITING_ROWS_BYTES: usize = 24 * 1024;
const WAITING_JOURNAL_BYTES: usize = 192 * 1024;

/// What happens when a fuse has burned down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Burst {
    /// The process is gone from here on.
    Cut,
    /// The operation fails, for this many operations of its kind.
    Fails { times: u32 },
    /// The sync happens and is reported as failed.
    DoneButFails,
    /// The sync fails, and some of what it should have made durable never will be, though it can still be read.
    Loses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fused {
    Writes,
    Syncs,
}

#[derive(Debug, Clone, Copy)]
struct Fuse {
    on: Fused,
    left: u32,
    burst: Burst,
}

#[derive(Debug)]
struct FuseState {
    /// Of the first of the disks that followed each other in this place.
    seed: u64,
    disk: SimDisk,
    fuse: Option<Fuse>,
    cut: bool,
}

/// Clones are the same plug.
#[derive(Debug, Clone)]
pub(crate) struct Plug(Arc<Mutex<FuseState>>);

impl Plug {
    pub(crate) fn new(seed: u64) -> Plug {
        Plug(Arc::new(Mutex::new(FuseState { seed, disk: SimDisk::new(seed), fuse: None, cut: false })))
    }

    /// The store on this disk. In half of all places redb takes what is committed at once; in the others later, as beside a daemon:
    /// then several overlays wait for it, also when the power goes, and a recovery leaves them where they are.
    pub(crate) fn open_store(&self, options: RedbOptions) -> Result<RedbStore, Fault> {
        let waiting =
            RedbOptions { journal_bytes: WAITING_JOURNAL_BYTES, overlay_bytes: WAITING_ROWS_BYTES, ..options };
        let seed = self.lock().seed;
        match simdisk::DiskRng::new(!seed).below(4) {
            0 | 1 => RedbStore::open_inline_on(self.clone(), options),
            2 => RedbStore::open_following_on(self.clone(), waiting, 0),
            _ => RedbStore::open_following_on(self.clone(), waiting, 12),
        }
    }

    /// After `left` more such operations the next one bursts.
    pub(crate) fn lay_fuse(&self, on: Fused, left: u32, burst: Burst) {
        self.lock().fuse = Some(Fuse { on, left, burst });
    }

    pub(crate) fn pull(&self) {
        self.lock().cut = true;
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.lock().cut
    }

    pub(crate) fn clear_fuse(&self) {
        self.lock().fuse = None;
    }

    /// The disk as the next process finds it: all that was written after a kill, what survived after a loss of power.
    pub(crate) fn replug(&self, power_lost: bool, seed: u64) -> Plug {
        let mut state = self.lock();
        state.cut = true;
        let mut rng = simdisk::DiskRng::new(seed);
        let disk = if power_lost { state.disk.crash(&mut rng) } else { state.disk.clone() };
        Plug(Arc::new(Mutex::new(FuseState { seed: state.seed, disk, fuse: None, cut: false })))
    }

    fn lock(&self) -> MutexGuard<'_, FuseState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FuseState {
    fn alive(&self) -> io::Result<()> {
        if self.cut { Err(io::Error::other("the process is gone")) } else { Ok(()) }
    }

    /// Whether the operation goes wrong, and how.
    fn burn(&mut self, on: Fused) -> Option<Burst> {
        let fuse = self.fuse.as_mut().filter(|fuse| fuse.on == on)?;
        if fuse.left > 0 {
            fuse.left -= 1;
            return None;
        }
        let burst = fuse.burst;
        match &mut fuse.burst {
            Burst::Fails { times } if *times > 1 => *times -= 1,
            Burst::Fails { .. } | Burst::Cut | Burst::DoneButFails | Burst::Loses => self.fuse = None,
        }
        Some(burst)
    }
}

impl Disk for Plug {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        let state = self.lock();
        state.alive()?;
        Ok(Box::new(PluggedFile { plug: self.clone(), file: state.disk.file(file) }))
    }
}

/// A file of the disk, as long as the plug is in.
#[derive(Debug)]
struct PluggedFile {
    plug: Plug,
    file: SimFile,
}

impl PluggedFile {
    fn lock(&self) -> MutexGuard<'_, FuseState> {
        self.plug.lock()
    }
}

fn failed() -> io::Error {
    io::Error::other("the simulated disk failed")
}

impl StorageBackend for PluggedFile {
    fn len(&self) -> io::Result<u64> {
        let state = self.lock();
        state.alive()?;
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        state.alive()?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let state = self.lock();
        state.alive()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.alive()?;
        match state.burn(Fused::Syncs) {
            None => self.file.sync_data(),
            Some(Burst::Cut) => {
                state.cut = true;
                Err(failed())
            }
            Some(Burst::Fails { .. }) => Err(failed()),
            Some(Burst::DoneButFails) => self.file.sync_data().and(Err(failed())),
            Some(Burst::Loses) => {
                state.disk.fail(FailurePlan { op: Op::Sync, after: 0, kind: io::ErrorKind::Other });
                let lost = self.file.sync_data();
                state.disk.heal();
                lost
            }
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        state.alive()?;
        match state.burn(Fused::Writes) {
            None => self.file.write(offset, data),
            Some(Burst::Cut) => {
                state.cut = true;
                Err(failed())
            }
            Some(Burst::Fails { .. } | Burst::DoneButFails | Burst::Loses) => Err(failed()),
        }
    }
}
