//! How far the mirror has come, kept in the store beside the events.
//!
//! Invariant: it never runs ahead. What it says is mirrored is mirrored; what was mirrored since it was written is
//! mirrored again, and recognised.

use std::collections::BTreeMap;

use ordo_engine::mirror::MIRROR_PROGRESS;
use ordo_model::EntityId;
use ordo_store::{Batch, Chunk, Fault, Position, Store, Version};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A stream that is not mirrored until what stands in its way is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Halted {
    /// The first event that is not there.
    pub(crate) from: Version,
    /// The last one that was passed over, and how many were.
    pub(crate) through: Version,
    pub(crate) passed: u64,
    pub(crate) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MirrorProgress {
    /// Marks what this mirror writes; drawn when it first begins.
    pub(crate) mirror: Uuid,
    /// Everything up to here is in KurrentDB, or counted below. Named as [`ordo_engine::mirror::POSITION`] says.
    #[serde(default)]
    position: Option<String>,
    #[serde(default)]
    pub(crate) missing: u64,
    #[serde(default)]
    pub(crate) missing_before: u64,
    #[serde(default)]
    halted: BTreeMap<String, Halted>,
}

impl MirrorProgress {
    pub(crate) fn new(mirror: Uuid) -> MirrorProgress {
        MirrorProgress { mirror, position: None, missing: 0, missing_before: 0, halted: BTreeMap::new() }
    }

    /// As it was left; new, with this mark, where there is none.
    pub(crate) async fn load(store: &dyn Store, mirror: Uuid) -> Result<MirrorProgress, Fault> {
        let chunk = store.chunks(MIRROR_PROGRESS, 0, 1).await?.pop();
        let Some(chunk) = chunk.filter(|chunk| !chunk.bytes.is_empty()) else { return Ok(MirrorProgress::new(mirror)) };
        let mut progress: MirrorProgress = serde_json::from_slice(&chunk.bytes)
            .map_err(|error| Fault::damaged(format!("the progress of the mirror cannot be read: {error}")))?;
        if let Err(Fault::NotAPosition { .. }) = store.distance(&progress.position(), &progress.position()) {
            tracing::warn!("the mirror's position is one of another store: everything is gone through once more");
            progress.position = None;
        }
        Ok(progress)
    }

    pub(crate) async fn save(&self, store: &dyn Store) -> Result<(), Fault> {
        let bytes = serde_json::to_vec(self).expect("progress is plain data");
        let chunk = Chunk { owner: MIRROR_PROGRESS, seq: 0, bytes };
        store.commit(Batch { items: Vec::new(), chunks: vec![chunk] }).await.map(drop)
    }

    pub(crate) fn position(&self) -> Position {
        Position(self.position.clone().unwrap_or_default())
    }

    /// Everything up to `position` was seen to; `gone` events between here and there were not there any more.
    pub(crate) fn advance(&mut self, position: Position, gone: u64) {
        match self.position.is_some() {
            true => self.missing += gone,
            false => self.missing_before += gone,
        }
        self.position = Some(position.0);
    }

    pub(crate) fn is_halted(&self, entity: EntityId) -> bool {
        self.halted.contains_key(&entity.to_string())
    }

    pub(crate) fn halted(&self) -> &BTreeMap<String, Halted> {
        &self.halted
    }

    pub(crate) fn halt(&mut self, entity: EntityId, halted: Halted) {
        self.halted.insert(entity.to_string(), halted);
    }

    /// Events of a halted stream, up to this one.
    pub(crate) fn pass_over(&mut self, entity: EntityId, events: u64, through: Version) {
        if let Some(halted) = self.halted.get_mut(&entity.to_string()) {
            halted.passed += events;
            halted.through = halted.through.max(through);
        }
    }

    /// The stream is mirrored again. `caught_up` of the events that were passed over were still there.
    pub(crate) fn resume(&mut self, entity: EntityId, caught_up: u64) {
        if let Some(halted) = self.halted.remove(&entity.to_string()) {
            self.missing += halted.passed.saturating_sub(caught_up);
        }
    }
}

#[cfg(test)]
mod tests {
    use ordo_engine::mirror::POSITION;
    use ordo_model::Kind;

    use super::*;

    fn stream() -> EntityId {
        EntityId { kind: Kind::Job, id: Uuid::from_u128(1) }
    }

    #[test]
    fn what_is_gone_before_the_first_start_is_counted_apart() {
        let mut progress = MirrorProgress::new(Uuid::nil());
        progress.advance(Position("5".into()), 3);
        progress.advance(Position("9".into()), 1);
        assert_eq!((progress.missing_before, progress.missing, progress.position().0.as_str()), (3, 1, "9"));
    }

    #[test]
    fn of_a_halted_stream_only_what_is_gone_when_it_goes_on_is_missing() {
        let mut progress = MirrorProgress::new(Uuid::nil());
        progress.halt(stream(), Halted { from: 4, through: 5, passed: 2, why: "foreign".into() });
        progress.pass_over(stream(), 3, 8);
        assert_eq!(progress.halted()[&stream().to_string()].through, 8);
        progress.resume(stream(), 4);
        assert_eq!((progress.missing, progress.is_halted(stream())), (1, false));
    }

    #[test]
    fn the_position_is_written_under_the_name_that_a_copy_leaves_out() {
        let mut progress = MirrorProgress::new(Uuid::nil());
        progress.advance(Position("5".into()), 0);
        let written = serde_json::to_value(&progress).unwrap();
        assert_eq!(written[POSITION], "5");
    }
}
