//! What a journal holds that redb does not: found, made durable again, and handed over to be applied.
//!
//! Invariant: whatever is handed over is on the disk, not just in its cache. A sync that failed may have left records
//! that can be read and would be lost with the power; they are written and synced anew before anybody sees them.

use ordo_store::{Batch, Fault};

use super::payload::read_batches;
use super::record::{BLOCK, JournalRecord};
use super::segment::SegmentContents;
use super::{Journal, Keeping, SEGMENTS, damaged, failed};
use crate::files::source::BackendSource;

/// The records behind the last one redb holds, in order.
#[derive(Debug, Default)]
pub(crate) struct JournalTail {
    segments: Vec<SegmentContents>,
    applied: u64,
}

impl JournalTail {
    pub(crate) fn records(&self) -> u64 {
        self.records_after_applied().count() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.records_after_applied().map(|(_, record)| record.whole.len() as u64).sum()
    }

    /// The records redb lacks, in order.
    pub(crate) fn replayed(&self) -> impl Iterator<Item = Replayed<'_>> {
        self.records_after_applied().map(|(found, record)| Replayed {
            number: record.number,
            bytes: record.whole.len() as u64,
            payload: &found.bytes[record.payload.clone()],
        })
    }

    fn records_after_applied(&self) -> impl Iterator<Item = (&SegmentContents, &JournalRecord)> {
        let all = self.segments.iter().flat_map(|found| found.records.iter().map(move |record| (found, record)));
        let last = self.segments.last().map_or(0, |newest| newest.next() - 1);
        let skipped = move |number: u64| ordo_model::is_planted!(RecordSkipped) && number == last;
        all.filter(move |(_, record)| record.number > self.applied && !skipped(record.number))
    }
}

/// A record that is to be applied.
#[derive(Debug)]
pub(crate) struct Replayed<'t> {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    payload: &'t [u8],
}

impl Replayed<'_> {
    pub(crate) fn batches(&self) -> Result<Vec<Batch>, Fault> {
        read_batches(self.payload)
    }
}

/// Opens the journal `id`, of which redb durably holds the records up to `applied`.
pub(crate) fn recover(
    source: &BackendSource,
    keeping: Keeping,
    id: u64,
    applied: u64,
) -> Result<(Journal, JournalTail), Fault> {
    if !source.journal_exists() {
        return Err(missing(source));
    }
    let mut journal = Journal::on(source, keeping, id, applied)?;
    let mut segments = Vec::with_capacity(SEGMENTS);
    for (index, segment) in journal.segments.iter().enumerate() {
        segments.extend(SegmentContents::read(index, &**segment.file(), id, applied)?);
    }
    segments.sort_by_key(|found| found.first);
    refuse_gaps(source, &segments, id, applied)?;
    let tail = JournalTail { segments, applied };
    journal.go_on_after(&tail)?;
    Ok((journal, tail))
}

/// The segments must lead from what redb holds to the last record without a gap.
fn refuse_gaps(source: &BackendSource, segments: &[SegmentContents], id: u64, applied: u64) -> Result<(), Fault> {
    let mut next = applied + 1;
    for found in segments {
        if found.first > next {
            return Err(damaged(next, found.first));
        }
        next = next.max(found.next());
    }
    if let Some(stray) = segments.iter().filter_map(|found| found.stray(id)).find(|stray| *stray > next) {
        return Err(damaged(next, stray));
    }
    // The newest segment holds the last record redb knows of, or begins behind it.
    match segments.last() {
        Some(newest) if newest.next() > applied => Ok(()),
        Some(_) | None => Err(missing(source)),
    }
}

fn missing(source: &BackendSource) -> Fault {
    let journal = source.journal_name();
    Fault::damaged(format!(
        "{journal} is missing or older than the store, which was not closed: put back what belongs to it, or restore a \
         backup"
    ))
}

impl Journal {
    /// Goes on behind the last record that was found, in its segment.
    fn go_on_after(&mut self, tail: &JournalTail) -> Result<(), Fault> {
        for found in &tail.segments {
            let last = found.next() - 1;
            self.segments[found.index].continue_after(found.end() as u64, last);
            // They are in order: the last one is the newest.
            self.active = found.index;
            self.last = self.last.max(last);
        }
        self.written_bytes = tail.bytes();
        self.make_durable_again(tail)
    }

    fn make_durable_again(&self, tail: &JournalTail) -> Result<(), Fault> {
        let writing = |error| failed("recovering the journal", error);
        for found in &tail.segments {
            let file = self.segments[found.index].file();
            file.write(0, &found.bytes[..BLOCK]).map_err(writing)?;
            for record in found.records.iter().filter(|record| record.number > tail.applied) {
                file.write(record.whole.start as u64, &found.bytes[record.whole.clone()]).map_err(writing)?;
            }
            file.sync_data().map_err(writing)?;
        }
        Ok(())
    }
}
