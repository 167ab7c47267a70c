//! A simulated disk: it forgets what was not synced when it crashes, fails when the test says, and may lie about syncs.
//!
//! It holds all files of a store, so that the power goes for the tables and the journal at once. Everything follows
//! from a seed. Invariant: clones are the same disk; [`SimDisk::crash`] and the images are other disks, so that one run
//! can be cut at every write and sync and go on.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::files::source::{Disk, StoreFile};

mod platter;
mod rng;

use platter::Platter;
pub use rng::DiskRng;

/// What a disk is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
    SetLen,
    Sync,
}

/// From the `after`-th such operation on (0: the next), it fails with `kind`, until the disk is healed.
#[derive(Debug, Clone, Copy)]
pub struct FailurePlan {
    pub op: Op,
    pub after: u64,
    pub kind: io::ErrorKind,
}

#[derive(Debug, Clone)]
pub struct SimDisk {
    inside: Arc<Mutex<DiskState>>,
}

/// One file of a disk.
#[derive(Debug, Clone)]
pub struct SimFile {
    disk: SimDisk,
    file: usize,
}

const FILES: usize = StoreFile::ALL.len();

#[derive(Debug)]
struct DiskState {
    platters: [Platter; FILES],
    rng: DiskRng,
    failing: Option<FailurePlan>,
    lies_per_mille: u64,
    images_per_sync: usize,
    images_per_mille_writes: u64,
    images: Vec<[Platter; FILES]>,
    syncs: u64,
}

impl SimDisk {
    /// A new, empty disk.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::holding(Default::default(), seed)
    }

    fn holding(platters: [Platter; FILES], seed: u64) -> SimDisk {
        let inside = DiskState {
            platters,
            rng: DiskRng::new(seed),
            failing: None,
            lies_per_mille: 0,
            images_per_sync: 0,
            images_per_mille_writes: 0,
            images: Vec::new(),
            syncs: 0,
        };
        SimDisk { inside: Arc::new(Mutex::new(inside)) }
    }

    pub fn file(&self, file: StoreFile) -> SimFile {
        let file = match file {
            StoreFile::Data => 0,
            StoreFile::Segment(number) => 1 + number,
        };
        SimFile { disk: self.clone(), file }
    }

    /// The disk as it could be after a crash now. This one goes on as if nothing had happened.
    pub fn crash(&self, rng: &mut DiskRng) -> SimDisk {
        let left = after_crash(&self.lock().platters, rng);
        SimDisk::holding(left, rng.next())
    }

    /// From now on every sync first takes this many images of what a crash at that moment could leave.
    pub fn take_images_at_sync(&self, per_sync: usize) {
        self.lock().images_per_sync = per_sync;
    }

    /// From now on so many of a thousand writes are followed by such an image.
    pub fn take_images_at_write(&self, per_mille: u64) {
        self.lock().images_per_mille_writes = per_mille;
    }

    /// The images taken since the last call.
    pub fn images(&self) -> Vec<SimDisk> {
        let mut inside = self.lock();
        let images = std::mem::take(&mut inside.images);
        images.into_iter().map(|platters| SimDisk::holding(platters, inside.rng.next())).collect()
    }

    /// Changes a byte of a file for good, as a failing disk may.
    pub fn damage(&self, file: StoreFile, offset: u64) {
        let file = self.file(file).file;
        self.lock().platters[file].damage(offset);
    }

    /// How many syncs were asked for.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Some syncs do nothing and say that they did.
    pub fn lie_about_syncs(&self, per_mille: u64) {
        self.lock().lies_per_mille = per_mille;
    }

    pub fn fail(&self, failing: FailurePlan) {
        self.lock().failing = Some(failing);
    }

    pub fn heal(&self) {
        self.lock().failing = None;
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for SimDisk {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.file(file)))
    }
}

/// Each file loses what it loses by itself.
fn after_crash(platters: &[Platter; FILES], rng: &mut DiskRng) -> [Platter; FILES] {
    std::array::from_fn(|file| Platter::holding(platters[file].after_crash(rng)))
}

impl DiskState {
    fn meet_fault(&mut self, op: Op) -> io::Result<()> {
        match &mut self.failing {
            Some(failing) if failing.op == op && failing.after == 0 => Err(failing.kind.into()),
            Some(failing) if failing.op == op => {
                failing.after -= 1;
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn sync(&mut self, file: usize) -> io::Result<()> {
        self.syncs += 1;
        for _ in 0..self.images_per_sync {
            self.take_image();
        }
        if let Err(error) = self.meet_fault(Op::Sync) {
            self.platters[file].lose_unsynced(&mut self.rng);
            return Err(error);
        }
        if self.lies_per_mille == 0 || !self.rng.chance(self.lies_per_mille) {
            self.platters[file].sync();
        }
        Ok(())
    }

    /// A write that fails has written some of its bytes.
    fn write(&mut self, file: usize, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let failed = self.meet_fault(Op::Write);
        let written = match &failed {
            Ok(()) => bytes.len(),
            Err(_) => self.rng.below(bytes.len() as u64) as usize,
        };
        self.platters[file].write(offset, &bytes[..written])?;
        if self.images_per_mille_writes > 0 && self.rng.chance(self.images_per_mille_writes) {
            self.take_image();
        }
        failed
    }

    fn take_image(&mut self) {
        let image = after_crash(&self.platters, &mut self.rng);
        self.images.push(image);
    }
}

impl SimFile {
    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.disk.lock()
    }
}

impl StorageBackend for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().platters[self.file].len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut inside = self.lock();
        inside.meet_fault(Op::Read)?;
        inside.platters[self.file].read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inside = self.lock();
        inside.meet_fault(Op::SetLen)?;
        inside.platters[self.file].set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.lock().sync(self.file)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.lock().write(self.file, offset, data)
    }
}
