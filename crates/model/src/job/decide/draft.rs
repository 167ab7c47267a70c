//! A decision in the making: each event moves the job at once, so the next choice sees its effect.

use super::Decided;
use crate::id::RunId;
use crate::job::apply::apply;
use crate::job::event::Event;
use crate::job::run::Run;
use crate::job::state::Job;
use crate::job::verdict::Thresholds;
use crate::time::Timestamp;

pub(super) struct Draft {
    pub(super) job: Job,
    pub(super) now: Timestamp,
    events: Vec<Event>,
    runs: Vec<Run>,
    /// A step of the clock that is recorded with the next run: until then nothing is measured by it.
    pub(super) clock: Option<Event>,
    thresholds: Thresholds,
}

impl Draft {
    pub(super) fn new(job: Job, now: Timestamp) -> Draft {
        // Most decisions are one event about one run.
        let (events, runs) = (Vec::with_capacity(1), Vec::with_capacity(1));
        Draft { job, now, events, runs, clock: None, thresholds: Thresholds::TODAY }
    }

    pub(super) fn emit(&mut self, mut event: Event) {
        if matches!(event, Event::JobTriggered { .. })
            && let Some(step) = self.clock.take()
        {
            self.emit(step);
        }
        self.thresholds.judge(&mut event, &self.job, self.now);
        let touched = apply(&mut self.job, &event, self.now).expect("decide names only runs that the job has");
        if let Some(run) = touched {
            match self.runs.iter_mut().find(|known| known.id == run.id) {
                Some(known) => *known = run,
                None => self.runs.push(run),
            }
        }
        self.events.push(event);
    }

    /// The id of the next run.
    pub(super) fn next_run_id(&self) -> RunId {
        RunId::derive(self.job.id, self.job.run_count + 1, self.now)
    }

    pub(super) fn finish(self) -> Decided {
        Decided { job: self.job, events: self.events, runs: self.runs }
    }
}
