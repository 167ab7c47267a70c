//! The last scan: the store's own verification, the engine's check, and a reindex that must change nothing.

use std::collections::BTreeMap;

use ordo_engine::check;
use ordo_model::{EntityId, JobId, Timestamp};
use ordo_store::{Direction, DueAlarm, Fault, KeyRange, Row, Snapshot, Store, View};
use ordo_store_redb::RedbStore;

use crate::actors::ready::ready;
use crate::record::history::FinalState;

const ALL: usize = 1_000_000;

/// The version of every stream that has a snapshot.
pub(crate) async fn versions(store: &dyn Store) -> Result<BTreeMap<JobId, u64>, Fault> {
    let entities = store.entities(None, ALL).await?;
    Ok(entities.into_iter().map(|(entity, snapshot)| (JobId(entity.id), snapshot.version)).collect())
}

pub(crate) fn look(store: &RedbStore, end: &mut FinalState) {
    if let Err(fault) = ready(look_at(store, end)) {
        end.differences.push(format!("the store could not be read at the end: {fault}"));
    }
    match store.verify() {
        Ok(verified) => end.differences.extend(verified.findings),
        Err(fault) => end.differences.push(format!("the store could not be verified: {fault}")),
    }
}

async fn look_at(store: &RedbStore, end: &mut FinalState) -> Result<(), Fault> {
    end.found = versions(store).await?;
    end.differences.extend(check::check(store, &mut |_| {}).await?.shown);
    let before = Derived::read(store).await?;
    check::reindex(store, &mut |_| {}).await?;
    let after = Derived::read(store).await?;
    let differences = before.differences(&after);
    end.differences.extend(differences.into_iter().map(|what| format!("a reindex made something else of {what}")));
    Ok(())
}

/// All that follows from the events.
struct Derived {
    entities: Vec<(EntityId, Snapshot)>,
    alarms: Vec<DueAlarm>,
    rows: Vec<(View, Vec<Row>)>,
}

impl Derived {
    /// What differs, in words.
    fn differences(&self, after: &Derived) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.entities.len() != after.entities.len() {
            wrong.push(format!("{} snapshots: {}", self.entities.len(), after.entities.len()));
        }
        let snapshots = self.entities.iter().zip(&after.entities).find(|(before, after)| before != after);
        wrong.extend(snapshots.map(|((entity, _), _)| format!("the snapshot of {entity}")));
        let alarms = self.alarms.iter().zip(&after.alarms).find(|(before, after)| before != after);
        wrong.extend(alarms.map(|(before, after)| format!("the alarm {before:?}: {after:?}")));
        for ((view, before), (_, after)) in self.rows.iter().zip(&after.rows) {
            // What an audit says of events that are gone is not made anew (ADR 0133).
            let is_same = match view {
                View::Audit => after.iter().all(|row| before.contains(row)),
                _ => before == after,
            };
            if !is_same {
                let (name, before, after) = (view.name(), before.len(), after.len());
                wrong.push(format!("{before} rows of {name}, in number or content: {after}"));
            }
        }
        if wrong.is_empty() && self.alarms.len() != after.alarms.len() {
            wrong.push(format!("{} alarms: {}", self.alarms.len(), after.alarms.len()));
        }
        wrong
    }

    async fn read(store: &dyn Store) -> Result<Derived, Fault> {
        let mut rows = Vec::new();
        for view in View::ALL {
            rows.push((view, store.rows(view, &KeyRange::default(), Direction::Ascending, ALL).await?));
        }
        let alarms = store.due(Timestamp::MAX, None, ALL).await?;
        Ok(Derived { entities: store.entities(None, ALL).await?, alarms, rows })
    }
}
