//! The log as somebody outside reads it: every event once, as soon as it is there.

use ordo_engine::codec::{self, Recorded};
use ordo_model::JobId;
use ordo_model::job::Event;
use ordo_store::Store;

use crate::actors::ready::ready;
use crate::record::history::FactKind;
use crate::world::Simulation;

impl Simulation {
    /// Reads what an earlier failure left in the log, before anything is added to it.
    pub(crate) fn catch_up(&mut self, store: &dyn Store) {
        if self.behind {
            self.tail(store, None);
        }
    }

    /// Reads what is new in the log. `acked`: when that was decided of which the store just said that it is durable.
    pub(crate) fn tail(&mut self, store: &dyn Store, acked: Option<i64>) {
        self.behind = true;
        // A disk that fails just now is read again later; nothing is lost by that.
        while let Ok(page) = ready(store.events(&self.cursor, 200)) {
            let Some(last) = page.last() else {
                self.behind = false;
                break;
            };
            self.cursor = last.position.clone();
            for stored in &page {
                let (job, at) = (JobId(stored.entity.id), stored.at.ms());
                match codec::decode_event(stored).expect("what is in the log can be read") {
                    Recorded::Happened(event) => self.logged(job, stored.version, at, acked == Some(at), event),
                    Recorded::Checkpoint(_) => {}
                }
            }
        }
    }

    fn logged(&mut self, job: JobId, version: u64, at: i64, acked: bool, event: Event) {
        match &event {
            Event::JobTriggered { run_id, .. } => {
                self.active.insert(*run_id);
                self.client.runs.push((job, *run_id));
            }
            Event::JobStarted { run_id, token, .. } => self.client.started.push((job, *run_id, token.0)),
            Event::JobExecuted { run_id, .. }
            | Event::RunCancelled { run_id, .. }
            | Event::JobFailed { run_id, retry_at: None, .. } => {
                self.active.remove(run_id);
            }
            _ => {}
        }
        self.fact(FactKind::Logged { job, version, at, acked, event: Box::new(event) });
    }
}
