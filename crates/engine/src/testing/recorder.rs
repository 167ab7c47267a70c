//! Senders that tests can steer: they record what they got and fail as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ordo_model::notification::Message;
use ordo_model::{EntityId, Millis};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::world::PATIENCE;
use crate::{OutgoingMessage, Retries, SendError, Sender, Sent};

/// One try, as the sender saw it.
#[derive(Debug, Clone)]
pub struct Try {
    pub entity: EntityId,
    pub version: u64,
    pub event: String,
    pub key: String,
    pub attempt: u32,
    pub remembered: Option<Value>,
    pub ok: bool,
}

#[derive(Debug)]
pub struct Recorder {
    name: &'static str,
    retries: Retries,
    /// Nothing is sent while it is closed; a try that came waits.
    gate: watch::Sender<bool>,
    /// Tries that came to the gate.
    came: AtomicUsize,
    tries: Mutex<Vec<Try>>,
    /// What comes of the next tries; when it is empty, they succeed.
    plan: Mutex<VecDeque<Result<Sent, SendError>>>,
    /// Tries of which every so manieth fails.
    fails_every: Option<usize>,
    /// How many tries succeeded: counted, because it is asked for after every one.
    delivered: AtomicUsize,
    news: Notify,
}

impl Recorder {
    pub fn new(name: &'static str) -> Recorder {
        Recorder {
            name,
            retries: Retries::doubling(Millis::from_ms(20), Millis::from_ms(100), 4),
            gate: watch::Sender::new(true),
            came: AtomicUsize::new(0),
            tries: Mutex::default(),
            plan: Mutex::default(),
            fails_every: None,
            delivered: AtomicUsize::new(0),
            news: Notify::new(),
        }
    }

    /// From now on no try comes to its end, until the gate is opened.
    pub fn close(&self) {
        self.gate.send_replace(false);
    }

    pub fn open(&self) {
        self.gate.send_replace(true);
    }

    /// How many tries there were, with those that wait at the gate and those that never came to their end.
    pub fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }

    pub fn failing_every(mut self, count: usize) -> Recorder {
        self.fails_every = Some(count);
        self.retries = Retries::doubling(Millis::from_ms(5), Millis::from_ms(20), 50);
        self
    }

    pub fn shared(self) -> Arc<Recorder> {
        Arc::new(self)
    }

    pub fn plan(&self, outcomes: impl IntoIterator<Item = Result<Sent, SendError>>) {
        self.plan.lock().unwrap().extend(outcomes);
    }

    pub fn tries(&self) -> Vec<Try> {
        self.tries.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.tries.lock().unwrap().len()
    }

    pub fn delivered_count(&self) -> usize {
        self.delivered.load(Ordering::SeqCst)
    }

    /// What was delivered about each entity, in the order it came.
    pub fn delivered(&self) -> BTreeMap<EntityId, Vec<u64>> {
        let mut delivered: BTreeMap<EntityId, Vec<u64>> = BTreeMap::new();
        for one in self.tries().into_iter().filter(|one| one.ok) {
            delivered.entry(one.entity).or_default().push(one.version);
        }
        delivered
    }

    pub fn delivered_events(&self) -> Vec<String> {
        self.tries().into_iter().filter(|one| one.ok).map(|one| one.event).collect()
    }

    /// Waits until what was seen is as wanted.
    pub async fn until(&self, wanted: impl Fn(&Recorder) -> bool) {
        let look = async {
            loop {
                let news = self.news.notified();
                if wanted(self) {
                    return;
                }
                news.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE * 10, look).await;
        assert!(
            waited.is_ok(),
            "{} never saw what was wanted: {:?}",
            self.name,
            self.tries().iter().rev().take(5).collect::<Vec<_>>()
        );
    }
}

#[async_trait]
impl Sender for Recorder {
    fn name(&self) -> &str {
        self.name
    }

    fn wants(&self, _: &Message) -> bool {
        true
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        self.came.fetch_add(1, Ordering::SeqCst);
        self.news.notify_waiters();
        // The gate lives as long as the recorder.
        drop(self.gate.subscribe().wait_for(|is_open| *is_open).await);
        let planned = self.plan.lock().unwrap().pop_front();
        let number = self.count() + 1;
        let fails = self.fails_every.is_some_and(|every| number.is_multiple_of(every));
        let outcome =
            planned.unwrap_or_else(|| if fails { Err(SendError::passing("by turns")) } else { Ok(Sent::default()) });
        self.tries.lock().unwrap().push(Try {
            entity: outgoing.message.entity(),
            version: outgoing.message.version,
            event: outgoing.message.event().to_owned(),
            key: outgoing.key.to_owned(),
            attempt: outgoing.attempt,
            remembered: outgoing.remembered.cloned(),
            ok: outcome.is_ok(),
        });
        self.delivered.fetch_add(usize::from(outcome.is_ok()), Ordering::SeqCst);
        self.news.notify_waiters();
        outcome
    }

    /// Longer than any test: whoever waits for a closed gate waits for ever.
    fn timeout(&self) -> Millis {
        Millis::from_hours(1)
    }

    fn retries(&self) -> Retries {
        self.retries.clone()
    }
}
