//! The definitions that a job has had, as far as its events are kept.
//!
//! Cost: the stream of the job up to its last revision, which of most jobs is its first event; in reads of a thousand
//! events and at most [`REVISION_EVENTS_MAX`] of them. A change of the definition is rare among the events of runs, and an
//! index of it would be written by every job that never changes.

use std::sync::Arc;

use ordo_model::job::{Definition, Event, Job};
use ordo_model::{Actor, EntityId, Timestamp};
use ordo_store::{Fault, Version};

use crate::commit::encoding::actor::actor_of;
use crate::commit::encoding::codec::{self, CHECKPOINT};
use crate::read::queries::Queries;

/// The first read: a job that was never changed needs no other.
const EVENTS_READ_FIRST: usize = 32;
const EVENTS_PER_READ: usize = 1_000;
/// How many events are looked at for the revisions of one job.
pub const REVISION_EVENTS_MAX: usize = 50_000;

/// One definition of a job.
#[derive(Debug, Clone)]
pub struct Revision {
    /// The first is 1.
    pub revision: u64,
    pub version: Version,
    pub at: Timestamp,
    /// None: the event that made it was folded away, with who did it.
    pub actor: Option<Actor>,
    pub definition: Arc<Definition>,
}

/// Those that are kept, newest first.
#[derive(Debug, Clone, Default)]
pub struct Revisions {
    pub kept: Vec<Revision>,
    /// More events than are looked at: the newest may be missing.
    pub is_cut: bool,
}

impl Queries {
    /// Those up to the one that the job is at.
    pub async fn revisions(&self, job: &Job) -> Result<Revisions, Fault> {
        let entity = EntityId::from(job.id);
        let (mut kept, mut from, mut seen): (Vec<Revision>, _, _) = (Vec::new(), 0, 0);
        let mut count = EVENTS_READ_FIRST;
        loop {
            let (events, _) = self.history(entity, from, count).await?;
            for stored in &events {
                from = stored.version + 1;
                let number = kept.last().map_or(1, |last| last.revision + 1);
                let (at, version) = (stored.at, stored.version);
                match stored.kind.as_str() {
                    CHECKPOINT => {
                        let mut folded: Option<Job> = None;
                        codec::fold(&mut folded, stored)?;
                        kept.extend(folded.map(|job| {
                            let Job { revision, definition, .. } = job;
                            Revision { revision, version, at, actor: None, definition }
                        }));
                    }
                    "JobScheduled" | "JobUpdated" => {
                        if let codec::Recorded::Happened(
                            Event::JobScheduled { definition, .. } | Event::JobUpdated { definition, .. },
                        ) = codec::decode_event(stored)?
                        {
                            kept.push(Revision {
                                revision: number,
                                version,
                                at,
                                actor: Some(actor_of(stored)?),
                                definition,
                            });
                        }
                    }
                    _ => {}
                }
            }
            seen += events.len();
            let is_whole = events.len() < count || kept.last().is_some_and(|last| last.revision >= job.revision);
            if is_whole || seen >= REVISION_EVENTS_MAX {
                kept.reverse();
                return Ok(Revisions { kept, is_cut: !is_whole });
            }
            count = EVENTS_PER_READ;
        }
    }
}
