//! `ordo store copy FROM TO`: moves a deployment to another engine.
//!
//! Invariant: the source is only read. Until the copy is complete the target says that it is incomplete, and no daemon
//! writes to it; one that turns out to differ says so again. A copy that was broken off goes on where it was.

use std::sync::Arc;

use ordo_engine::{check, mirror};
use ordo_model::EntityId;
use ordo_store::{NewEvent, Transfer, TransferBatch, TransferredEvents, Version};
use serde_json::json;

use super::offline::open_to_read;
use super::{say, words};
use crate::cli::store::CopyArgs;
use crate::commands::talk::CommandSession;
use crate::error::{Error, Exit, Result};
use crate::output::progress::Progress;
use crate::store_location::{OpenStore, StoreLocation};

const STREAMS_PER_READ: usize = 500;
const EVENTS_PER_READ: usize = 2_000;
/// About how many bytes are put at once.
const TRANSFER_BYTES: usize = 2 * 1024 * 1024;
const ENTRIES_PER_READ: usize = 500;
const CACHE_BYTES: usize = 64 * 1024 * 1024;

pub(super) async fn run(talk: &CommandSession, args: &CopyArgs) -> Result<Exit> {
    let (from, to) = (StoreLocation::of(&args.from), StoreLocation::of(&args.to));
    if from == to {
        return Err(Error::misused("a store cannot be copied onto itself"));
    }
    if let StoreLocation::File(path) = &from
        && !path.exists()
    {
        return Err(Error::failed(format!("there is no store at {}", from.shown())));
    }
    let target = to.open(CACHE_BYTES).await?.moving();
    let entities = match &from {
        StoreLocation::File(path) => copy(&open_to_read(path)?.store, target.as_ref(), &to).await?,
        StoreLocation::Database(_) => copy(open_database(&from).await?.as_ref(), target.as_ref(), &to).await?,
    };
    let answer = json!({ "from": from.shown(), "to": to.shown(), "entities": entities });
    say(talk, &answer, || format!("copied {} to {}; both say the same", words::counted(entities, "stream"), to.shown()))
}

/// A database goes on while it is read: it is read as of one moment.
async fn open_database(from: &StoreLocation) -> Result<Arc<dyn Transfer>> {
    match from.open(CACHE_BYTES).await? {
        OpenStore::Database(store) => Ok(store.at_this_moment()?),
        opened @ OpenStore::File(_) => Ok(opened.moving()),
    }
}

/// How many entities were copied.
async fn copy(source: &dyn Transfer, target: &dyn Transfer, to: &StoreLocation) -> Result<u64> {
    if source.is_incomplete().await? {
        return Err(Error::failed("the source is incomplete: a rebuild of it was broken off")
            .hint("finish it first with: ordo store reindex --store FROM"));
    }
    let there = target.stats().await?;
    if !target.is_incomplete().await? {
        if there.events > 0 || there.chunks > 0 {
            return Err(Error::failed(format!("there is a store at {} already", to.shown()))
                .hint("name an empty place: a new file, or another schema (?schema=NAME) of the database"));
        }
        // From here on the target says that it is incomplete.
        target.clear_derived().await?;
    }
    copy_events(source, target).await?;
    copy_beside(source, target).await?;
    let total = source.stats().await?.entities;
    let progress = Progress::counted("rebuilding");
    let entities = check::reindex(target, &mut |done| progress.at(done, total.max(done))).await?;
    drop(progress);
    if let Err(differs) = compare(source, target).await {
        target.clear_derived().await?;
        return Err(differs);
    }
    Ok(entities)
}

/// Streams in order of id. The last one that is there may be half there: it is put again.
async fn copy_events(source: &dyn Transfer, target: &dyn Transfer) -> Result<()> {
    let progress = Progress::counted("copying events");
    let total = source.stats().await?.events;
    let (mut after, mut done) = resume(target).await?;
    let mut batch = TransferBuffer { target, batch: TransferBatch::default(), bytes: 0 };
    loop {
        let streams = source.streams(after, STREAMS_PER_READ).await?;
        let Some(last) = streams.last() else { break };
        after = Some(*last);
        for entity in streams {
            done += copy_stream(source, &mut batch, entity).await?;
            progress.at(done, total.max(done));
        }
    }
    batch.send().await
}

/// The last stream that is wholly there, and about how many events are.
async fn resume(target: &dyn Transfer) -> Result<(Option<EntityId>, u64)> {
    let (mut whole, mut last) = (None, None);
    loop {
        let page = target.streams(last, STREAMS_PER_READ).await?;
        match page.as_slice() {
            [] => break,
            [only] => (whole, last) = (last, Some(*only)),
            [.., before, end] => (whole, last) = (Some(*before), Some(*end)),
        }
    }
    Ok((whole, target.stats().await?.events))
}

async fn copy_stream(source: &dyn Transfer, batch: &mut TransferBuffer<'_>, entity: EntityId) -> Result<u64> {
    let (mut from, mut done) = (0, 0);
    loop {
        let events = source.history(entity, from, EVENTS_PER_READ).await?.events;
        let full = events.len() == EVENTS_PER_READ;
        done += events.len() as u64;
        from = events.last().map_or(from, |event| event.version + 1);
        let moved: Vec<(Version, NewEvent)> = events
            .into_iter()
            .map(|event| {
                (event.version, NewEvent { at: event.at, kind: event.kind, data: event.data, actor: event.actor })
            })
            .collect();
        batch.add(TransferredEvents { entity, events: moved }).await?;
        if !full {
            return Ok(done);
        }
    }
}

/// Events on their way, put when there are enough of them.
struct TransferBuffer<'a> {
    target: &'a dyn Transfer,
    batch: TransferBatch,
    bytes: usize,
}

impl TransferBuffer<'_> {
    async fn add(&mut self, moved: TransferredEvents) -> Result<()> {
        self.bytes += moved.events.iter().map(|(_, event)| event.data.len() + event.kind.len() + 64).sum::<usize>();
        // A batch holds one piece of a stream at most: pieces replace what is behind their beginning.
        if self.batch.events.last().is_some_and(|last| last.entity == moved.entity) {
            self.send().await?;
        }
        self.batch.events.push(moved);
        if self.bytes >= TRANSFER_BYTES { self.send().await } else { Ok(()) }
    }

    async fn send(&mut self) -> Result<()> {
        self.bytes = 0;
        Ok(self.target.put(std::mem::take(&mut self.batch)).await?)
    }
}

/// Dedup keys and chunks: put again in full, they are few or small beside the events.
async fn copy_beside(source: &dyn Transfer, target: &dyn Transfer) -> Result<()> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let keys = source.all_keys(after.as_deref(), ENTRIES_PER_READ).await?;
        let Some(last) = keys.last() else { break };
        after = Some(last.key.clone());
        target.put(TransferBatch { keys, ..TransferBatch::default() }).await?;
    }
    let progress = Progress::counted("copying logs");
    let (mut after, mut done, total) = (None, 0, source.stats().await?.chunks);
    loop {
        let chunks = source.all_chunks(after, ENTRIES_PER_READ).await?;
        let Some(last) = chunks.last() else { return Ok(()) };
        after = Some((last.owner, last.seq));
        done += chunks.len() as u64;
        let chunks = chunks.into_iter().map(mirror::carried_over).collect();
        target.put(TransferBatch { chunks, ..TransferBatch::default() }).await?;
        progress.at(done, total.max(done));
    }
}

/// Counts, and of every entity version, alarm and state.
async fn compare(source: &dyn Transfer, target: &dyn Transfer) -> Result<()> {
    let (one, other) = (source.stats().await?, target.stats().await?);
    let counts = |stats: &ordo_store::Stats| {
        // What only a store with tables has may be on one side alone.
        let rows: Vec<_> = stats.rows.iter().filter(|(view, _)| !view.is_for_tables_only()).copied().collect();
        (stats.events, stats.entities, stats.alarms, stats.chunks, rows)
    };
    if counts(&one) != counts(&other) {
        return Err(differs(format!("{:?} here, {:?} there", counts(&one), counts(&other))));
    }
    let progress = Progress::counted("comparing");
    let (mut after, mut done) = (None, 0);
    loop {
        let here = source.entities(after, ENTRIES_PER_READ).await?;
        let there = target.entities(after, ENTRIES_PER_READ).await?;
        for ((entity, snapshot), (other, copied)) in here.iter().zip(&there) {
            let same = (entity, snapshot.version, snapshot.alarm) == (other, copied.version, copied.alarm)
                && same_state(&snapshot.state, &copied.state);
            if !same {
                return Err(differs(format!("{entity} is not what it was")));
            }
        }
        let Some((last, _)) = here.last() else { return Ok(()) };
        after = Some(*last);
        done += here.len() as u64;
        progress.at(done, one.entities.max(done));
    }
}

/// An older version may have written the same in other bytes.
fn same_state(one: &[u8], other: &[u8]) -> bool {
    let read = |bytes| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    one == other || read(one).is_some_and(|state| read(other) == Some(state))
}

fn differs(what: String) -> Error {
    Error::failed("the copy differs from its source")
        .detail(what)
        .hint("see whether the source is sound with: ordo store check --store FROM; then copy again to an empty place")
}
