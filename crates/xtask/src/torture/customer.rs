//! Whoever uses the system meanwhile: creates, pauses, resumes, cancels and triggers jobs, and looks at runs.
//!
//! Invariant: what was asked is asked again, under the same key, until it is answered. So each deed happened once, at
//! some moment between the first question and the answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::jobs::{CustomerDeed, DeedKind, JobMaker, OrderedJob, TortureJob};
use crate::lab::clock::{now_ms, pause};
use crate::lab::random::SeededRandom;
use crate::lab::socket::{ApiAnswer, SocketClient};

/// Longer than any fault.
const ASKED_FOR_MS: i64 = 120_000;
const BETWEEN_DEEDS_MS: (i64, i64) = (150, 700);

#[derive(Debug)]
pub(super) struct Customer {
    clients: Vec<SocketClient>,
    chance: SeededRandom,
    maker: JobMaker,
    evidence: PathBuf,
    pub(super) jobs: Vec<OrderedJob>,
    /// Which job is to be resumed when.
    pauses: Vec<(usize, i64)>,
    /// How runs had ended when they were looked at.
    pub(super) seen_ends: BTreeMap<String, String>,
    asked: usize,
}

impl Customer {
    pub(super) fn new(clients: Vec<SocketClient>, mut maker: JobMaker, evidence: PathBuf) -> Customer {
        let chance = maker.chance.fork();
        Customer {
            clients,
            chance,
            maker,
            evidence,
            jobs: Vec::new(),
            pauses: Vec::new(),
            seen_ends: BTreeMap::new(),
            asked: 0,
        }
    }

    /// What is there before the first fault: so many jobs, and in each group one that beats to the end.
    pub(super) fn begin(&mut self, jobs: usize) {
        let now = now_ms();
        for group in self.maker.groups {
            let tail = self.maker.tail_job(now, group);
            self.create(tail);
        }
        for _ in 0..jobs {
            let job = self.maker.job(now_ms());
            self.create(job);
        }
    }

    /// Until it is told to stop; what is paused then is resumed.
    pub(super) fn work(mut self, stop: &Arc<AtomicBool>) -> Customer {
        while !stop.load(Ordering::Relaxed) {
            self.resume_due(now_ms());
            self.something();
            pause(self.chance.between(BETWEEN_DEEDS_MS.0, BETWEEN_DEEDS_MS.1));
        }
        self.resume_due(i64::MAX);
        self
    }

    fn something(&mut self) {
        let now = now_ms();
        match self.chance.between(0, 99) {
            0..=39 if now + 6_000 < self.maker.until => {
                let job = self.maker.job(now);
                self.create(job);
            }
            40..=54 => self.trigger(),
            55..=69 => self.pause_one(now),
            70..=74 => self.cancel_one(),
            _ => self.look(),
        }
    }

    fn create(&mut self, plan: TortureJob) {
        let body = plan.to_json(&self.evidence);
        let mut job = OrderedJob::of(plan);
        let (mut deed, answer) = self.ask("POST", "/v1/jobs", &body, DeedKind::Create);
        job.id = answer.and_then(|answer| answer.body["id"].as_str().map(str::to_owned));
        deed.accepted &= job.id.is_some();
        job.deeds.push(deed);
        self.jobs.push(job);
    }

    fn trigger(&mut self) {
        let Some((index, id)) = self.any_job() else { return };
        let (mut deed, answer) =
            self.ask("POST", &format!("/v1/jobs/{id}/trigger"), &json!({}), DeedKind::Trigger { run: String::new() });
        let run = answer.and_then(|answer| answer.body["run_id"].as_str().map(str::to_owned)).unwrap_or_default();
        deed.kind = DeedKind::Trigger { run };
        self.jobs[index].deeds.push(deed);
    }

    fn pause_one(&mut self, now: i64) {
        let Some((index, id)) = self.any_job() else { return };
        let (deed, _) = self.ask("POST", &format!("/v1/jobs/{id}/pause"), &json!({}), DeedKind::Pause);
        if deed.accepted || deed.completed.is_none() {
            self.pauses.push((index, now + self.chance.between(500, 5_000)));
        }
        self.jobs[index].deeds.push(deed);
    }

    fn resume_due(&mut self, now: i64) {
        let (due, waiting) = std::mem::take(&mut self.pauses).into_iter().partition(|(_, at)| *at <= now);
        self.pauses = waiting;
        let due: Vec<(usize, i64)> = due;
        for (index, _) in due {
            let Some(id) = self.jobs[index].id.clone() else { continue };
            let (deed, _) = self.ask("POST", &format!("/v1/jobs/{id}/resume"), &json!({}), DeedKind::Resume);
            self.jobs[index].deeds.push(deed);
        }
    }

    fn cancel_one(&mut self) {
        let Some((index, id)) = self.any_job() else { return };
        let (deed, _) = self.ask("DELETE", &format!("/v1/jobs/{id}"), &Value::Null, DeedKind::Cancel);
        self.jobs[index].deeds.push(deed);
    }

    /// An end that was shown once must be the end that is shown for ever.
    fn look(&mut self) {
        let client = &self.clients[self.chance.index(self.clients.len())];
        let Ok(page) = client.get("/v1/runs?limit=100") else { return };
        for run in page["items"].as_array().into_iter().flatten() {
            let (Some(id), Some(status)) = (run["id"].as_str(), run["status"]["type"].as_str()) else { continue };
            if !["pending", "running"].contains(&status) {
                self.seen_ends.entry(id.to_owned()).or_insert_with(|| status.to_owned());
            }
        }
    }

    /// One that nothing else is done to, and that is not needed at the end.
    fn any_job(&mut self) -> Option<(usize, String)> {
        let index = self.chance.index(self.jobs.len());
        let job = &self.jobs[index];
        let is_paused = self.pauses.iter().any(|(paused, _)| *paused == index);
        let is_cancelled = job.deeds.iter().any(|deed| deed.kind == DeedKind::Cancel);
        let id = job.id.clone()?;
        (!job.plan.is_tail && !is_paused && !is_cancelled).then_some((index, id))
    }

    /// Asks one node after the other until one says yes or no.
    fn ask(&mut self, method: &str, path: &str, body: &Value, kind: DeedKind) -> (CustomerDeed, Option<ApiAnswer>) {
        self.asked += 1;
        let key = format!("torture-{}", self.asked);
        let (invoked, body) = (now_ms(), (!body.is_null()).then_some(body));
        while now_ms() < invoked + ASKED_FOR_MS {
            let client = &self.clients[self.chance.index(self.clients.len())];
            match client.ask(method, path, body, (method == "POST").then_some(key.as_str())) {
                Ok(answer) if answer.is_success() || answer.is_refusal() => {
                    let accepted = answer.is_success();
                    return (CustomerDeed { kind, invoked, completed: Some(now_ms()), accepted }, Some(answer));
                }
                Ok(_) | Err(_) => pause(100),
            }
        }
        (CustomerDeed { kind, invoked, completed: None, accepted: false }, None)
    }
}
