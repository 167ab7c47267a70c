//! All that goes into outboxes comes out: nothing lost, nothing unexpected, in order; and nobody waits for a bad sender.
//!
//! `ORDO_OUTBOX_MESSAGES=100000` is the full count; without it a short one runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use common::World;
use common::recorder::Recorder;
use ordo_engine::clock::Stopwatch;
use ordo_engine::{CommitExtras, EngineOptions, OutgoingMessage, SendError, Sender, Senders, Sent};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, Severity, StartIncident};
use ordo_model::notification::Message;
use ordo_model::{EntityId, Kind, Millis};
use tokio::sync::Notify;
use uuid::Uuid;

const MESSAGES_DEFAULT: usize = 600;
const CHANGES_PER_INCIDENT: usize = 20;
const WRITERS: usize = 32;

fn by() -> By {
    By::new("ana", IncidentSource::Api)
}

fn start() -> StartIncident {
    StartIncident {
        title: "down".into(),
        description: String::new(),
        severity: Severity::Sev3,
        identifier: None,
        generation: 0,
        links: Vec::new(),
        escalation: None,
        by: by(),
    }
}

async fn world(senders: &Senders) -> World {
    let tick_rate = Millis::from_ms(200);
    World::with(EngineOptions { tick_rate, senders: senders.clone(), ..EngineOptions::default() }).await
}

/// Starts an incident and adds notes: so many messages.
async fn work(world: &World, messages: usize) -> Uuid {
    let id = world.engine.start_incident(start(), |_| CommitExtras::default()).await.unwrap().state.id;
    for number in 1..messages {
        let note = IncidentCommand::AddNote { text: format!("note {number}"), by: by() };
        world.engine.command::<Incident>(id, note).await.unwrap();
    }
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_into_the_outboxes_comes_out_of_a_faulty_sender_once_and_in_order() {
    let asked = std::env::var("ORDO_OUTBOX_MESSAGES").ok().and_then(|text| text.parse().ok());
    let messages: usize = asked.unwrap_or(MESSAGES_DEFAULT);
    let (good, faulty) = (Recorder::new("good").shared(), Recorder::new("faulty").failing_every(7).shared());
    let senders = Senders::default();
    senders.register(good.clone());
    senders.register(faulty.clone());
    let world = Arc::new(world(&senders).await);
    let watch = Stopwatch::start();
    let left = Arc::new(AtomicUsize::new(messages / CHANGES_PER_INCIDENT));
    let writers = (0..WRITERS).map(|_| {
        let (world, left) = (world.clone(), left.clone());
        tokio::spawn(async move {
            let mut ids = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                ids.push(work(&world, CHANGES_PER_INCIDENT).await);
            }
            ids
        })
    });
    let mut ids = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        ids.extend(writer.await.unwrap());
    }
    let accepted = watch.elapsed();
    let wanted = ids.len() * CHANGES_PER_INCIDENT;
    for sender in [&good, &faulty] {
        // A disk that others keep busy takes a tenth of a second for a commit.
        let patience = Duration::from_secs(300 + messages as u64 / 100);
        tokio::time::timeout(patience, sender.until(|sender| sender.delivered_count() >= wanted)).await.unwrap();
        check(sender, &ids);
    }
    println!("{wanted} messages accepted in {accepted}, delivered twice in {}", watch.elapsed());
    world.assert_clean().await;
}

fn check(sender: &Recorder, ids: &[Uuid]) {
    let delivered = sender.delivered();
    let expected: BTreeSet<EntityId> = ids.iter().map(|id| EntityId { kind: Kind::Incident, id: *id }).collect();
    let unexpected = delivered.keys().filter(|entity| !expected.contains(entity)).count();
    assert_eq!((unexpected, delivered.len()), (0, expected.len()));
    for (entity, versions) in &delivered {
        assert!(versions.is_sorted(), "{entity} was sent out of order: {versions:?}");
        let distinct: BTreeSet<&u64> = versions.iter().collect();
        assert_eq!((distinct.len(), versions.len()), (CHANGES_PER_INCIDENT, CHANGES_PER_INCIDENT), "{entity}");
    }
    let mut keys: BTreeMap<(EntityId, u64), BTreeSet<String>> = BTreeMap::new();
    for one in sender.tries() {
        keys.entry((one.entity, one.version)).or_default().insert(one.key);
    }
    assert!(keys.values().all(|keys| keys.len() == 1), "one key for each event, however often it is tried");
}

/// Takes as long as the test says, and then fails if that was long.
struct Gate {
    name: &'static str,
    takes_ms: AtomicU64,
    taken: AtomicUsize,
    news: Notify,
}

impl Gate {
    fn new(name: &'static str) -> Arc<Gate> {
        Arc::new(Gate { name, takes_ms: AtomicU64::new(0), taken: AtomicUsize::new(0), news: Notify::new() })
    }

    async fn until(&self, count: usize) {
        loop {
            let news = self.news.notified();
            if self.taken.load(Ordering::SeqCst) >= count {
                return;
            }
            news.await;
        }
    }
}

#[async_trait]
impl Sender for Gate {
    fn name(&self) -> &str {
        self.name
    }

    fn wants(&self, _: &Message) -> bool {
        true
    }

    async fn send(&self, _: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let takes_ms = self.takes_ms.load(Ordering::SeqCst);
        if takes_ms > 0 {
            tokio::time::sleep(Duration::from_millis(takes_ms)).await;
            return Err(SendError::passing("it never answers"));
        }
        self.taken.fetch_add(1, Ordering::SeqCst);
        self.news.notify_waiters();
        Ok(Sent::default())
    }
}

/// How long it takes until the good sender has sent so many new incidents.
async fn round(world: &World, good: &Gate, bad: &Gate, bad_takes_ms: u64) -> Millis {
    const INCIDENTS: usize = 200;
    bad.takes_ms.store(bad_takes_ms, Ordering::SeqCst);
    let before = good.taken.load(Ordering::SeqCst);
    let watch = Stopwatch::start();
    let started = (0..INCIDENTS).map(|_| work(world, 1));
    futures_util::future::join_all(started).await;
    good.until(before + INCIDENTS).await;
    watch.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_hangs_does_not_delay_another() {
    let (good, bad) = (Gate::new("good"), Gate::new("bad"));
    let senders = Senders::default();
    senders.register(good.clone());
    senders.register(bad.clone());
    let world = world(&senders).await;
    round(&world, &good, &bad, 0).await;
    let (mut calm, mut troubled) = (Millis::from_hours(1), Millis::from_hours(1));
    let mut ratio = f64::MAX;
    // In turn, and the best of each: a machine that is busy with something else for a while is given more rounds.
    for number in 1..=12 {
        calm = calm.min(round(&world, &good, &bad, 0).await);
        troubled = troubled.min(round(&world, &good, &bad, 5_000).await);
        ratio = troubled.ms() as f64 / calm.ms().max(1) as f64;
        if number >= 3 && ratio <= 1.2 {
            break;
        }
    }
    println!("calm {calm}, beside a hanging sender {troubled}: ratio {ratio:.2}");
    assert!(ratio <= 1.2, "the good sender took {troubled} beside a hanging one, {calm} otherwise");
}
