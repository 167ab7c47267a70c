//! What is on the simulated disk, what is only in its cache, and what a crash leaves of it.
//!
//! Invariant: bytes are durable only after a sync that told the truth. A crash keeps any of the unsynced 512-byte
//! sectors and any of the unsynced changes of length, each by chance.

use std::io;

use super::rng::DiskRng;

const SECTOR: usize = 512;

/// What was asked for since the last sync, in order.
#[derive(Debug, Clone)]
enum UnsyncedChange {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Platter {
    durable: Vec<u8>,
    /// What a running process reads back.
    cached: Vec<u8>,
    unsynced: Vec<UnsyncedChange>,
}

impl Platter {
    pub(super) fn holding(durable: Vec<u8>) -> Platter {
        Platter { cached: durable.clone(), durable, unsynced: Vec::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.cached.len() as u64
    }

    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = index(offset)?;
        let bytes = self.cached.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = index(offset)?;
        put(&mut self.cached, offset, bytes);
        self.unsynced.push(UnsyncedChange::Write { offset, bytes: bytes.to_vec() });
        Ok(())
    }

    pub(super) fn set_len(&mut self, len: u64) -> io::Result<()> {
        let len = index(len)?;
        self.cached.resize(len, 0);
        self.unsynced.push(UnsyncedChange::SetLen(len));
        Ok(())
    }

    pub(super) fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                UnsyncedChange::Write { offset, bytes } => put(&mut self.durable, offset, &bytes),
                UnsyncedChange::SetLen(len) => self.durable.resize(len, 0),
            }
        }
    }

    pub(super) fn damage(&mut self, offset: u64) {
        for bytes in [&mut self.durable, &mut self.cached] {
            if let Some(byte) = usize::try_from(offset).ok().and_then(|offset| bytes.get_mut(offset)) {
                *byte ^= 1;
            }
        }
    }

    /// A sync that failed: some of it reached the disk, the rest never will, and the cache does not show it.
    pub(super) fn lose_unsynced(&mut self, rng: &mut DiskRng) {
        self.durable = self.after_crash(rng);
        self.unsynced.clear();
    }

    /// What is there after the power went and came back.
    pub(super) fn after_crash(&self, rng: &mut DiskRng) -> Vec<u8> {
        const KEPT_PER_MILLE: [u64; 6] = [0, 20, 250, 500, 900, 1_000];
        let kept = KEPT_PER_MILLE[rng.below(6) as usize];
        // Sometimes everything after some point is missing as well, as if the queue was cut off there.
        let end =
            if rng.chance(500) { rng.below(self.unsynced.len() as u64 + 1) as usize } else { self.unsynced.len() };
        let mut image = self.durable.clone();
        for change in &self.unsynced[..end] {
            match change {
                UnsyncedChange::Write { offset, bytes } => keep_sectors(&mut image, *offset, bytes, kept, rng),
                UnsyncedChange::SetLen(len) if rng.chance(kept) => image.resize(*len, 0),
                UnsyncedChange::SetLen(_) => {}
            }
        }
        image
    }
}

fn keep_sectors(image: &mut Vec<u8>, offset: usize, bytes: &[u8], kept: u64, rng: &mut DiskRng) {
    let mut done = 0;
    while done < bytes.len() {
        let sector_end = (offset + done) / SECTOR * SECTOR + SECTOR;
        let end = (sector_end - offset).min(bytes.len());
        if rng.chance(kept) {
            put(image, offset + done, &bytes[done..end]);
        }
        done = end;
    }
}

fn put(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(bytes);
}

fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}
