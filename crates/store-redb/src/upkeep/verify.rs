//! Proves that the file agrees with itself: pages, indexes, counters.
//!
//! Whether snapshots, alarms and rows agree with what the events say needs the model and is proved above this crate.
//! Invariant: verifying changes nothing (redb may repair its own free-page lists), and one finding never hides others.

use std::cmp::Ordering;

use ordo_store::{Fault, Version};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable};

use crate::fault::during;
use crate::read::{count, number, table};
use crate::store::RedbStore;
use crate::tables::keys::{alarm_key, entity_of, expiry_key, stream_of};
use crate::tables::values::{Header, event_owner, read_dedup, read_header};
use crate::tables::{
    ALARMS, CHUNKS, DEDUP, DEDUP_EXPIRY, EVENTS, EntityKey, META, META_POSITION, META_REBUILDING, SNAPSHOTS, STREAMS,
};

/// At most this many findings are listed one by one; the rest is counted.
pub const FINDINGS_MAX: usize = 100;

/// What a verification saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    pub events: u64,
    pub entities: u64,
    pub alarms: u64,
    pub chunks: u64,
    pub dedup_keys: u64,
    /// What does not agree, in words; empty in a sound store.
    pub findings: Vec<String>,
    /// How many more there were.
    pub omitted: u64,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, finding: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.omitted += 1;
        }
    }
}

impl RedbStore {
    /// Reads the whole file. Needs the store for itself: others wait, and whoever is reading makes it fail as held.
    pub fn verify(&self) -> Result<Verified, Fault> {
        self.handle.alone(verify)
    }
}

fn verify(database: &mut Database) -> Result<Verified, Fault> {
    let mut verified = Verified::default();
    if !database.check_integrity().map_err(during("checking the pages"))? {
        verified.find("redb found damaged pages or free-page lists and repaired them".to_owned());
    }
    let read = database.begin_read().map_err(during("verifying"))?;
    verified.events = count(&read, EVENTS)?;
    verified.entities = count(&read, SNAPSHOTS)?;
    verified.alarms = count(&read, ALARMS)?;
    verified.chunks = count(&read, CHUNKS)?;
    verified.dedup_keys = count(&read, DEDUP)?;
    check_streams(&read, &mut verified)?;
    check_alarms(&read, &mut verified)?;
    check_dedup(&read, &mut verified)?;
    check_numbers(&read, &mut verified)?;
    Ok(verified)
}

/// Follows the stream index and the snapshots side by side; both are in order of entity.
fn check_streams(read: &ReadTransaction, verified: &mut Verified) -> Result<(), Fault> {
    let (streams, events, snapshots) = (table(read, STREAMS)?, table(read, EVENTS)?, table(read, SNAPSHOTS)?);
    let mut headers = snapshots.iter().map_err(during("verifying snapshots"))?.peekable();
    let mut next_header = || -> Result<Option<(EntityKey, Header)>, Fault> {
        let Some(entry) = headers.next() else { return Ok(None) };
        let (key, value) = entry.map_err(during("verifying snapshots"))?;
        Ok(Some((*key.value(), read_header(value.value())?)))
    };
    let mut header = next_header()?;
    let mut indexed = 0;
    let mut current: Option<StreamWalk> = None;
    for entry in streams.iter().map_err(during("verifying streams"))? {
        let (key, position) = entry.map_err(during("verifying streams"))?;
        let (entity, version) = stream_of(key.value())?;
        let position = position.value();
        indexed += 1;
        match events.get(position).map_err(during("verifying streams"))? {
            Some(event) if event_owner(position, event.value())? == (entity, version) => {}
            Some(_) => verified.find(format!("{} {version} points to another's event {position}", name(&entity))),
            None => verified.find(format!("{} {version} points to no event at {position}", name(&entity))),
        }
        match &mut current {
            Some(stream) if stream.entity == entity => stream.follow(version, position, verified),
            _ => {
                close_stream(current.take(), &mut header, &mut next_header, verified)?;
                current = Some(StreamWalk { entity, version, position });
            }
        }
    }
    close_stream(current, &mut header, &mut next_header, verified)?;
    while let Some((entity, _)) = header {
        verified.find(format!("{} has a snapshot and no events", name(&entity)));
        header = next_header()?;
    }
    if indexed != verified.events {
        verified.find(format!("{} events, but {indexed} in the stream index", verified.events));
    }
    Ok(())
}

/// Where a walk through one stream has come to.
struct StreamWalk {
    entity: EntityKey,
    version: Version,
    position: u64,
}

impl StreamWalk {
    fn follow(&mut self, version: Version, position: u64, verified: &mut Verified) {
        if version != self.version + 1 {
            verified.find(format!("{} goes from version {} to {version}", name(&self.entity), self.version));
        }
        if position <= self.position {
            verified.find(format!("{} {version} stands before its predecessor", name(&self.entity)));
        }
        (self.version, self.position) = (version, position);
    }
}

/// At the end of a stream its snapshot must be there, at the same version.
fn close_stream(
    stream: Option<StreamWalk>,
    header: &mut Option<(EntityKey, Header)>,
    next_header: &mut impl FnMut() -> Result<Option<(EntityKey, Header)>, Fault>,
    verified: &mut Verified,
) -> Result<(), Fault> {
    let Some(stream) = stream else { return Ok(()) };
    while let Some((entity, snapshot)) = *header {
        match entity.cmp(&stream.entity) {
            Ordering::Less => verified.find(format!("{} has a snapshot and no events", name(&entity))),
            Ordering::Equal if snapshot.version == stream.version => {}
            Ordering::Equal => verified.find(format!(
                "{} ends at version {}, its snapshot is of version {}",
                name(&entity),
                stream.version,
                snapshot.version
            )),
            Ordering::Greater => break,
        }
        *header = next_header()?;
        if entity == stream.entity {
            return Ok(());
        }
    }
    verified.find(format!("{} has events and no snapshot", name(&stream.entity)));
    Ok(())
}

fn check_alarms(read: &ReadTransaction, verified: &mut Verified) -> Result<(), Fault> {
    let (snapshots, alarms) = (table(read, SNAPSHOTS)?, table(read, ALARMS)?);
    let mut wanted = 0;
    for entry in snapshots.iter().map_err(during("verifying alarms"))? {
        let (key, value) = entry.map_err(during("verifying alarms"))?;
        let Some(alarm) = read_header(value.value())?.alarm else { continue };
        wanted += 1;
        let entity = entity_of(key.value())?;
        let found = alarms.get(&alarm_key(alarm.at, entity.id)).map_err(during("verifying alarms"))?;
        if found.is_none_or(|found| *found.value() != [entity.kind.code(), alarm.rank]) {
            verified.find(format!("{entity} wants an alarm at {} that the index lacks or ranks otherwise", alarm.at));
        }
    }
    if wanted != verified.alarms {
        verified.find(format!("{} alarms, but {wanted} entities want one", verified.alarms));
    }
    Ok(())
}

fn check_dedup(read: &ReadTransaction, verified: &mut Verified) -> Result<(), Fault> {
    let (dedup, expiry) = (table(read, DEDUP)?, table(read, DEDUP_EXPIRY)?);
    for entry in dedup.iter().map_err(during("verifying dedup keys"))? {
        let (key, value) = entry.map_err(during("verifying dedup keys"))?;
        let (until, _) = read_dedup(value.value())?;
        let indexed = expiry.get(expiry_key(until, key.value()).as_slice()).map_err(during("verifying dedup keys"))?;
        if indexed.is_none() {
            verified.find(format!("a dedup key that expires at {until} is not in the index of expiries"));
        }
    }
    let indexed = count(read, DEDUP_EXPIRY)?;
    if indexed != verified.dedup_keys {
        verified.find(format!("{} dedup keys, but {indexed} expiries", verified.dedup_keys));
    }
    Ok(())
}

fn check_numbers(read: &ReadTransaction, verified: &mut Verified) -> Result<(), Fault> {
    let meta = table(read, META)?;
    let given = number(&meta, META_POSITION)?;
    let last = table(read, EVENTS)?.last().map_err(during("verifying positions"))?.map_or(0, |(key, _)| key.value());
    if last > given {
        verified.find(format!("an event at position {last}, but only {given} were given out"));
    }
    if number(&meta, META_REBUILDING)? != 0 {
        verified.find("a rebuild did not come to its end: run `ordo store reindex`".to_owned());
    }
    Ok(())
}

fn name(entity: &EntityKey) -> String {
    entity_of(entity).map_or_else(|_| format!("{entity:02x?}"), |entity| entity.to_string())
}
