//! The last part of a whole world: nothing goes wrong any more, then nothing is asked any more, then it is looked at.

use std::collections::BTreeMap;

use ordo_engine::codec;
use ordo_model::hook::Delivery;
use ordo_model::incident::Incident;
use ordo_model::monitor::Monitor;
use ordo_model::notification::Notification;
use ordo_model::{EntityId, JobId, Kind};
use ordo_store::{Direction, Fault, KeyRange, Snapshot, Store, View};
use ordo_store_redb::RedbStore;
use serde::de::DeserializeOwned;

use super::director::Cast;
use super::facts::Deed;
use super::node::RunningNode;
use super::scene::versions;
use crate::actors::ready::ready;
use crate::closing;
use crate::record::history::FinalState;

/// How long everything goes well before the world is asked to stand still.
const CALM_MS: i64 = 2 * 60_000;
/// By then at the latest everything must have come to its end once nothing new is asked.
const SETTLE_MS: i64 = 20 * 60_000;
const LOOK_MS: i64 = 5_000;

pub(super) async fn close(cast: &Cast) {
    let scene = &cast.scene;
    cast.nodes.iter().for_each(|node| node.heal_disk());
    scene.be_calm();
    scene.sleep(CALM_MS).await;
    scene.fact(Deed::Quiet);
    cast.users.pause_all().await;
    let since = scene.mono();
    loop {
        scene.sleep(LOOK_MS).await;
        let Some(running) = cast.nodes.iter().find_map(|node| node.running()) else {
            if scene.mono() - since > SETTLE_MS {
                scene.with_history(|history| history.end.unsettled.push("no node is up".into()));
                return;
            }
            continue;
        };
        let open = unsettled(&running.store).unwrap_or_else(|fault| vec![format!("the store cannot be read: {fault}")]);
        if open.is_empty() || scene.mono() - since > SETTLE_MS {
            scene.with_history(|history| history.end.unsettled = open);
            look(cast, &running).await;
            return;
        }
    }
}

async fn look(cast: &Cast, running: &RunningNode) {
    let scene = &cast.scene;
    let mut taken = 0;
    for node in cast.nodes.iter().filter_map(|node| node.running()) {
        taken += node.engine.load().await.pools.iter().map(|(_, running, _)| running).sum::<usize>();
    }
    scene.tail(&running.store);
    let mut end = FinalState::default();
    let found = versions(&running.store);
    closing::look(&running.store, &mut end);
    let kept = found.as_ref().map(|found| kept(&running.store, found.keys())).unwrap_or_default();
    scene.with_history(|history| {
        history.end.kept = kept;
        history.end.slots_taken = taken;
        history.end.differences = end.differences;
        match found {
            Ok(found) => history.end.found = found,
            Err(fault) => history.end.differences.push(fault.to_string()),
        }
    });
}

/// How many runs of each job are listed.
fn kept<'e>(store: &RedbStore, entities: impl Iterator<Item = &'e EntityId>) -> BTreeMap<JobId, usize> {
    let mut kept = BTreeMap::new();
    for job in entities.filter(|entity| entity.kind == Kind::Job) {
        let range = KeyRange::prefix(job.id.as_bytes());
        let rows = ready(store.rows(View::RunsByJob, &range, Direction::Ascending, 100_000));
        kept.insert(JobId(job.id), rows.map_or(0, |rows| rows.len()));
    }
    kept
}

/// What is not at rest.
fn unsettled(store: &RedbStore) -> Result<Vec<String>, Fault> {
    let mut open = Vec::new();
    for (entity, snapshot) in ready(store.entities(None, 1_000_000))? {
        let why = match entity.kind {
            Kind::Job => {
                let job = codec::decode_job(&snapshot.state)?;
                let runs = job.active.len();
                (runs > 0 || !job.outbox.is_empty()).then(|| format!("{runs} runs, {} in its outbox", job.outbox.len()))
            }
            Kind::Incident => {
                let incident: Incident = read(&snapshot)?;
                (!incident.outbox.is_empty()).then(|| format!("{} in its outbox", incident.outbox.len()))
            }
            Kind::Monitor => {
                let monitor: Monitor = read(&snapshot)?;
                (!monitor.outbox.is_empty()).then(|| format!("{} in its outbox", monitor.outbox.len()))
            }
            Kind::Notification => {
                let notification: Notification = read(&snapshot)?;
                notification.is_waiting().then(|| format!("waits for {}", notification.sender))
            }
            Kind::Delivery => {
                let delivery: Delivery = read(&snapshot)?;
                delivery.is_open().then(|| format!("is {}", delivery.status()))
            }
            Kind::Hook
            | Kind::ApiToken
            | Kind::Secret
            | Kind::Executor
            | Kind::Subscription
            | Kind::Silence
            | Kind::Login
            | Kind::EscalationChain
            | Kind::Channel => None,
        };
        open.extend(why.map(|why| format!("{entity}: {why}")));
    }
    Ok(open)
}

fn read<T: DeserializeOwned>(snapshot: &Snapshot) -> Result<T, Fault> {
    serde_json::from_slice(&snapshot.state).map_err(|error| Fault::damaged(error.to_string()))
}
