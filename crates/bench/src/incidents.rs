//! Incidents: what acknowledging a change costs beside a bare commit of a job, and how fast news are handed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_engine::{CommitExtras, Engine, OutgoingMessage, SendError, Sender, Sent};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentSource, Severity, StartIncident};
use ordo_model::job::Command;
use ordo_model::notification::Message;
use ordo_model::{JobId, Millis};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::schedule::command;
use super::stage::{BenchStage, Ground, Scratch};

const AHEAD: Millis = Millis::from_hours(1);
const CLIENTS: usize = 64;

/// Takes everything and does nothing.
#[derive(Debug, Default)]
struct Sink {
    taken: AtomicUsize,
    news: Notify,
}

#[async_trait]
impl Sender for Sink {
    fn name(&self) -> &str {
        "sink"
    }

    fn wants(&self, _: &Message) -> bool {
        true
    }

    async fn send(&self, _: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.news.notify_waiters();
        Ok(Sent::default())
    }

    fn concurrency(&self) -> usize {
        CLIENTS
    }
}

fn by() -> By {
    By::new("bench", IncidentSource::Api)
}

fn start() -> StartIncident {
    StartIncident {
        title: "bench".into(),
        description: "x".repeat(85),
        severity: Severity::Sev3,
        identifier: None,
        generation: 0,
        links: Vec::new(),
        escalation: None,
        by: by(),
    }
}

pub(super) async fn measure(ground: &Ground, changes: usize) -> anyhow::Result<Value> {
    let mut rates = Vec::new();
    for clients in [1, CLIENTS] {
        let count = if clients == 1 { changes / 20 } else { changes };
        let (mut bare, mut acknowledged) = (f64::MAX, f64::MAX);
        // Side by side and three times, so that a noisy moment of the machine hits both.
        for _ in 0..3 {
            bare = bare.min(micros(ground, clients, count, Thing::Job).await?);
            acknowledged = acknowledged.min(micros(ground, clients, count, Thing::Incident).await?);
        }
        let ratio = (acknowledged / bare * 100.0).round() / 100.0;
        let (job_us, incident_us) = (bare.round(), acknowledged.round());
        rates.push(json!({ "clients": clients, "job_us": job_us, "incident_us": incident_us, "ratio": ratio }));
    }
    Ok(json!({ "acknowledge": rates, "outbox": outbox(ground, changes).await? }))
}

#[derive(Debug, Clone, Copy)]
enum Thing {
    Job,
    Incident,
}

/// Microseconds from asking for a change to its acknowledgement: each client changes one thing after another.
async fn micros(ground: &Ground, clients: usize, count: usize, thing: Thing) -> anyhow::Result<f64> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let each = (count / clients).max(1);
    let mut making = Vec::new();
    for _ in 0..clients {
        let engine = stage.engine.clone();
        making.push(tokio::spawn(async move {
            let mut things = Vec::new();
            for _ in 0..each {
                things.push(make(&engine, thing).await?);
            }
            anyhow::Ok(things)
        }));
    }
    let mut made = Vec::new();
    for things in making {
        made.push(things.await??);
    }
    at_rest(&stage, thing, clients * each).await;
    let watch = Stopwatch::start();
    let mut tasks = Vec::new();
    for ids in made {
        let engine = stage.engine.clone();
        tasks.push(tokio::spawn(async move {
            for id in ids {
                change(&engine, id, thing).await?;
            }
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let micros = watch.elapsed_micros() as f64 / each as f64;
    stage.close().await;
    scratch.remove().await?;
    Ok(micros)
}

/// What the making left to be handed on is handed on.
async fn at_rest(stage: &BenchStage, thing: Thing, made: usize) {
    let mut watch = stage.engine.watch();
    while matches!(thing, Thing::Incident) && stage.engine.metrics().outbox_lag_ms.count() < made as u64 {
        // Lagging or not, it is time to look again.
        drop(watch.recv().await);
    }
}

async fn make(engine: &Engine, thing: Thing) -> anyhow::Result<Uuid> {
    match thing {
        Thing::Job => {
            let (id, schedule) = command(engine.clock().now().plus(AHEAD));
            engine.submit(id, schedule).await?;
            Ok(id.0)
        }
        Thing::Incident => Ok(engine.start_incident(start(), |_| CommitExtras::default()).await?.state.id),
    }
}

async fn change(engine: &Engine, id: Uuid, thing: Thing) -> anyhow::Result<()> {
    match thing {
        Thing::Job => {
            let patch = Map::from_iter([("description".to_owned(), json!("changed"))]);
            engine.submit(JobId(id), Command::Update { patch, if_revision: None, if_followed: None }).await?;
        }
        Thing::Incident => {
            engine.command::<Incident>(id, IncidentCommand::SetSeverity { severity: Severity::Sev1, by: by() }).await?;
        }
    }
    Ok(())
}

/// So many incidents started, each sent to one sender: from the first start to the last delivery.
async fn outbox(ground: &Ground, count: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let sink = Arc::new(Sink::default());
    stage.engine.senders().register(sink.clone());
    let watch = Stopwatch::start();
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let engine = stage.engine.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..count / CLIENTS {
                engine.command::<Incident>(new_id(), IncidentCommand::Start(Box::new(start()))).await?;
            }
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let (wanted, accepted) = (count / CLIENTS * CLIENTS, watch.elapsed());
    loop {
        let news = sink.news.notified();
        if sink.taken.load(Ordering::Relaxed) >= wanted {
            break;
        }
        news.await;
    }
    let rate = wanted as f64 * 1e6 / watch.elapsed_micros().max(1) as f64;
    stage.close().await;
    scratch.remove().await?;
    Ok(json!({ "messages": wanted, "accepted_ms": accepted.ms(), "delivered_per_s": rate.round() }))
}
