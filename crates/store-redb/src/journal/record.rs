//! The bytes of a segment: its header, and the records after it.
//!
//! Invariant: a record begins at a block of its own, so that writing one never touches a block that holds another;
//! a checksum covers the number of the record and is seeded with the id of the journal, so that what an earlier use of
//! the segment left behind is never taken for a record of this one.

use std::ops::Range;

use ordo_store::Fault;
use twox_hash::XxHash3_64;

/// Records begin at multiples of this: no disk tears more than it writes at once.
pub(crate) const BLOCK: usize = 4096;

const MAGIC: [u8; 8] = *b"ordojrnl";
const VERSION: u32 = 1;
/// checksum 8, magic 8, version 4, nothing 4, id 8, number of the first record 8
const HEADER: usize = 40;
/// checksum 8, length of the payload 4, kind 4, number 8
const RECORD_HEADER: usize = 24;
/// The one kind of record there is: batches.
const KIND: u32 = 1;

/// The header of a segment, in a block of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Which journal the segment belongs to.
    pub(crate) id: u64,
    /// The number of its first record.
    pub(crate) first: u64,
}

impl SegmentHeader {
    pub(crate) fn write(self, block: &mut [u8]) {
        block.fill(0);
        block[8..16].copy_from_slice(&MAGIC);
        block[16..20].copy_from_slice(&VERSION.to_be_bytes());
        block[24..32].copy_from_slice(&self.id.to_be_bytes());
        block[32..40].copy_from_slice(&self.first.to_be_bytes());
        let checksum = XxHash3_64::oneshot(&block[8..HEADER]);
        block[..8].copy_from_slice(&checksum.to_be_bytes());
    }

    /// None where no segment begins: a new file, or one whose header a crash cut short.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<SegmentHeader>, Fault> {
        let Some(header) = bytes.get(..HEADER) else { return Ok(None) };
        if number(header, 0) != XxHash3_64::oneshot(&header[8..]) || header[8..16] != MAGIC {
            return Ok(None);
        }
        match u32::from_be_bytes([header[16], header[17], header[18], header[19]]) {
            VERSION => Ok(Some(SegmentHeader { id: number(header, 24), first: number(header, 32) })),
            newer => Err(Fault::damaged(format!(
                "the journal has layout {newer} and this Ordo reads layout {VERSION}: use the Ordo that wrote it, or a newer one"
            ))),
        }
    }
}

/// Where a record lies in its segment.
#[derive(Debug, Clone)]
pub(crate) struct JournalRecord {
    pub(crate) number: u64,
    /// With its header and up to the end of its last block.
    pub(crate) whole: Range<usize>,
    pub(crate) payload: Range<usize>,
}

/// Makes a record of what `payload` appends to `out`, padded to whole blocks. `out` ends at a block's end.
/// None, and `out` as it was, if the payload is too long for its length to be written.
pub(crate) fn write_record(
    out: &mut Vec<u8>,
    id: u64,
    number: u64,
    payload: impl FnOnce(&mut Vec<u8>),
) -> Option<Range<usize>> {
    let start = out.len();
    out.resize(start + RECORD_HEADER, 0);
    payload(out);
    let end = out.len();
    let Ok(len) = u32::try_from(end - start - RECORD_HEADER) else {
        out.truncate(start);
        return None;
    };
    let header = &mut out[start..];
    header[8..12].copy_from_slice(&len.to_be_bytes());
    header[12..16].copy_from_slice(&KIND.to_be_bytes());
    header[16..24].copy_from_slice(&number.to_be_bytes());
    let checksum = XxHash3_64::oneshot_with_seed(id, &header[8..]);
    header[..8].copy_from_slice(&checksum.to_be_bytes());
    out.resize(end.next_multiple_of(BLOCK), 0);
    Some(start..out.len())
}

/// The record that begins at `start`, if a whole one does. `bytes` are whole blocks.
pub(crate) fn read_record(bytes: &[u8], start: usize, id: u64) -> Option<JournalRecord> {
    let header = bytes.get(start..start + RECORD_HEADER)?;
    let len = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let payload = start + RECORD_HEADER..start.checked_add(RECORD_HEADER)?.checked_add(len)?;
    let sealed = bytes.get(start + 8..payload.end)?;
    let kind = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
    if kind != KIND || number(header, 0) != XxHash3_64::oneshot_with_seed(id, sealed) {
        return None;
    }
    let whole = start..payload.end.next_multiple_of(BLOCK);
    Some(JournalRecord { number: number(header, 16), whole, payload })
}

/// Eight bytes of a header whose length is known.
fn number(header: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[at..at + 8]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: u64 = 77;

    fn record(number: u64, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_record(&mut bytes, ID, number, |out| out.extend_from_slice(payload)).unwrap();
        bytes
    }

    #[test]
    fn a_record_reads_back_and_fills_whole_blocks() {
        for len in [0, 1, BLOCK - RECORD_HEADER, BLOCK, 3 * BLOCK] {
            let payload = vec![9; len];
            let bytes = record(5, &payload);
            let back = read_record(&bytes, 0, ID).unwrap();
            assert_eq!((back.number, &bytes[back.payload], back.whole.len()), (5, payload.as_slice(), bytes.len()));
            assert_eq!(bytes.len() % BLOCK, 0);
        }
    }

    #[test]
    fn a_record_with_any_byte_changed_or_cut_is_none() {
        let bytes = record(5, b"payload");
        for at in 0..RECORD_HEADER + 7 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read_record(&changed, 0, ID).is_none(), "{at}");
            assert!(read_record(&bytes[..at], 0, ID).is_none(), "{at}");
        }
    }

    #[test]
    fn a_record_of_another_journal_is_none() {
        assert!(read_record(&record(5, b"payload"), 0, ID + 1).is_none());
        assert!(read_record(&[0; BLOCK], 0, ID).is_none());
    }

    #[test]
    fn a_segment_header_reads_back_or_is_none() {
        let header = SegmentHeader { id: ID, first: 12 };
        let mut block = [7; BLOCK];
        header.write(&mut block);
        assert_eq!(SegmentHeader::read(&block).unwrap(), Some(header));
        for at in 0..HEADER {
            let mut changed = block;
            changed[at] ^= 1;
            assert_eq!(SegmentHeader::read(&changed).unwrap(), None, "{at}");
        }
        assert_eq!(SegmentHeader::read(&[]).unwrap(), None);
    }
}
