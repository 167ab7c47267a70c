//! Streams that were halted: tried again, and caught up with when nothing stands in their way any more.

use ordo_engine::clock::Stopwatch;
use ordo_model::EntityId;
use ordo_store::Fault;

use super::{Mirror, PAGE};
use crate::appending::{AppendTrouble, StreamWork, store_trouble};
use crate::progress::Halted;
use crate::record::Record;

impl Mirror {
    /// Streams that were halted go on if nothing stands in their way any more.
    pub(super) async fn retry_halted(&mut self) -> Result<(), AppendTrouble> {
        for (name, before) in self.progress().halted().clone() {
            let Ok(entity) = name.parse::<EntityId>() else { continue };
            let (caught_up, still) = self.catch_up(entity, &before).await?;
            match still {
                None => {
                    tracing::info!(stream = %entity, events = caught_up, "a stream is mirrored again");
                    self.progress().resume(entity, caught_up);
                }
                Some(halted) => {
                    let passed = before.passed.saturating_sub(caught_up);
                    self.progress().halt(entity, Halted { passed, through: before.through, ..halted });
                }
            }
            self.unsaved.get_or_insert_with(Stopwatch::start);
        }
        self.halted_tried = Some(Stopwatch::start());
        Ok(())
    }

    /// From the first event that is not there on. How many of those that were passed over are there now, and what
    /// still stands in the way.
    async fn catch_up(&mut self, entity: EntityId, before: &Halted) -> Result<(u64, Option<Halted>), AppendTrouble> {
        let (mut from, mut caught_up) = (before.from, 0);
        loop {
            let page = self.feed.store.history(entity, from, PAGE).await.map_err(|fault| store_trouble(&fault))?;
            let Some(last) = page.events.last() else { return Ok((caught_up, None)) };
            let next = last.version + 1;
            let versions: Vec<u64> = page.events.iter().map(|event| event.version).collect();
            let records = page.events.into_iter().map(Record::of).collect::<Result<_, Fault>>();
            let records = records.map_err(|fault| store_trouble(&fault))?;
            let work = StreamWork { entity, records, end: None, appended: 0 };
            let halted = self.append(vec![work]).await?.pop().map(|(_, halted)| halted);
            let there = halted.as_ref().map_or(next, |halted| halted.from);
            let is_caught_up = |version: &&u64| **version < there && **version <= before.through;
            caught_up += versions.iter().filter(is_caught_up).count() as u64;
            if halted.is_some() {
                return Ok((caught_up, halted));
            }
            from = next;
        }
    }
}
