//! What a journal record carries: the batches that were gathered for it, as they were given.
//!
//! Batches, not pages or rows: applying them again is the same code that applied them first, and it comes to the same
//! result, because it depends on nothing but the batches and what the tables hold. Numbers are big-endian; a text or a
//! run of bytes is preceded by its length in 4 bytes, a list by its count. docs/storage-format.md has the layout.

use ordo_model::{EntityId, Millis, Timestamp};
use ordo_store::{
    Alarm, Batch, Chunk, Dedup, Disposition, EventActor, Fault, Item, NewEvent, Quota, QuotaLimit, RowWrite, Trim, View,
};
use uuid::Uuid;

use crate::tables::keys::{entity_key, entity_of, number_of, time_bytes, time_of, uuid_of};

const ABSENT: u8 = 0;
const PRESENT: u8 = 1;
/// Beside whether an item has a trim: its quotas follow.
const QUOTAS_FOLLOW: u8 = 2;
const ROWS_QUOTA: u8 = 0;
const RATE_QUOTA: u8 = 1;
const PURGE: u8 = 0;
const KEEP: u8 = 1;
/// Beside the length of an event's kind: who brought it about is known,
const ACTOR_KNOWN: u32 = 1 << 31;
/// and was somebody else than Ordo: the actor follows the kind.
const ACTOR_FOLLOWS: u32 = 1 << 30;

pub(crate) fn write_batches(out: &mut Vec<u8>, batches: &[Batch]) {
    put_count(out, batches.len());
    for batch in batches {
        put_list(out, &batch.chunks, put_chunk);
        put_list(out, &batch.items, put_item);
    }
}

fn put_item(out: &mut Vec<u8>, item: &Item) {
    out.extend_from_slice(&entity_key(item.entity));
    out.extend_from_slice(&item.expected.to_be_bytes());
    put_list(out, &item.events, put_event);
    match &item.disposition {
        Disposition::Purge => out.push(PURGE),
        Disposition::Keep { snapshot, alarm } => {
            out.push(KEEP);
            put_bytes(out, snapshot);
            put_optional(out, alarm.as_ref(), |out, alarm| {
                out.extend_from_slice(&time_bytes(alarm.at));
                out.push(alarm.rank);
            });
        }
    }
    put_list(out, &item.rows, put_row);
    put_list(out, &item.dedup, put_dedup);
    let quotas = if item.quotas.is_empty() { 0 } else { QUOTAS_FOLLOW };
    out.push(quotas | if item.trim.is_some() { PRESENT } else { ABSENT });
    if let Some(trim) = &item.trim {
        out.extend_from_slice(&trim.through.to_be_bytes());
        put_event(out, &trim.checkpoint);
    }
    if !item.quotas.is_empty() {
        put_list(out, &item.quotas, put_quota);
    }
    put_list(out, &item.forget_chunks, |out, owner| out.extend_from_slice(owner.as_bytes()));
}

fn put_event(out: &mut Vec<u8>, event: &NewEvent) {
    out.extend_from_slice(&time_bytes(event.at));
    let (marks, actor) = match &event.actor {
        EventActor::Unknown => (0, None),
        EventActor::Ordo => (ACTOR_KNOWN, None),
        EventActor::Recorded(actor) => (ACTOR_KNOWN | ACTOR_FOLLOWS, Some(actor)),
    };
    out.extend_from_slice(&(event.kind.len() as u32 | marks).to_be_bytes());
    out.extend_from_slice(event.kind.as_bytes());
    if let Some(actor) = actor {
        put_bytes(out, actor);
    }
    put_bytes(out, &event.data);
}

/// A view goes by its name, which never changes once released.
fn put_row(out: &mut Vec<u8>, row: &RowWrite) {
    put_bytes(out, row.view.name().as_bytes());
    put_bytes(out, &row.key);
    put_optional(out, row.value.as_ref(), |out, value| put_bytes(out, value));
}

fn put_dedup(out: &mut Vec<u8>, entry: &Dedup) {
    put_bytes(out, &entry.key);
    out.extend_from_slice(&time_bytes(entry.at));
    out.extend_from_slice(&time_bytes(entry.until));
    put_bytes(out, &entry.value);
}

fn put_quota(out: &mut Vec<u8>, quota: &Quota) {
    put_bytes(out, &quota.key);
    match quota.limit {
        QuotaLimit::Rows { view, max } => {
            out.push(ROWS_QUOTA);
            put_bytes(out, view.name().as_bytes());
            out.extend_from_slice(&max.to_be_bytes());
        }
        QuotaLimit::Rate { at, per, max } => {
            out.push(RATE_QUOTA);
            out.extend_from_slice(&time_bytes(at));
            out.extend_from_slice(&per.ms().to_be_bytes());
            out.extend_from_slice(&max.to_be_bytes());
        }
    }
}

fn put_chunk(out: &mut Vec<u8>, chunk: &Chunk) {
    out.extend_from_slice(chunk.owner.as_bytes());
    out.extend_from_slice(&chunk.seq.to_be_bytes());
    put_bytes(out, &chunk.bytes);
}

/// No list and no value reaches 4 GiB: a record that would is refused before it is written.
fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u32).to_be_bytes());
}

fn put_list<T>(out: &mut Vec<u8>, list: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_count(out, list.len());
    list.iter().for_each(|entry| put(out, entry));
}

fn put_optional<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl Fn(&mut Vec<u8>, &T)) {
    match value {
        None => out.push(ABSENT),
        Some(value) => {
            out.push(PRESENT);
            put(out, value);
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(crate) fn read_batches(payload: &[u8]) -> Result<Vec<Batch>, Fault> {
    let mut reader = Reader { left: payload };
    let batches = reader.list(|reader| {
        let chunks = reader.list(Reader::chunk)?;
        Ok(Batch { chunks, items: reader.list(Reader::item)? })
    })?;
    if reader.left.is_empty() { Ok(batches) } else { Err(unreadable()) }
}

/// The checksum was right, so this is not the disk's doing.
fn unreadable() -> Fault {
    Fault::damaged("the journal holds a record this Ordo cannot read: use the Ordo that wrote it, or a newer one")
}

struct Reader<'p> {
    left: &'p [u8],
}

impl<'p> Reader<'p> {
    fn take(&mut self, count: usize) -> Result<&'p [u8], Fault> {
        let (taken, left) = self.left.split_at_checked(count).ok_or_else(unreadable)?;
        self.left = left;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Result<u64, Fault> {
        number_of(self.take(8)?)
    }

    fn time(&mut self) -> Result<Timestamp, Fault> {
        time_of(self.take(8)?)
    }

    fn count(&mut self) -> Result<usize, Fault> {
        Ok(self.short_number()? as usize)
    }

    fn short_number(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?.try_into().map_err(|_| unreadable())?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        self.slice().map(<[u8]>::to_vec)
    }

    fn slice(&mut self) -> Result<&'p [u8], Fault> {
        let count = self.count()?;
        self.take(count)
    }

    fn text(&mut self) -> Result<String, Fault> {
        String::from_utf8(self.bytes()?).map_err(|_| unreadable())
    }

    /// Grows with what is there, not with what a count promises.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        let mut list = Vec::new();
        for _ in 0..self.count()? {
            list.push(read(self)?);
        }
        Ok(list)
    }

    fn optional<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
        match self.byte()? {
            ABSENT => Ok(None),
            PRESENT => read(self).map(Some),
            _ => Err(unreadable()),
        }
    }

    fn uuid(&mut self) -> Result<Uuid, Fault> {
        uuid_of(self.take(16)?)
    }

    fn entity(&mut self) -> Result<EntityId, Fault> {
        entity_of(self.take(17)?.try_into().map_err(|_| unreadable())?)
    }

    fn item(&mut self) -> Result<Item, Fault> {
        let (entity, expected) = (self.entity()?, self.number()?);
        let (events, disposition) = (self.list(Reader::event)?, self.disposition()?);
        let (rows, dedup) = (self.list(Reader::row)?, self.list(Reader::dedup)?);
        let marks = self.byte()?;
        if marks & !(PRESENT | QUOTAS_FOLLOW) != 0 {
            return Err(unreadable());
        }
        let trim = match marks & PRESENT {
            ABSENT => None,
            _ => Some(Trim { through: self.number()?, checkpoint: self.event()? }),
        };
        let quotas = if marks & QUOTAS_FOLLOW == 0 { Vec::new() } else { self.list(Reader::quota)? };
        let (freed, forget_chunks) = (Vec::new(), self.list(Reader::uuid)?);
        Ok(Item { entity, expected, events, disposition, rows, dedup, quotas, freed, trim, forget_chunks })
    }

    fn quota(&mut self) -> Result<Quota, Fault> {
        let key = self.bytes()?;
        let limit = match self.byte()? {
            ROWS_QUOTA => QuotaLimit::Rows { view: self.view()?, max: self.short_number()? },
            RATE_QUOTA => {
                QuotaLimit::Rate { at: self.time()?, per: Millis::from_ms(self.number()?), max: self.short_number()? }
            }
            _ => return Err(unreadable()),
        };
        Ok(Quota { key, limit })
    }

    fn disposition(&mut self) -> Result<Disposition, Fault> {
        match self.byte()? {
            PURGE => Ok(Disposition::Purge),
            KEEP => {
                let snapshot = self.bytes()?;
                let alarm = self.optional(|reader| Ok(Alarm { at: reader.time()?, rank: reader.byte()? }))?;
                Ok(Disposition::Keep { snapshot, alarm })
            }
            _ => Err(unreadable()),
        }
    }

    fn event(&mut self) -> Result<NewEvent, Fault> {
        let (at, marked) = (self.time()?, self.short_number()?);
        let kind = self.take((marked & !(ACTOR_KNOWN | ACTOR_FOLLOWS)) as usize)?;
        let kind = std::str::from_utf8(kind).map_err(|_| unreadable())?.to_owned();
        let actor = match (marked & ACTOR_KNOWN != 0, marked & ACTOR_FOLLOWS != 0) {
            (false, false) => EventActor::Unknown,
            (true, false) => EventActor::Ordo,
            (true, true) => EventActor::Recorded(self.slice()?.into()),
            (false, true) => return Err(unreadable()),
        };
        Ok(NewEvent { at, kind, data: self.bytes()?, actor })
    }

    fn view(&mut self) -> Result<View, Fault> {
        let name = self.text()?;
        View::ALL.into_iter().find(|view| view.name() == name).ok_or_else(unreadable)
    }

    fn row(&mut self) -> Result<RowWrite, Fault> {
        Ok(RowWrite { view: self.view()?, key: self.bytes()?, value: self.optional(Reader::bytes)?, cells: Vec::new() })
    }

    fn dedup(&mut self) -> Result<Dedup, Fault> {
        Ok(Dedup { key: self.bytes()?, at: self.time()?, until: self.time()?, value: self.bytes()? })
    }

    fn chunk(&mut self) -> Result<Chunk, Fault> {
        Ok(Chunk { owner: self.uuid()?, seq: self.number()?, bytes: self.bytes()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Kind;

    fn batch() -> Batch {
        let by = |kind: &str, actor| NewEvent { at: Timestamp::MAX, kind: kind.into(), data: b"{}".to_vec(), actor };
        let event = |kind: &str| by(kind, EventActor::Ordo);
        let ana = EventActor::Recorded(b"{\"name\":\"ana\"}".as_slice().into());
        let kept = Item {
            entity: EntityId { kind: Kind::Job, id: Uuid::from_u128(7) },
            expected: 3,
            events: vec![event("run_fired"), by("job_paused", ana), by("run_completed", EventActor::Unknown)],
            disposition: Disposition::Keep {
                snapshot: b"state".to_vec(),
                alarm: Some(Alarm { at: Timestamp::MIN, rank: 9 }),
            },
            rows: vec![
                RowWrite::put(View::Runs, b"run".to_vec(), Vec::new()),
                RowWrite::delete(View::Queue, Vec::new()),
            ],
            dedup: vec![Dedup {
                key: b"key".to_vec(),
                at: Timestamp::MIN,
                until: Timestamp::MAX,
                value: b"value".to_vec(),
            }],
            quotas: vec![
                Quota { key: b"held".to_vec(), limit: QuotaLimit::Rows { view: View::Index, max: 7 } },
                Quota {
                    key: b"rate".to_vec(),
                    limit: QuotaLimit::Rate { at: Timestamp::MAX, per: Millis::from_days(1), max: u32::MAX },
                },
            ],
            freed: Vec::new(),
            trim: Some(Trim { through: 2, checkpoint: event("checkpoint") }),
            forget_chunks: vec![Uuid::from_u128(1), Uuid::max()],
        };
        let quiet =
            Item { disposition: Disposition::Keep { snapshot: Vec::new(), alarm: None }, trim: None, ..kept.clone() };
        let plain = Item { quotas: Vec::new(), ..quiet.clone() };
        let purged = Item { disposition: Disposition::Purge, events: Vec::new(), rows: Vec::new(), ..kept.clone() };
        let chunk = Chunk { owner: Uuid::from_u128(5), seq: u64::MAX, bytes: b"a line\n".to_vec() };
        Batch { items: vec![kept, quiet, plain, purged], chunks: vec![chunk] }
    }

    #[test]
    fn batches_read_back() {
        let batches = [batch(), Batch::default(), batch()];
        let mut payload = Vec::new();
        write_batches(&mut payload, &batches);
        let back = read_batches(&payload).unwrap();
        assert_eq!(format!("{back:?}"), format!("{batches:?}"));
    }

    #[test]
    fn every_cut_of_a_payload_is_refused_not_a_panic() {
        let mut payload = Vec::new();
        write_batches(&mut payload, &[batch()]);
        for len in 0..payload.len() {
            assert!(matches!(read_batches(&payload[..len]), Err(Fault::Damaged { .. })), "{len}");
        }
        payload.push(0);
        assert!(matches!(read_batches(&payload), Err(Fault::Damaged { .. })));
    }
}
