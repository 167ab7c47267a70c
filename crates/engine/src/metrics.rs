//! Counters of what the engine did since it started.

use std::sync::atomic::{AtomicU64, Ordering};

use ordo_model::job::{Event, RunStatus};

use crate::planner::Accepted;

#[derive(Debug, Default)]
pub struct Metrics {
    pub rounds: AtomicU64,
    pub orders: AtomicU64,
    pub round_micros: AtomicU64,
    pub triggered: AtomicU64,
    pub late: AtomicU64,
    pub skipped: AtomicU64,
    pub completed: AtomicU64,
    pub failed: AtomicU64,
}

impl Metrics {
    pub fn round(&self, orders: usize, micros: u64) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.orders.fetch_add(orders as u64, Ordering::Relaxed);
        self.round_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub fn accepted(&self, accepted: &Accepted) {
        for event in &accepted.events {
            match event {
                Event::JobTriggered { timeliness, .. } => {
                    self.triggered.fetch_add(1, Ordering::Relaxed);
                    if !timeliness.is_on_time() {
                        self.late.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Event::JobSkipped { gap, .. } => {
                    self.skipped.fetch_add(gap.map_or(1, |gap| gap.count), Ordering::Relaxed);
                }
                Event::JobExecuted { .. } => drop(self.completed.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
        }
        let failed = accepted.runs.iter().filter(|run| matches!(run.status, RunStatus::Failed { .. })).count();
        self.failed.fetch_add(failed as u64, Ordering::Relaxed);
    }

    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
