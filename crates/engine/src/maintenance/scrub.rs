//! The scrub: everything that is stored is read and held against what its events say, a little at a time.
//!
//! Invariant: however large the store, every stream is read within SCRUB_WITHIN; a step costs a bounded part of that.
//! A difference is reported only if nobody wrote to the entity while it was looked at.

use std::time::Duration;

use ordo_model::EntityId;
use ordo_model::limits::{SCRUB_EVERY, SCRUB_WITHIN};
use ordo_store::{Fault, Store, Version};

use crate::commit::batcher::chain;
use crate::engine::Engine;
use crate::maintenance::check;

/// A step reads at least this many streams: small stores are read in a few steps.
const STREAMS_MIN: u64 = 200;
/// How often an entity that differs is looked at again. One that is written to all the while is left to the next round.
const LOOKS: u32 = 3;
const LOOK_PAUSE: Duration = Duration::from_millis(500);

/// Where the scrub has come to.
#[derive(Debug, Default)]
pub(crate) struct Scrub {
    after: Option<EntityId>,
}

/// What one step saw.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) streams: u64,
    pub(crate) differences: Vec<String>,
    /// It came to the end of the store.
    pub(crate) is_whole: bool,
}

impl Scrub {
    pub(crate) async fn step(&mut self, store: &dyn Store) -> Result<Step, Fault> {
        let streams = usize::try_from(share(store.estimate().await?.entities)).unwrap_or(usize::MAX);
        let look = check::look_at_some(store, self.after, streams).await?;
        let mut differences = Vec::new();
        for entity in look.differing {
            differences.extend(lasting_differences(store, entity).await?);
        }
        self.after = look.last;
        Ok(Step { streams: look.streams, differences, is_whole: look.last.is_none() })
    }
}

/// What is wrong with an entity that nobody changed while it was looked at. All that follows from an entity is committed
/// with its version.
async fn lasting_differences(store: &dyn Store, entity: EntityId) -> Result<Vec<String>, Fault> {
    for _ in 0..LOOKS {
        let before = version(store, entity).await?;
        let report = check::look_at_one(store, entity).await?;
        if report.is_clean() {
            break;
        }
        if version(store, entity).await? == before {
            return Ok(report.shown);
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    Ok(Vec::new())
}

async fn version(store: &dyn Store, entity: EntityId) -> Result<Option<Version>, Fault> {
    Ok(store.load(&[entity]).await?.pop().flatten().map(|snapshot| snapshot.version))
}

/// So many streams a step, that all of them are read in time.
fn share(streams: u64) -> u64 {
    let steps = SCRUB_WITHIN.ms() / SCRUB_EVERY.ms();
    streams.div_ceil(steps).max(STREAMS_MIN)
}

/// Goes on for as long as the engine lives.
pub(crate) async fn run(engine: Engine) {
    let mut every = tokio::time::interval(SCRUB_EVERY.to_std());
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    every.tick().await;
    let mut scrub = Scrub::default();
    loop {
        every.tick().await;
        match scrub.step(engine.queries().store().as_ref()).await {
            Ok(step) => {
                for difference in &step.differences {
                    tracing::error!(
                        difference,
                        "the store contradicts itself: see ordo store check, then ordo store reindex"
                    );
                }
                engine.metrics().scrubbed(step.streams, step.differences.len() as u64);
            }
            Err(fault) => tracing::error!(error = %chain(&fault), "the scrub could not read the store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_streams_there_are_all_are_read_in_time() {
        let steps = SCRUB_WITHIN.ms() / SCRUB_EVERY.ms();
        for streams in [0, 1, 10_000, 1_000_000, 50_000_000] {
            assert!(share(streams) * steps >= streams, "{streams}");
        }
        assert_eq!(share(10), STREAMS_MIN);
    }
}
