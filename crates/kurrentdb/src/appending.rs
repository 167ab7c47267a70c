//! Appends the events of one stream, in order, each behind the one before it.
//!
//! Invariant: every append names the revision that is expected. Where the server says that it is another, the end of
//! the stream decides what is there already and where to go on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kurrentdb::{AppendToStreamOptions, Credentials, Error, ReadStreamOptions, StreamPosition, StreamState};
use ordo_model::EntityId;
use ordo_store::{Fault, Store, Version};
use uuid::Uuid;

use crate::connection::MirrorSession;
use crate::position::{Placement, Tail, needed_from, place};
use crate::record::{Mirrored, Record};

/// An append stays below the 1 MiB that a server takes by default.
const APPEND_MAX_BYTES: usize = 512 * 1024;
/// An answer that does not come within this time is given up; the append is repeated, and recognised.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How often the end of a stream is looked at for one append: somebody may append at the same time.
const LOOKS_MAX: usize = 3;

/// The end of a stream as it was when this mirror last wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamEnd {
    pub(crate) version: Version,
    pub(crate) revision: u64,
}

/// Events of one stream that are to be appended.
pub(crate) struct StreamWork {
    pub(crate) entity: EntityId,
    pub(crate) records: VecDeque<Record>,
    pub(crate) end: Option<StreamEnd>,
    /// How many of its events were appended by now.
    pub(crate) appended: u64,
}

/// Why a stream did not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppendTrouble {
    /// Nothing helps but somebody who looks at it.
    Halt(String),
    /// Trying again may help.
    Failed(String),
}

/// What all streams are written with.
#[derive(Clone)]
pub(crate) struct Appender {
    pub(crate) session: Arc<MirrorSession>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) mirror: Uuid,
}

impl Appender {
    /// Until nothing is left, or something stands in the way: then the rest stays in `work`.
    pub(crate) async fn append_all(&self, work: &mut StreamWork) -> Result<(), AppendTrouble> {
        while !work.records.is_empty() {
            let count = fitting(&work.records);
            let records: Vec<Record> = work.records.iter().take(count).cloned().collect();
            self.append(work, &records).await?;
            work.records.drain(..count);
        }
        Ok(())
    }

    async fn append(&self, work: &mut StreamWork, records: &[Record]) -> Result<(), AppendTrouble> {
        if let Some(behind) = expected(work.end, records)
            && self.append_behind(work, records, behind).await?
        {
            return Ok(());
        }
        for _ in 0..LOOKS_MAX {
            let tail = self.tail(work.entity, needed_from(records)).await?;
            let (rest, behind) = match place(records, &tail) {
                Placement::Append { from, behind } => (&records[from..], behind),
                Placement::Conflict(conflict) => return Err(AppendTrouble::Halt(conflict.to_string())),
            };
            if rest.is_empty() {
                work.end = end_of(&tail);
                return Ok(());
            }
            if self.append_behind(work, rest, behind).await? {
                return Ok(());
            }
        }
        Err(AppendTrouble::Failed(format!("{} changes in KurrentDB while it is written to", work.entity)))
    }

    /// False: the stream ends at another revision.
    async fn append_behind(
        &self,
        work: &mut StreamWork,
        records: &[Record],
        behind: Option<u64>,
    ) -> Result<bool, AppendTrouble> {
        let state = behind.map_or(StreamState::NoStream, StreamState::StreamRevision);
        let options = AppendToStreamOptions::default().stream_state(state);
        let options = match &self.credentials {
            Some(credentials) => options.authenticated(credentials.clone()),
            None => options,
        };
        let events: Vec<_> = records.iter().map(|record| record.to_event(self.mirror)).collect();
        let answer = self.session.client.append_to_stream(work.entity.to_string(), &options, events);
        match in_time(answer).await {
            Ok(written) => {
                work.appended += records.len() as u64;
                let version = records.last().map_or(0, |record| record.version);
                work.end = Some(StreamEnd { version, revision: written.next_expected_version });
                Ok(true)
            }
            Err(Error::WrongExpectedVersion { .. }) => Ok(false),
            Err(error) => Err(trouble(&error)),
        }
    }

    /// The end of a stream, down to this version.
    async fn tail(&self, entity: EntityId, from: Version) -> Result<Tail, AppendTrouble> {
        let options = ReadStreamOptions::default().position(StreamPosition::End);
        let options = match &self.credentials {
            Some(credentials) => options.authenticated(credentials.clone()),
            None => options,
        };
        let mut reading = match in_time(self.session.client.read_stream(entity.to_string(), &options)).await {
            Ok(reading) => reading,
            Err(Error::ResourceNotFound) => return Ok(Tail::Empty),
            Err(error) => return Err(trouble(&error)),
        };
        let mut events: Vec<Mirrored> = Vec::new();
        loop {
            let found = match in_time(reading.next()).await {
                Ok(Some(found)) => found,
                Ok(None) | Err(Error::ResourceNotFound) => break,
                Err(error) => return Err(trouble(&error)),
            };
            let found = found.get_original_event();
            let Some(event) = Mirrored::of(entity, found) else {
                if events.is_empty() {
                    return Ok(Tail::Foreign { revision: found.revision });
                }
                break;
            };
            if events.last().is_some_and(|later| later.version <= event.version) {
                break;
            }
            let is_enough = event.version <= from;
            events.push(event);
            if is_enough {
                break;
            }
        }
        let Some(last) = events.first().copied() else { return Ok(Tail::Empty) };
        let is_known = last.mirror == self.mirror || self.is_own(entity, &last).await?;
        Ok(Tail::Ours { events, is_known })
    }

    /// Whether the store has this very event: then another mark on it only says that the progress was lost.
    async fn is_own(&self, entity: EntityId, event: &Mirrored) -> Result<bool, AppendTrouble> {
        let page = self.store.history(entity, event.version, 1).await.map_err(|fault| store_trouble(&fault))?;
        let own = page.events.into_iter().next().map(Record::of).transpose().map_err(|fault| store_trouble(&fault))?;
        Ok(own.is_some_and(|own| own.id == event.id))
    }
}

/// What the stream should end with; None: only a look at it can tell.
fn expected(end: Option<StreamEnd>, records: &[Record]) -> Option<Option<u64>> {
    let first = records.first()?;
    match end {
        Some(end) if end.version + 1 == first.version => Some(Some(end.revision)),
        // A checkpoint stands for what was trimmed: how far the stream goes in KurrentDB is not known from it.
        Some(_) => None,
        None if first.is_checkpoint() => None,
        None => Some(first.version.checked_sub(2)),
    }
}

/// How many of the first go into one append: one at least.
fn fitting(records: &VecDeque<Record>) -> usize {
    let mut bytes = 0;
    let fits = |record: &&Record| {
        bytes += record.bytes();
        bytes <= APPEND_MAX_BYTES
    };
    records.iter().take_while(fits).count().max(1)
}

fn end_of(tail: &Tail) -> Option<StreamEnd> {
    match tail {
        Tail::Ours { events, .. } => {
            events.first().map(|last| StreamEnd { version: last.version, revision: last.revision })
        }
        Tail::Empty | Tail::Foreign { .. } => None,
    }
}

async fn in_time<T>(answer: impl Future<Output = kurrentdb::Result<T>>) -> kurrentdb::Result<T> {
    tokio::time::timeout(ANSWER_WITHIN, answer).await.unwrap_or(Err(Error::DeadlineExceeded))
}

/// What gRPC calls an argument that will never do: here an event that is larger than the server takes.
const INVALID_ARGUMENT: i32 = 3;

fn trouble(error: &Error) -> AppendTrouble {
    match error {
        Error::ResourceDeleted => AppendTrouble::Halt("the stream was deleted for good in KurrentDB".into()),
        Error::Grpc { code, message } if i32::from(*code) == INVALID_ARGUMENT => {
            AppendTrouble::Halt(format!("KurrentDB refuses the event: {message}"))
        }
        Error::AccessDenied => AppendTrouble::Failed(
            "KurrentDB denies access: see to user and password of sinks.kurrentdb.connection".into(),
        ),
        other => AppendTrouble::Failed(other.to_string()),
    }
}

pub(crate) fn store_trouble(fault: &Fault) -> AppendTrouble {
    AppendTrouble::Failed(ordo_engine::error_chain(fault))
}

#[cfg(test)]
mod tests {
    use ordo_engine::codec::CHECKPOINT;
    use ordo_model::Kind;

    use super::*;
    use crate::record::tests::stored;

    fn record(version: Version, kind: &str, bytes: usize) -> Record {
        Record::of(stored(Kind::Job, version, kind, &format!("\"{}\"", "x".repeat(bytes)))).unwrap()
    }

    #[test]
    fn the_revision_that_is_expected_follows_from_the_version() {
        let first = |version| [record(version, "JobTriggered", 1)];
        assert_eq!(expected(None, &first(1)), Some(None), "the stream begins");
        assert_eq!(expected(None, &first(2)), Some(Some(0)));
        assert_eq!(expected(None, &first(9)), Some(Some(7)));
        let end = Some(StreamEnd { version: 8, revision: 3 });
        assert_eq!(expected(end, &first(9)), Some(Some(3)), "after a gap the end is remembered");
        assert_eq!(expected(end, &first(8)), None);
        assert_eq!(expected(None, &[record(9, CHECKPOINT, 1)]), None);
        assert_eq!(expected(end, &[record(9, CHECKPOINT, 1)]), Some(Some(3)));
    }

    #[test]
    fn an_append_is_as_large_as_it_may_be_and_never_empty() {
        let large = || record(1, "JobTriggered", APPEND_MAX_BYTES / 3);
        assert_eq!(fitting(&VecDeque::from([large(), large(), large(), large()])), 2);
        assert_eq!(fitting(&VecDeque::from([record(1, "JobTriggered", 2 * APPEND_MAX_BYTES), large()])), 1);
    }
}
