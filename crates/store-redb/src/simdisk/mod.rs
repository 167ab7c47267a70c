//! A simulated disk: it forgets what was not synced when it crashes, fails when told to, and may lie about syncs.
//!
//! Everything follows from a seed. Invariant: clones are the same disk; [`SimDisk::crash`] and the images are other
//! disks, so that one run can be cut at every sync and go on.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::source::Disk;

mod platter;
mod rng;

use platter::Platter;
pub use rng::Rng;

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
pub struct Failing {
    pub op: Op,
    pub after: u64,
    pub kind: io::ErrorKind,
}

#[derive(Debug, Clone)]
pub struct SimDisk {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    platter: Platter,
    rng: Rng,
    failing: Option<Failing>,
    lies_per_mille: u64,
    images_per_sync: usize,
    images: Vec<Vec<u8>>,
    syncs: u64,
}

impl SimDisk {
    /// A new, empty disk.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::holding(Vec::new(), seed)
    }

    /// A disk that holds these bytes, all durable.
    pub fn holding(bytes: Vec<u8>, seed: u64) -> SimDisk {
        let inside = Inside {
            platter: Platter::holding(bytes),
            rng: Rng::new(seed),
            failing: None,
            lies_per_mille: 0,
            images_per_sync: 0,
            images: Vec::new(),
            syncs: 0,
        };
        SimDisk { inside: Arc::new(Mutex::new(inside)) }
    }

    /// The disk as it could be after a crash now. This one goes on as if nothing had happened.
    pub fn crash(&self, rng: &mut Rng) -> SimDisk {
        let bytes = self.lock().platter.after_crash(rng);
        SimDisk::holding(bytes, rng.next())
    }

    /// From now on every sync first takes this many images of what a crash at that moment could leave.
    pub fn take_images_at_sync(&self, per_sync: usize) {
        self.lock().images_per_sync = per_sync;
    }

    /// The images taken since the last call.
    pub fn images(&self) -> Vec<SimDisk> {
        let mut inside = self.lock();
        let images = std::mem::take(&mut inside.images);
        images.into_iter().map(|bytes| SimDisk::holding(bytes, inside.rng.next())).collect()
    }

    /// How many syncs were asked for.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Some syncs do nothing and say that they did.
    pub fn lie_about_syncs(&self, per_mille: u64) {
        self.lock().lies_per_mille = per_mille;
    }

    pub fn fail(&self, failing: Failing) {
        self.lock().failing = Some(failing);
    }

    pub fn heal(&self) {
        self.lock().failing = None;
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for SimDisk {
    fn backend(&self) -> Box<dyn StorageBackend> {
        Box::new(self.clone())
    }
}

impl Inside {
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

    fn sync(&mut self) -> io::Result<()> {
        self.syncs += 1;
        for _ in 0..self.images_per_sync {
            let image = self.platter.after_crash(&mut self.rng);
            self.images.push(image);
        }
        if let Err(error) = self.meet_fault(Op::Sync) {
            self.platter.lose_unsynced(&mut self.rng);
            return Err(error);
        }
        if self.lies_per_mille == 0 || !self.rng.chance(self.lies_per_mille) {
            self.platter.sync();
        }
        Ok(())
    }

    /// A write that fails has written some of its bytes.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let failed = self.meet_fault(Op::Write);
        let written = match &failed {
            Ok(()) => bytes.len(),
            Err(_) => self.rng.below(bytes.len() as u64) as usize,
        };
        self.platter.write(offset, &bytes[..written])?;
        failed
    }
}

impl StorageBackend for SimDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().platter.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut inside = self.lock();
        inside.meet_fault(Op::Read)?;
        inside.platter.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inside = self.lock();
        inside.meet_fault(Op::SetLen)?;
        inside.platter.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.lock().sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.lock().write(offset, data)
    }
}
