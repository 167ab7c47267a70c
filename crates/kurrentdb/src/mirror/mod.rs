//! Follows the log of all events and appends it, stream by stream, to KurrentDB.
//!
//! Invariant: the position moves on only when every event up to it is there, or is counted as missing, or belongs to a
//! stream that is halted and says so. Whatever fails is tried again from there.

mod feed;
mod halted;

use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ordo_engine::change_hint::ChangeHint;
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_engine::mirror::{MirrorState, MirrorStatus};
use ordo_model::credential::is_published;
use ordo_model::{EntityId, Millis};
use ordo_store::{Fault, Position, StoredEvent};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::appending::{AppendTrouble, Appender, StreamWork, store_trouble};
use crate::backoff;
use crate::connection::{MirrorSession, MirrorTarget};
use crate::ends::StreamEnds;
use crate::progress::{Halted, MirrorProgress};
use crate::record::Record;

pub use feed::Feed;

/// How many events are in memory at a time.
const PAGE: usize = 64;
/// How many streams are written to at once.
const AT_ONCE: usize = 16;
/// What is mirrored again after a crash is what was mirrored in this time.
const SAVE_EVERY: Millis = Millis::from_secs(1);
/// How often a stream that was halted is tried again; besides, whenever the mirror begins.
const RETRY_HALTED_EVERY: Millis = Millis::from_secs(600);
/// With more than these something is wrong with all of them: the mirror waits instead of passing over everything.
const HALTED_MAX: usize = 1_000;

/// A mirror at work.
pub struct Mirror {
    feed: Feed,
    target: MirrorTarget,
    status: watch::Sender<MirrorStatus>,
    session: Option<Arc<MirrorSession>>,
    ends: StreamEnds,
    progress: Option<MirrorProgress>,
    /// Since it was saved; None: there is nothing to save.
    unsaved: Option<Stopwatch>,
    halted_tried: Option<Stopwatch>,
    failures: u32,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror").field("target", &self.target).field("status", &self.status).finish_non_exhaustive()
    }
}

impl Mirror {
    /// Whoever watches sees how it is doing.
    pub fn new(feed: Feed, target: MirrorTarget) -> (Mirror, watch::Receiver<MirrorStatus>) {
        let (status, watched) = watch::channel(MirrorStatus { target: target.shown(), ..MirrorStatus::default() });
        let mirror = Mirror {
            feed,
            target,
            status,
            session: None,
            ends: StreamEnds::default(),
            progress: None,
            unsaved: None,
            halted_tried: None,
            failures: 0,
        };
        (mirror, watched)
    }

    /// Until it is stopped; then it keeps how far it has come.
    pub async fn run(mut self, stop: CancellationToken) {
        if !self.target.is_encrypted() {
            tracing::warn!(target = self.target.shown(), "what is mirrored to KurrentDB is not encrypted on the way");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.work() => {}
        }
        if let Err(AppendTrouble::Halt(why) | AppendTrouble::Failed(why)) = self.save().await {
            tracing::warn!(why, "how far the mirror has come could not be kept; some of it is mirrored again");
        }
    }

    async fn work(&mut self) {
        loop {
            if !self.feed.is_ours() {
                self.stand_by().await;
            }
            match self.step().await {
                Ok(()) => self.note_success(),
                Err(AppendTrouble::Halt(why) | AppendTrouble::Failed(why)) => self.wait_after(why).await,
            }
        }
    }

    fn note_success(&mut self) {
        if self.failures > 0 {
            tracing::info!(target = self.target.shown(), "events are mirrored again");
            self.failures = 0;
            self.status.send_modify(|status| status.last_error = None);
        }
    }

    /// Another node mirrors, and keeps how far it has come: what is known here is old when this one goes on.
    async fn stand_by(&mut self) {
        (self.progress, self.unsaved, self.halted_tried, self.session) = (None, None, None, None);
        self.ends.forget();
        self.show(MirrorState::StandingBy);
        while !self.feed.is_ours() {
            if self.feed.ownership.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    async fn wait_after(&mut self, why: String) {
        // A client that failed once may go on failing: the next try begins with a new one.
        self.session = None;
        self.failures = self.failures.saturating_add(1);
        let delay = backoff::delay(self.failures, getrandom::u64().unwrap_or(0));
        tracing::warn!(target = self.target.shown(), why, retry_in = ?delay, "events could not be mirrored");
        self.status.send_modify(|status| {
            status.state = MirrorState::Failing;
            status.failures += 1;
            status.last_error = Some(why);
        });
        tokio::time::sleep(delay).await;
    }

    /// One page of events, or a rest until there are some.
    async fn step(&mut self) -> Result<(), AppendTrouble> {
        if self.progress.is_none() {
            self.begin().await?;
        }
        if self.halted_tried.is_none_or(|tried| tried.elapsed() >= RETRY_HALTED_EVERY) {
            self.retry_halted().await?;
        }
        // What is said from here on wakes: nothing falls between the look and the rest.
        self.feed.hints = self.feed.hints.resubscribe();
        let position = self.progress().position();
        let events = self.feed.store.events(&position, PAGE).await.map_err(|fault| store_trouble(&fault))?;
        if events.is_empty() {
            self.save().await?;
            self.note_success();
            self.show(MirrorState::CaughtUp);
            self.rest().await;
            return Ok(());
        }
        self.mirror(events).await
    }

    async fn begin(&mut self) -> Result<(), AppendTrouble> {
        let progress =
            MirrorProgress::load(self.feed.store.as_ref(), new_id()).await.map_err(|fault| store_trouble(&fault))?;
        let anew = progress.position().0.is_empty();
        tracing::info!(target = self.target.shown(), anew, "events are mirrored to KurrentDB");
        self.progress = Some(progress);
        self.show(MirrorState::CatchingUp);
        Ok(())
    }

    fn progress(&mut self) -> &mut MirrorProgress {
        self.progress.get_or_insert_with(|| MirrorProgress::new(new_id()))
    }

    /// Until something may have happened.
    async fn rest(&mut self) {
        let has_halted = !self.progress().halted().is_empty();
        let retry = tokio::time::sleep(RETRY_HALTED_EVERY.to_std());
        tokio::pin!(retry);
        loop {
            tokio::select! {
                hint = self.feed.hints.recv() => match hint {
                    Ok(ChangeHint::Log(_)) => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => pending().await,
                },
                changed = self.feed.ownership.changed() => match changed {
                    Ok(()) if self.feed.is_ours() => {}
                    Ok(()) => return,
                    Err(_) => pending().await,
                },
                () = &mut retry, if has_halted => return,
            }
        }
    }

    async fn mirror(&mut self, events: Vec<StoredEvent>) -> Result<(), AppendTrouble> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
        let (waiting_since, through) = (first.at, last.position.clone());
        let position = self.progress().position();
        let spanned = self.feed.store.distance(&position, &through).map_err(|fault| store_trouble(&fault))?;
        let gone = spanned.saturating_sub(events.len() as u64);
        self.status.send_modify(|status| {
            status.waiting_since = Some(waiting_since);
            // One that fails does so until something was mirrored.
            if status.state != MirrorState::Failing {
                status.state = MirrorState::CatchingUp;
            }
        });
        let mut passed = Vec::new();
        let mut works = Vec::new();
        for (entity, records) in by_stream(events).map_err(|fault| store_trouble(&fault))? {
            match self.progress().is_halted(entity) {
                true => passed.push((entity, records.len() as u64, records.back().map_or(0, |last| last.version))),
                false => works.push(StreamWork { entity, records, end: self.ends.get(entity), appended: 0 }),
            }
        }
        let halts = self.append(works).await?;
        if self.progress().halted().len() + halts.len() > HALTED_MAX {
            let why = halts.first().map(|(entity, halted)| format!("{entity}: {}", halted.why)).unwrap_or_default();
            return Err(AppendTrouble::Failed(format!(
                "more than {HALTED_MAX} streams cannot be mirrored, the last {why}"
            )));
        }
        for (entity, halted) in halts {
            tracing::error!(stream = %entity, why = halted.why, "a stream is not mirrored any more; others are");
            self.progress().halt(entity, halted);
        }
        passed.into_iter().for_each(|(entity, count, through)| self.progress().pass_over(entity, count, through));
        self.advance(through, gone).await
    }

    async fn advance(&mut self, through: Position, gone: u64) -> Result<(), AppendTrouble> {
        if gone > 0 {
            tracing::warn!(events = gone, "events were trimmed or purged before they were mirrored");
        }
        self.progress().advance(through, gone);
        self.status.send_modify(|status| status.waiting_since = None);
        self.show(MirrorState::CatchingUp);
        let unsaved = *self.unsaved.get_or_insert_with(Stopwatch::start);
        if unsaved.elapsed() >= SAVE_EVERY { self.save().await } else { Ok(()) }
    }

    /// Appends to many streams at once. Returns those that have to be halted; fails if trying again may help any of them.
    async fn append(&mut self, works: Vec<StreamWork>) -> Result<Vec<(EntityId, Halted)>, AppendTrouble> {
        if works.is_empty() {
            return Ok(Vec::new());
        }
        let appender = self.appender().await?;
        let mut outcomes = stream::iter(works).map(|work| append_one(appender.clone(), work)).buffer_unordered(AT_ONCE);
        let (mut halts, mut failed) = (Vec::new(), None);
        while let Some(outcome) = outcomes.next().await {
            let (work, result) = match outcome {
                Ok(outcome) => outcome,
                Err(trouble) => {
                    failed = Some(trouble);
                    continue;
                }
            };
            self.status.send_modify(|status| status.appended += work.appended);
            if let Some(end) = work.end {
                self.ends.put(work.entity, end);
            }
            match result {
                Ok(()) => {}
                Err(AppendTrouble::Halt(why)) => halts.push((work.entity, halted(&work, why))),
                Err(trouble @ AppendTrouble::Failed(_)) => failed = Some(trouble),
            }
        }
        drop(outcomes);
        failed.map_or(Ok(halts), Err)
    }

    async fn appender(&mut self) -> Result<Appender, AppendTrouble> {
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.session.insert(self.target.open().await.map_err(AppendTrouble::Failed)?).clone(),
        };
        let (store, credentials) = (self.feed.store.clone(), self.target.credentials().cloned());
        Ok(Appender { session, store, credentials, mirror: self.progress().mirror })
    }

    async fn save(&mut self) -> Result<(), AppendTrouble> {
        if let (Some(progress), Some(_)) = (&self.progress, self.unsaved) {
            progress.save(self.feed.store.as_ref()).await.map_err(|fault| store_trouble(&fault))?;
            self.unsaved = None;
        }
        Ok(())
    }

    fn show(&self, state: MirrorState) {
        self.status.send_modify(|status| {
            status.state = state;
            if let Some(progress) = &self.progress {
                (status.missing, status.missing_before) = (progress.missing, progress.missing_before);
                status.halted =
                    progress.halted().iter().map(|(name, halted)| (name.clone(), halted.why.clone())).collect();
            }
        });
    }
}

/// In a task of its own: a client that panics over what it was answered fails that append only.
async fn append_one(
    appender: Appender,
    mut work: StreamWork,
) -> Result<(StreamWork, Result<(), AppendTrouble>), AppendTrouble> {
    let task = tokio::spawn(async move {
        let result = appender.append_all(&mut work).await;
        (work, result)
    });
    let panicked = |_| AppendTrouble::Failed("the client for KurrentDB does not understand the server".into());
    AbortOnDropHandle::new(task).await.map_err(panicked)
}

fn halted(work: &StreamWork, why: String) -> Halted {
    Halted {
        from: work.records.front().map_or(0, |record| record.version),
        through: work.records.back().map_or(0, |record| record.version),
        passed: work.records.len() as u64,
        why,
    }
}

type MirroredStreams = BTreeMap<EntityId, VecDeque<Record>>;

/// What may be seen of them, in order within each stream.
fn by_stream(events: Vec<StoredEvent>) -> Result<MirroredStreams, Fault> {
    let mut streams = MirroredStreams::new();
    for event in events.into_iter().filter(|event| is_published(event.entity.kind)) {
        streams.entry(event.entity).or_default().push_back(Record::of(event)?);
    }
    Ok(streams)
}
