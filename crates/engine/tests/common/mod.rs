//! A real engine on a real store in a temporary folder, with tools that tests can steer.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod counting;
pub mod recorder;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ordo_engine::clock::{SharedClock, SystemClock};
use ordo_engine::log_reader::LogReader;
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_engine::{Engine, EngineOptions, Tools};
use ordo_model::LogStream;
use ordo_model::job::{Command, Definition, Job, Run, RunStatus};
use ordo_model::{JobId, Millis, RunId};
use ordo_store_redb::RedbStore;
use serde_json::{Value, json};

pub struct World {
    pub folder: tempfile::TempDir,
    pub engine: Engine,
    pub options: EngineOptions,
    pub clock: SharedClock,
}

/// Completes at once.
struct Noop;
/// Says something, and completes.
struct Talk;
/// Runs until it is cancelled.
struct Hang;
/// Fails as often as its input says, then completes.
struct Flaky(AtomicU32);
/// Logs what it was given, and returns its input.
struct Echo;
/// Logs what it was given, and fails because of it.
struct Complain;
/// Returns a result of as many bytes as its input says.
struct Big;

#[async_trait]
impl Tool for Noop {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        Ok(work.input)
    }
}

#[async_trait]
impl Tool for Talk {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        for n in 0..5_000 {
            work.log.line(LogStream::Stdout, &format!("line {n}"));
        }
        Ok(Value::Null)
    }
}

#[async_trait]
impl Tool for Hang {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        work.cancel.cancelled().await;
        Err(Failure::new("cancelled"))
    }
}

#[async_trait]
impl Tool for Flaky {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let times = work.input["times"].as_u64().unwrap_or(0);
        let tried = self.0.fetch_add(1, Ordering::SeqCst);
        if u64::from(tried) < times { Err(Failure::new(format!("try {tried}"))) } else { Ok(json!(tried)) }
    }
}

#[async_trait]
impl Tool for Echo {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let given = work.input["and"][0].as_str().unwrap_or_default();
        work.log.line(LogStream::Stdout, &format!("said {given}"));
        Ok(json!({ "bytes": given.len(), "input": work.input }))
    }
}

#[async_trait]
impl Tool for Complain {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let given = work.input["and"][0].as_str().unwrap_or_default();
        work.log.line(LogStream::Stderr, &format!("said {given}"));
        Err(Failure::new(format!("cannot log in with {given}")))
    }
}

#[async_trait]
impl Tool for Big {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let bytes = work.input["bytes"].as_u64().unwrap_or(0);
        Ok(json!("x".repeat(usize::try_from(bytes).unwrap_or(0))))
    }
}

/// Returns what came with its delivery.
struct Unpack;

#[async_trait]
impl Tool for Unpack {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let Some(payload) = work.payload else { return Ok(Value::Null) };
        let sum: u64 = payload.body.iter().zip(1_u64..).map(|(byte, place)| u64::from(*byte) * place).sum();
        let event = payload.header("x-github-event");
        Ok(json!({ "hook": payload.hook, "event": event, "bytes": payload.body.len(), "sum": sum }))
    }
}

pub fn tools() -> Tools {
    let mut tools = Tools::new();
    tools.insert("noop".into(), Arc::new(Noop));
    tools.insert("talk".into(), Arc::new(Talk));
    tools.insert("hang".into(), Arc::new(Hang));
    tools.insert("flaky".into(), Arc::new(Flaky(AtomicU32::new(0))));
    tools.insert("echo".into(), Arc::new(Echo));
    tools.insert("big".into(), Arc::new(Big));
    tools.insert("unpack".into(), Arc::new(Unpack));
    tools.insert("complain".into(), Arc::new(Complain));
    tools
}

impl World {
    pub async fn new() -> World {
        World::with(EngineOptions { tick_rate: Millis::from_ms(200), ..EngineOptions::default() }).await
    }

    pub async fn with(options: EngineOptions) -> World {
        World::on(options, Arc::new(SystemClock)).await
    }

    pub async fn on(options: EngineOptions, clock: SharedClock) -> World {
        let folder = tempfile::tempdir().unwrap();
        let engine = start(&folder, &options, clock.clone()).await;
        World { folder, engine, options, clock }
    }

    /// The process dies without a word and comes back.
    pub async fn restart(self) -> World {
        self.engine.shutdown(Duration::ZERO).await;
        let World { folder, engine, options, clock } = self;
        drop(engine);
        let engine = start(&folder, &options, clock.clone()).await;
        World { folder, engine, options, clock }
    }

    pub async fn add(&self, definition: Value) -> Job {
        let definition: Definition = serde_json::from_value(definition).unwrap();
        Job::clone(&self.engine.schedule(definition, false).await.unwrap().job)
    }

    pub async fn trigger(&self, job: JobId) -> RunId {
        self.engine.submit(job, Command::Trigger { tool_input: None, traceparent: None }).await.unwrap().runs[0].id
    }

    /// Waits until a run looks as wanted; fails the test after a while.
    pub async fn run_until(&self, id: RunId, wanted: impl Fn(&Run) -> bool) -> Run {
        let mut watch = self.engine.watch();
        let look = async {
            loop {
                if let Some(run) = self.engine.queries().run_with_result(id).await.unwrap()
                    && wanted(&run)
                {
                    return run;
                }
                drop(watch.recv().await);
            }
        };
        tokio::time::timeout(Duration::from_secs(10), look).await.expect("the run never looked as wanted")
    }

    pub async fn over(&self, id: RunId) -> Run {
        self.run_until(id, |run| run.status.is_terminal()).await
    }

    /// Waits until the job has that many finished runs, and returns all of its runs, oldest first.
    pub async fn finished(&self, job: JobId, count: usize) -> Vec<Run> {
        let mut watch = self.engine.watch();
        let look = async {
            loop {
                let mut runs = self.runs(job).await;
                runs.retain(|run| run.status.is_terminal());
                if runs.len() >= count {
                    return runs;
                }
                drop(watch.recv().await);
            }
        };
        tokio::time::timeout(Duration::from_secs(10), look).await.expect("the runs never finished")
    }

    pub async fn runs(&self, job: JobId) -> Vec<Run> {
        let filter = ordo_engine::run_list::RunFilter { job_id: Some(job), ..Default::default() };
        let mut runs = self.engine.queries().runs(&filter, None, 1_000).await.unwrap().items;
        runs.reverse();
        runs
    }

    /// What a run said.
    pub async fn lines(&self, run: RunId) -> Vec<String> {
        let mut reader = LogReader::after(self.engine.queries().store().clone(), run, None);
        reader.next().await.unwrap().into_iter().map(|line| line.line.text).collect()
    }

    /// The engine goes on meanwhile, and what it writes between two reads of the check is a difference of that moment:
    /// only one that stays is a real one.
    pub async fn assert_clean(&self) {
        let store = self.engine.queries().store().clone();
        let mut shown = Vec::new();
        for _ in 0..10 {
            let report = ordo_engine::check::check(store.as_ref(), &mut |_| {}).await.unwrap();
            if report.is_clean() {
                return;
            }
            shown = report.shown;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("{shown:#?}");
    }
}

async fn start(folder: &tempfile::TempDir, options: &EngineOptions, clock: SharedClock) -> Engine {
    let path = folder.path().join("orchestrator.db");
    let store = RedbStore::open(&path, Default::default()).unwrap();
    Engine::start(Arc::new(store), tools(), clock, options.clone()).await.unwrap()
}

pub fn manual(tool: &str, input: &Value) -> Value {
    json!({ "label": "test", "tool_name": tool, "tool_input": input, "trigger": { "type": "manual" } })
}

pub fn every(tool: &str, every: &str) -> Value {
    json!({ "label": "test", "tool_name": tool, "trigger": { "type": "scheduled", "every": every } })
}

pub fn failed(run: &Run) -> Option<&str> {
    match &run.status {
        RunStatus::Failed { reason } => Some(reason),
        _ => None,
    }
}
