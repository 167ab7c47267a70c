//! The load: jobs that beat, and everything that comes and goes beside them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::samples::count;
use crate::lab::clock::{now_ms, pause};
use crate::lab::node::OrdoProcess;
use crate::lab::random::SeededRandom;
use crate::lab::socket::SocketClient;

const BEATING: usize = 40;
const TALKING: usize = 4;
/// Jobs that came and were deleted are forgotten after this, runs that are older too.
const RETENTION: &str = "1m";
const BETWEEN_MS: (i64, i64) = (50, 250);
/// How many of the jobs that come and go are there, at least and at most.
const STAYING: (usize, usize) = (10, 30);
/// How long an executor stays.
const EXECUTOR_MS: (i64, i64) = (8_000, 25_000);

/// What was done, by name; and how much of it is kept by design.
#[derive(Debug, Default, Clone)]
pub(super) struct LoadDone {
    pub(super) jobs: u64,
    pub(super) changes: u64,
    pub(super) triggers: u64,
    pub(super) hooks: u64,
    pub(super) deliveries: u64,
    pub(super) incidents: u64,
    pub(super) reads: u64,
    pub(super) followers: u64,
    pub(super) executors: u64,
    pub(super) refused: Vec<String>,
}

impl LoadDone {
    /// Deliveries are remembered for a week, incidents for good; each change leaves its line in the audit.
    pub(super) fn kept(&self) -> u64 {
        self.deliveries + self.incidents + self.hooks
    }
}

impl std::fmt::Display for LoadDone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LoadDone { jobs, changes, triggers, hooks, deliveries, incidents, reads, followers, executors, .. } = self;
        write!(
            f,
            "came and went: {jobs} jobs ({changes} changes, {triggers} triggers), {hooks} hooks with {deliveries} deliveries, \
             {incidents} incidents, {followers} followers, {executors} executors; {reads} reads"
        )
    }
}

pub(super) struct SoakLoad {
    stop: Arc<AtomicBool>,
    churn: JoinHandle<Result<LoadDone>>,
    executors: JoinHandle<Result<u64>>,
}

impl SoakLoad {
    pub(super) fn begin(
        binary: &Path,
        folder: &Path,
        daemon: &OrdoProcess,
        mut chance: SeededRandom,
    ) -> Result<SoakLoad> {
        let client = daemon.client();
        for number in 0..BEATING {
            create(&client, &noop(&format!("beat-{number}"), "1s", "default"))?;
        }
        for number in 0..TALKING {
            create(&client, &talking(number))?;
        }
        create(&client, &noop("away", "1s", "away"))?;
        create(&client, &failing())?;
        let stop = Arc::new(AtomicBool::new(false));
        let token = std::fs::read_to_string(daemon.folder().join(".ordo/token")).context("reading the token")?;
        let said = daemon.said();
        let url = said
            .lines()
            .find_map(|line| line.strip_prefix("ordo is ready at "))
            .context("the daemon named no address")?;
        let executor_args = ["executor", "--server", url, "--group", "away", "--grace", "5s"];
        let executor = OrdoProcess::new("executor", binary, &folder.join("executor"), &executor_args)?
            .with("ORDO_TOKEN", token.trim());
        let (flag, own) = (Arc::clone(&stop), chance.fork());
        let executors = std::thread::spawn(move || come_and_go(executor, own, &flag));
        let flag = Arc::clone(&stop);
        let churn = std::thread::spawn(move || {
            Churn { client, chance, done: LoadDone::default(), made: Vec::new() }.work(&flag)
        });
        Ok(SoakLoad { stop, churn, executors })
    }

    /// Whether somebody has given up.
    pub(super) fn has_ended(&self) -> bool {
        self.churn.is_finished() || self.executors.is_finished()
    }

    pub(super) fn end(self) -> Result<LoadDone> {
        self.stop.store(true, Ordering::Relaxed);
        let mut done = self.churn.join().map_err(|_| anyhow!("the churn panicked"))??;
        done.executors = self.executors.join().map_err(|_| anyhow!("the executors panicked"))??;
        Ok(done)
    }
}

/// One executor after the other; most leave as they should, some are killed.
fn come_and_go(mut executor: OrdoProcess, mut chance: SeededRandom, stop: &AtomicBool) -> Result<u64> {
    let mut came = 0;
    while !stop.load(Ordering::Relaxed) {
        executor.begin()?;
        came += 1;
        let until = now_ms() + chance.between(EXECUTOR_MS.0, EXECUTOR_MS.1);
        while now_ms() < until && !stop.load(Ordering::Relaxed) {
            pause(200);
        }
        if chance.percent(20) {
            executor.kill();
        } else {
            executor.stop()?;
        }
    }
    // What waits for an executor gets one.
    executor.begin()?;
    pause(20_000);
    executor.stop()?;
    Ok(came)
}

struct Churn {
    client: SocketClient,
    chance: SeededRandom,
    done: LoadDone,
    /// Ids of jobs that came and have not gone yet.
    made: Vec<String>,
}

impl Churn {
    fn work(mut self, stop: &AtomicBool) -> Result<LoadDone> {
        while !stop.load(Ordering::Relaxed) {
            self.something()?;
            pause(self.chance.between(BETWEEN_MS.0, BETWEEN_MS.1));
        }
        for id in std::mem::take(&mut self.made) {
            self.ask("DELETE", &format!("/v1/jobs/{id}"), &Value::Null)?;
        }
        // Whatever beats stops, so that everything can come to its end.
        for job in self.client.items("/v1/jobs?state=active")? {
            let id = job["id"].as_str().context("a job without an id")?.to_owned();
            self.ask("DELETE", &format!("/v1/jobs/{id}"), &Value::Null)?;
        }
        Ok(self.done)
    }

    fn something(&mut self) -> Result<()> {
        match self.chance.between(0, 99) {
            0..=24 => self.job_comes(),
            25..=34 => self.job_changes(),
            35..=44 => self.job_is_triggered(),
            45..=59 => self.job_goes(),
            60..=69 => self.hook(),
            70..=75 => self.incident(),
            76..=80 => self.follow(),
            _ => self.read(),
        }
    }

    fn job_comes(&mut self) -> Result<()> {
        // Whoever comes goes again, or the load itself would grow.
        if self.made.len() >= STAYING.1 {
            return self.job_goes();
        }
        self.done.jobs += 1;
        let every = self.chance.one_of(&["700ms", "2s", "1h"]);
        let job = noop(&format!("churn-{}", self.done.jobs), every, "default");
        if let Some(body) = self.ask("POST", "/v1/jobs", &job)? {
            self.made.push(body["id"].as_str().context("no id")?.to_owned());
        }
        Ok(())
    }

    fn any(&mut self) -> Option<String> {
        if self.made.is_empty() {
            return None;
        }
        Some(self.made[self.chance.index(self.made.len())].clone())
    }

    fn job_changes(&mut self) -> Result<()> {
        let Some(id) = self.any() else { return Ok(()) };
        self.done.changes += 1;
        let change = json!({ "priority": self.chance.between(0, 9), "description": "changed ".repeat(20) });
        self.ask("PATCH", &format!("/v1/jobs/{id}"), &change)?;
        self.ask("POST", &format!("/v1/jobs/{id}/pause"), &json!({}))?;
        self.ask("POST", &format!("/v1/jobs/{id}/resume"), &json!({}))?;
        Ok(())
    }

    fn job_is_triggered(&mut self) -> Result<()> {
        let Some(id) = self.any() else { return Ok(()) };
        self.done.triggers += 1;
        self.ask("POST", &format!("/v1/jobs/{id}/trigger"), &json!({})).map(drop)
    }

    fn job_goes(&mut self) -> Result<()> {
        // A few stay, so that there is something to change.
        if self.made.len() < STAYING.0 {
            return Ok(());
        }
        let index = self.chance.index(self.made.len());
        let id = self.made.swap_remove(index);
        self.ask("DELETE", &format!("/v1/jobs/{id}"), &Value::Null).map(drop)
    }

    fn hook(&mut self) -> Result<()> {
        self.done.hooks += 1;
        let slug = format!("hook-{}", self.done.hooks);
        self.ask("POST", "/v1/hooks", &json!({ "slug": slug }))?;
        for number in 0..3 {
            self.done.deliveries += 1;
            self.ask("POST", &format!("/hooks/{slug}"), &json!({ "number": number, "text": "payload ".repeat(50) }))?;
        }
        self.ask("DELETE", &format!("/v1/hooks/{slug}"), &Value::Null).map(drop)
    }

    fn incident(&mut self) -> Result<()> {
        self.done.incidents += 1;
        let incident = json!({ "title": format!("soak {}", self.done.incidents), "description": "made by the soak", "severity": "sev3" });
        let Some(body) = self.ask("POST", "/v1/incidents", &incident)? else { return Ok(()) };
        let id = body["id"].as_str().context("no id")?.to_owned();
        self.ask("POST", &format!("/v1/incidents/{id}/notes"), &json!({ "text": "looked at" }))?;
        self.ask("POST", &format!("/v1/incidents/{id}/status"), &json!({ "status": "resolved" })).map(drop)
    }

    /// Somebody who listens for a moment and goes away without a word.
    fn follow(&mut self) -> Result<()> {
        self.done.followers += 1;
        drop(self.client.events(None)?);
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        self.done.reads += 1;
        let path = self.chance.one_of(&[
            "/v1/runs?limit=200",
            "/v1/jobs?limit=200",
            "/v1/incidents",
            "/v1/notifications",
            "/v1/executors",
            "/openapi.json",
        ]);
        let page = self.client.get(path)?;
        if path.starts_with("/v1/runs")
            && count(&page) > 0
            && let Some(run) = page["items"][0]["id"].as_str()
        {
            self.client.get(&format!("/v1/runs/{run}"))?;
        }
        Ok(())
    }

    /// A refusal is kept for the report: this load asks for nothing that should be refused.
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Result<Option<Value>> {
        let answer = self.client.ask(method, path, (!body.is_null()).then_some(body), None)?;
        if answer.is_success() {
            return Ok(Some(answer.body));
        }
        self.done.refused.push(format!("{method} {path}: {} {}", answer.status, answer.body));
        Ok(None)
    }
}

fn create(client: &SocketClient, job: &Value) -> Result<()> {
    let answer = client.ask("POST", "/v1/jobs", Some(job), None)?;
    if !answer.is_success() {
        bail!("refused: {job}: {}", answer.body);
    }
    Ok(())
}

fn job(label: &str, every: &str, group: &str) -> Value {
    json!({
        "label": label, "group": group, "trigger": { "type": "scheduled", "every": every },
        "retention": { "runs": 20, "age": RETENTION },
    })
}

fn noop(label: &str, every: &str, group: &str) -> Value {
    let mut job = job(label, every, group);
    job["tool_name"] = json!("noop");
    job
}

fn talking(number: usize) -> Value {
    let mut job = job(&format!("talk-{number}"), "3s", "default");
    job["tool_name"] = json!("shell");
    let script =
        "i=0; while [ $i -lt 40 ]; do echo \"line $i of what this job has to say, again and again\"; i=$((i+1)); done";
    job["tool_input"] = json!({ "script": script });
    job
}

/// Fails now and then, and opens an incident that its recovery resolves.
fn failing() -> Value {
    let mut job = job("fail", "20s", "default");
    job["tool_name"] = json!("shell");
    job["tool_input"] = json!({ "script": "[ $(( $(date +%s) / 60 % 2 )) -eq 0 ]" });
    job["on_failure"] = json!({ "incident": { "severity": "sev4", "after": 2, "resolve_on_recovery": true } });
    job
}
