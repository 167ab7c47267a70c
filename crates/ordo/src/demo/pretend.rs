//! A tool that only pretends for the jobs of the made-up fleet; whatever else is asked of it, the real one does.
//!
//! Invariant: a job of the fleet starts no process and calls no address, whenever and wherever it runs.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::clock::{Clock, SystemClock};
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_model::{LogStream, Millis, Timestamp};
use serde_json::Value;

use super::fleet::{Fleet, FleetJob, PretendedRun, seed};
use super::set_time::SetTime;

/// How time passes for whoever pretends to work.
#[derive(Clone)]
pub(super) enum DemoTime {
    /// By hand, while the history is made.
    Set(Arc<SetTime>),
    /// By itself.
    Real,
}

impl DemoTime {
    fn now(&self) -> Timestamp {
        match self {
            DemoTime::Set(time) => time.now(),
            DemoTime::Real => SystemClock.now(),
        }
    }

    async fn pass(&self, length: Millis) {
        match self {
            DemoTime::Set(time) => time.until(time.now().plus(length)).await,
            DemoTime::Real => tokio::time::sleep(length.to_std()).await,
        }
    }
}

pub(super) struct Pretend {
    pub(super) fleet: Arc<Fleet>,
    /// When the demo was started.
    pub(super) started: Timestamp,
    pub(super) pace: DemoTime,
    /// For jobs that are not of the fleet.
    pub(super) real: Option<Arc<dyn Tool>>,
}

#[async_trait]
impl Tool for Pretend {
    fn check(&self, input: &Value) -> Result<(), String> {
        self.real.as_ref().map_or(Ok(()), |real| real.check(input))
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        match (self.fleet.job(&work.label, &work.input), &self.real) {
            (Some(job), _) => {
                let cancel = work.cancel.clone();
                tokio::select! {
                    done = self.perform(job, work) => done,
                    () = cancel.cancelled() => Err(Failure::new("stopped")),
                }
            }
            (None, Some(real)) => real.run(work).await,
            (None, None) => Err(Failure::new("this tool only works for the jobs of the demo")),
        }
    }

    async fn sweep(&self) -> Result<usize, std::io::Error> {
        match &self.real {
            Some(real) => real.sweep().await,
            None => Ok(0),
        }
    }
}

impl Pretend {
    async fn perform(&self, job: &FleetJob, work: Work) -> Result<Value, Failure> {
        let at = work.scheduled_for.unwrap_or_else(|| self.pace.now());
        let shard = work.shard.map_or(0, |shard| u64::from(shard.index) << 32);
        let seed = seed(job.label(), at) ^ shard;
        let run = PretendedRun { scheduled_for: work.scheduled_for, seed, attempt: work.attempt };
        let failing = job.act.failure(&run, self.started);
        let lines = failing.map_or(&job.act.says, |failing| &failing.says);
        self.say(&work, lines, job.act.length(seed.wrapping_add(u64::from(work.attempt)))).await;
        match failing {
            Some(failing) => Err(Failure::new(failing.reason.clone())),
            None => Ok(job.act.result.clone()),
        }
    }

    /// The lines, spread over the whole time. In the history all but the last come at once: who looks at the seconds
    /// between them?
    async fn say(&self, work: &Work, lines: &[String], length: Millis) {
        let steps = lines.len().max(1) as u64;
        match (&self.pace, lines.split_last()) {
            (DemoTime::Set(_), Some((last, first))) => {
                first.iter().for_each(|line| work.log.line(LogStream::Stdout, line));
                self.pace.pass(length).await;
                work.log.line(LogStream::Stdout, last);
            }
            (DemoTime::Real | DemoTime::Set(_), _) => {
                for line in lines {
                    work.log.line(LogStream::Stdout, line);
                    self.pace.pass(Millis::from_ms(length.ms() / steps)).await;
                }
            }
        }
    }
}
