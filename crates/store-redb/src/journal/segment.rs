//! One segment: a preallocated file that takes records one after the other, and is used again once it is free.
//!
//! Invariant: a record is written only behind the last one, in blocks no other record lies in.

use std::io;
use std::sync::Arc;

use ordo_store::Fault;
use redb::StorageBackend;

use super::record::{BLOCK, JournalRecord, SegmentHeader, read_record};

/// A segment grows by what it has, within these bounds: then zeros are written with a record.
const GROWTH_BYTES_MIN: u64 = 256 * 1024;
/// One record waits for no more than these.
const GROWTH_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Segment {
    file: Arc<dyn StorageBackend>,
    /// Where the next record goes; 0: the header goes first.
    end: u64,
    /// The number of its last record, or of the one before its first.
    last: u64,
    /// What the file already holds: overwriting it changes no metadata, so that a sync is one write.
    allocated: u64,
    bytes_max: u64,
}

impl Segment {
    pub(crate) fn new(file: Arc<dyn StorageBackend>, bytes_max: u64) -> io::Result<Segment> {
        let allocated = file.len()?;
        Ok(Segment { file, end: 0, last: 0, allocated, bytes_max })
    }

    pub(crate) fn file(&self) -> &Arc<dyn StorageBackend> {
        &self.file
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.allocated
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn is_full(&self) -> bool {
        self.end >= self.bytes_max
    }

    /// Forgets what it holds; the next record goes behind a header, as the first one.
    pub(crate) fn restart(&mut self) {
        (self.end, self.last) = (0, 0);
    }

    /// Whether the next write must begin with a header.
    pub(crate) fn needs_header(&self) -> bool {
        self.end == 0
    }

    /// Goes on behind what was found in the file.
    pub(crate) fn continue_after(&mut self, end: u64, last: u64) {
        (self.end, self.last) = (end, last);
    }

    /// Writes whole blocks behind the last ones; not durable before the file is synced.
    pub(crate) fn append(&mut self, blocks: &[u8], number: u64) -> io::Result<()> {
        let end = self.end + blocks.len() as u64;
        if end > self.allocated {
            self.grow(end)?;
        }
        self.file.write(self.end, blocks)?;
        (self.end, self.last) = (end, number);
        Ok(())
    }

    /// Zeros that are written, not a hole: then a later record only overwrites.
    fn grow(&mut self, end: u64) -> io::Result<()> {
        let grown = self.allocated + self.allocated.clamp(GROWTH_BYTES_MIN, GROWTH_BYTES_MAX);
        let wanted = grown.min(self.bytes_max).max(end);
        let zeros = vec![0; (wanted - self.allocated).min(GROWTH_BYTES_MIN) as usize];
        while self.allocated < wanted {
            let count = (wanted - self.allocated).min(zeros.len() as u64);
            self.file.write(self.allocated, &zeros[..count as usize])?;
            self.allocated += count;
        }
        Ok(())
    }
}

/// What a segment of this journal holds.
#[derive(Debug)]
pub(crate) struct SegmentContents {
    /// Which of the segments.
    pub(crate) index: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) first: u64,
    /// One after the other, without a gap.
    pub(crate) records: Vec<JournalRecord>,
}

impl SegmentContents {
    /// None if the segment is new, of another journal, or if a crash cut its header short.
    pub(crate) fn read(
        index: usize,
        file: &dyn StorageBackend,
        id: u64,
        applied: u64,
    ) -> Result<Option<SegmentContents>, Fault> {
        let reading = |error| super::failed("reading the journal", error);
        let len = file.len().map_err(reading)?;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
        file.read(0, &mut bytes).map_err(reading)?;
        // A crash may have left the file shorter than what was written to it: by zeros, or by what does not count.
        bytes.resize(bytes.len().next_multiple_of(BLOCK).max(BLOCK), 0);
        let Some(header) = SegmentHeader::read(&bytes)?.filter(|header| header.id == id) else { return Ok(None) };
        let mut found = SegmentContents { index, bytes, first: header.first, records: Vec::new() };
        while let Some(record) = read_record(&found.bytes, found.end(), id).filter(|r| r.number == found.next()) {
            found.records.push(record);
        }
        found.refuse_a_hole(id, applied)?;
        Ok(Some(found))
    }

    /// The number the record behind the last one would have.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Where the record behind the last one would begin.
    pub(crate) fn end(&self) -> usize {
        self.records.last().map_or(BLOCK, |record| record.whole.end)
    }

    /// A record is written after the one before it is durable: where the next one belongs, and behind, there is none,
    /// but for those of an earlier use of the segment, whose numbers lie before its first. One that redb holds is no
    /// loss, wherever it lies.
    fn refuse_a_hole(&self, id: u64, applied: u64) -> Result<(), Fault> {
        let later = (self.end()..self.bytes.len())
            .step_by(BLOCK)
            .filter(|start| *start != BLOCK)
            .filter_map(|start| read_record(&self.bytes, start, id))
            .find(|record| record.number >= self.first && record.number > applied);
        match later {
            None => Ok(()),
            Some(later) => Err(super::damaged(self.next(), later.number)),
        }
    }

    /// The number of a record that stands in the place of the first one, though the header names another. A crash
    /// leaves it when it keeps what was written of a new use of the segment, but for its header: then it follows the
    /// last record of the journal and was never acknowledged.
    pub(crate) fn stray(&self, id: u64) -> Option<u64> {
        let first = read_record(&self.bytes, BLOCK, id)?;
        (first.number > self.first).then_some(first.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::record::write_record;
    use redb::backends::InMemoryBackend;

    const ID: u64 = 77;

    /// A segment whose header says `first`, with records of these numbers one behind the other.
    fn found(first: u64, numbers: &[u64], applied: u64) -> Result<SegmentContents, Fault> {
        let mut bytes = vec![0; BLOCK];
        SegmentHeader { id: ID, first }.write(&mut bytes);
        for number in numbers {
            write_record(&mut bytes, ID, *number, |out| out.extend_from_slice(b"payload")).unwrap();
        }
        let file = InMemoryBackend::new();
        file.set_len(bytes.len() as u64).unwrap();
        file.write(0, &bytes).unwrap();
        SegmentContents::read(0, &file, ID, applied).map(Option::unwrap)
    }

    fn taken(first: u64, numbers: &[u64], applied: u64) -> Vec<u64> {
        found(first, numbers, applied).unwrap().records.iter().map(|record| record.number).collect()
    }

    #[test]
    fn records_are_taken_as_long_as_their_numbers_follow() {
        assert_eq!(taken(10, &[10, 11, 12], 9), [10, 11, 12]);
        assert_eq!(taken(10, &[], 9), [0; 0]);
    }

    #[test]
    fn records_of_an_earlier_use_of_the_segment_are_none_of_this_one() {
        assert_eq!(taken(10, &[10, 11, 4, 5], 9), [10, 11]);
        assert_eq!(taken(10, &[3, 4, 5], 9), [0; 0]);
    }

    #[test]
    fn a_record_with_a_wrong_number_is_refused_not_taken() {
        for numbers in [[10, 12], [10, 10], [11, 12], [10, 9_999]] {
            assert!(matches!(found(10, &numbers, 9), Err(Fault::Damaged { .. })), "{numbers:?}");
        }
    }

    #[test]
    fn a_record_in_the_place_of_the_first_is_not_taken_for_it() {
        let alone = found(10, &[12], 9).unwrap();
        assert_eq!((alone.records.len(), alone.stray(ID)), (0, Some(12)));
        assert_eq!(found(10, &[10], 9).unwrap().stray(ID), None);
        assert_eq!(found(10, &[4], 9).unwrap().stray(ID), None);
    }

    #[test]
    fn a_hole_that_redb_has_behind_it_is_no_loss() {
        assert_eq!(taken(10, &[10, 12, 13], 13), [10]);
    }
}
