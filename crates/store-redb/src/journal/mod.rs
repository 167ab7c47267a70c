//! The journal: a commit is durable when its record is appended here and synced; redb follows.
//!
//! Invariants: records are numbered without a gap, and one is written only after the one before it is durable. A
//! segment is used again only when redb holds all of its records durably; meanwhile records go into the next. After an error nothing more is appended:
//! the journal is opened anew, which makes durable again what it finds before anybody sees it.

mod counters;
mod opening;
mod payload;
mod record;
mod recovery;
mod segment;
mod syncer;

use std::io;
use std::sync::Arc;

use ordo_store::{Batch, Fault};
use redb::StorageError;

use crate::fault::during;
use crate::files::source::BackendSource;
use crate::follower::Following;
pub(crate) use counters::Counters;
pub(crate) use opening::{Journaling, Opened, open};
use payload::write_batches;
use record::{BLOCK, SegmentHeader, write_record};
pub(crate) use recovery::JournalTail;
use recovery::recover;
use segment::Segment;
use syncer::Syncer;

/// The journal goes round so many segments: while redb is made durable, commits go on in the others.
pub(crate) const SEGMENTS: usize = 4;
/// Commits wait for redb when about this many bytes are not durable there. A recovery replays no more.
pub const JOURNAL_BYTES_DEFAULT: usize = 128 * 1024 * 1024;
/// A record at least as large is synced by a thread of its own, while its rows go into the overlay.
const SYNCED_BESIDE_BYTES: usize = 128 * 1024;

/// How a journal is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
    /// Of all segments together.
    pub(crate) bytes_max: u64,
    /// Who takes into redb what it holds; where a thread does, another may wait for the disk.
    pub(crate) following: Following,
}

impl Keeping {
    fn segment_bytes(self) -> u64 {
        (self.bytes_max / SEGMENTS as u64).max(BLOCK as u64)
    }
}

#[derive(Debug)]
pub(crate) struct Journal {
    id: u64,
    segments: [Segment; SEGMENTS],
    active: usize,
    /// The number of the last record.
    last: u64,
    /// redb holds the records up to this one durably.
    durable: u64,
    /// How many bytes of records it took since it was opened, and those it was opened with.
    written_bytes: u64,
    /// The header of a segment, then a record.
    blocks: Vec<u8>,
    syncer: Syncer,
}

impl Journal {
    /// A new journal whose first record follows the number `last`. It counts once redb holds its id durably.
    pub(crate) fn start(source: &BackendSource, keeping: Keeping, id: u64, last: u64) -> Result<Journal, Fault> {
        let mut journal = Journal::on(source, keeping, id, last)?;
        journal.segments.iter_mut().for_each(Segment::restart);
        journal.begin_segment();
        let writing = |error| failed("starting the journal", error);
        let active = &mut journal.segments[journal.active];
        active.append(&journal.blocks[..BLOCK], last).map_err(writing)?;
        active.file().sync_data().map_err(writing)?;
        Ok(journal)
    }

    /// With segments as they are found, none of them in use.
    fn on(source: &BackendSource, keeping: Keeping, id: u64, last: u64) -> Result<Journal, Fault> {
        let mut segments = Vec::with_capacity(SEGMENTS);
        for number in 0..SEGMENTS {
            let file = source.segment(number)?;
            let segment = Segment::new(Arc::from(file), keeping.segment_bytes());
            segments.push(segment.map_err(|error| failed("opening the journal", error))?);
        }
        let segments = segments.try_into().map_err(|_| Fault::damaged("a journal without segments"))?;
        let syncer = Syncer::new(keeping.following == Following::Beside)?;
        let blocks = vec![0; BLOCK];
        Ok(Journal { id, segments, active: 0, last, durable: last, written_bytes: 0, blocks, syncer })
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::allocated).sum()
    }

    /// Whether there is no room for another record before redb is made durable.
    pub(crate) fn is_full(&self) -> bool {
        self.segments[self.active].is_full() && !self.is_free(self.next())
    }

    /// redb holds the records up to `durable` durably.
    pub(crate) fn freed(&mut self, durable: u64) {
        assert!((self.durable..=self.last).contains(&durable), "redb holds other records than were written");
        self.durable = durable;
    }

    /// Appends one record and begins to make it durable; [`Journal::synced`] returns when it is.
    pub(crate) fn append(&mut self, batches: &[Batch]) -> Result<u64, Fault> {
        if self.segments[self.active].is_full() {
            assert!(self.is_free(self.next()), "a segment is used again before redb holds its records");
            self.active = self.next();
            self.segments[self.active].restart();
            self.begin_segment();
        }
        let (id, number) = (self.id, self.last + 1);
        self.blocks.truncate(BLOCK);
        let record = write_record(&mut self.blocks, id, number, |out| write_batches(out, batches))
            .ok_or_else(|| Fault::misuse("a batch of more than 4 GiB"))?;
        let segment = &mut self.segments[self.active];
        let blocks = if segment.needs_header() { &self.blocks[..] } else { &self.blocks[record.clone()] };
        segment.append(blocks, number).map_err(|error| failed("writing the journal", error))?;
        (self.last, self.written_bytes) = (number, self.written_bytes + record.len() as u64);
        self.syncer.begin(self.segments[self.active].file(), record.len() >= SYNCED_BESIDE_BYTES);
        Ok(number)
    }

    /// Waits until what was appended is durable.
    pub(crate) fn synced(&mut self) -> Result<(), Fault> {
        self.syncer.end().map_err(|error| failed("syncing the journal", error))
    }

    fn begin_segment(&mut self) {
        SegmentHeader { id: self.id, first: self.last + 1 }.write(&mut self.blocks[..BLOCK]);
    }

    /// The segment after the active one.
    fn next(&self) -> usize {
        (self.active + 1) % SEGMENTS
    }

    fn is_free(&self, segment: usize) -> bool {
        self.segments[segment].last() <= self.durable
    }
}

pub(crate) fn failed(doing: &'static str, error: io::Error) -> Fault {
    during(doing)(StorageError::Io(error))
}

/// Something is missing that was acknowledged: going on without it would lose it silently.
fn damaged(missing: u64, found: u64) -> Fault {
    Fault::damaged(format!(
        "record {missing} of the journal is missing or damaged, though record {found} is there: restore a backup"
    ))
}
