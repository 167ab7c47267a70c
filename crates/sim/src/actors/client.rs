//! The users: submit commands at random, remember what they were answered.
//!
//! Invariant: every ask bears a marker that is found again in the log if it took effect.

use std::collections::{BTreeMap, BTreeSet};

use ordo_engine::{Claim, JobReply, Request, SubmitError};
use ordo_model::job::{AttemptReport, Command, Definition};
use ordo_model::{FencingToken, JobId, RunId, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::commits::{SimSubmission, To};
use crate::happening::Happening;
use crate::misfortune::Misfortune;
use crate::record::history::{ClientCommand, FactKind, Reply};
use crate::workload::{self, WorkloadSpan};
use crate::world::{Crash, Simulation};

/// How often a creation is submitted again until it is known what became of it.
const CREATE_TRIES: u32 = 20;

#[derive(Debug, Default)]
pub(crate) struct SimClient {
    ops: u32,
    /// Asks whose answer has not come.
    open: BTreeSet<u32>,
    /// Creations that bear a key, so that they may be asked for again.
    keyed: BTreeMap<u32, Keyed>,
    jobs: Vec<JobId>,
    /// Until then mostly this one is asked for.
    focus: Option<(JobId, i64)>,
    pub(crate) runs: Vec<(JobId, RunId)>,
    pub(crate) started: Vec<(JobId, RunId, u64)>,
}

#[derive(Debug, Clone)]
struct Keyed {
    marker: String,
    definition: Definition,
    tries: u32,
}

impl SimClient {
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }
}

impl Simulation {
    fn span(&self) -> WorkloadSpan {
        WorkloadSpan { now_ms: self.wall_ms(), length_ms: self.scenario.length_ms }
    }

    fn next_op(&mut self) -> (u32, String) {
        self.client.ops += 1;
        (self.client.ops, format!("op-{}", self.client.ops))
    }

    fn new_job_id(&mut self) -> JobId {
        let (high, low) = (self.rng.draw(), self.rng.draw());
        JobId(Uuid::from_u64_pair((self.wall_ms().unsigned_abs() << 16) | (high & 0x0fff) | 0x7000, low))
    }

    fn client_command(&mut self, op: u32, job: JobId, client_command: ClientCommand, request: Request) {
        self.fact(FactKind::Asked { op, job, client_command });
        self.client.open.insert(op);
        self.submit(SimSubmission { request, to: To::Client(op) });
    }

    // --- creating -------------------------------------------------------------------------------

    pub(crate) fn submit_create(&mut self, again: Option<u32>) -> Result<(), Crash> {
        if self.node.is_none() {
            // Nobody listens; the user comes back.
            self.soon(3_000, Happening::Create { again });
            return Ok(());
        }
        let (op, marker) = self.next_op();
        let keyed = again.and_then(|before| self.client.keyed.remove(&before));
        let keyed = match keyed {
            Some(keyed) => Some(Keyed { tries: keyed.tries + 1, ..keyed }),
            None => self.rng.chance(400).then(|| self.draw_keyed(&marker)),
        };
        let (marker, definition) = match &keyed {
            Some(keyed) => (keyed.marker.clone(), keyed.definition.clone()),
            None => (marker.clone(), self.draw_keyed(&marker).definition),
        };
        let job = self.new_job_id();
        let held = self.rng.chance(100);
        let command = Command::Schedule { definition: Box::new(definition.clone()), held };
        let claims = keyed.iter().map(|keyed| self.claim(&keyed.marker, job)).collect();
        let request = Request { claims, ..Request::new(job, command) };
        self.client.keyed.extend(keyed.map(|keyed| (op, keyed)));
        self.client.jobs.push(job);
        self.client_command(op, job, ClientCommand::Create { marker, definition: Box::new(definition), held }, request);
        Ok(())
    }

    pub(crate) fn submit_storm(&mut self) -> Result<(), Crash> {
        if self.node.is_none() {
            return Ok(());
        }
        let (op, marker) = self.next_op();
        let span = self.span();
        let definition = workload::storm(&mut self.rng, &marker, span);
        let job = self.new_job_id();
        self.client.jobs.push(job);
        let command = Command::Schedule { definition: Box::new(definition.clone()), held: false };
        let client_command = ClientCommand::Create { marker, definition: Box::new(definition), held: false };
        self.client_command(op, job, client_command, Request::new(job, command));
        let (after, ms) = (self.rng.between(100, 2_000), self.rng.between(1_000, 9_000));
        self.after(after, Happening::Misfortune(Misfortune::Stalls { ms }));
        Ok(())
    }

    fn draw_keyed(&mut self, marker: &str) -> Keyed {
        let span = self.span();
        Keyed { marker: marker.to_owned(), definition: workload::definition(&mut self.rng, marker, span), tries: 0 }
    }

    fn claim(&self, marker: &str, job: JobId) -> Claim {
        let until = self.now().plus(ordo_model::Millis::from_days(30));
        Claim { key: marker.as_bytes().to_vec(), until, value: job.0.as_bytes().to_vec(), names_run: false }
    }

    // --- commands -------------------------------------------------------------------------------

    pub(crate) fn submit_command(&mut self) -> Result<(), Crash> {
        if self.node.is_none() || self.client.jobs.is_empty() {
            return Ok(());
        }
        let job = self.some_job();
        match self.rng.between(0, 17) {
            0..=3 => self.submit_update(job),
            4 | 5 => self.submit_pause(job),
            6 | 7 => self.submit_plain(job, ClientCommand::Resume, Command::Resume),
            8 => self.submit_cancel(job),
            9 | 10 => self.submit_trigger(job),
            11 | 12 => self.submit_backfill(job),
            13 => self.submit_cancel_run(),
            14 | 15 => self.submit_retry_run(),
            _ => self.send_stale_report(),
        }
        Ok(())
    }

    /// For a while many things are asked of one job.
    pub(crate) fn focus(&mut self, until: i64) {
        if self.node.is_some() && !self.client.jobs.is_empty() {
            self.client.focus = Some((self.some_job(), until));
        }
    }

    /// Mostly one that is still there.
    fn some_job(&mut self) -> JobId {
        let jobs = self.client.jobs.clone();
        if let Some((job, until)) = self.client.focus
            && self.mono < until
            && self.rng.chance(850)
        {
            return job;
        }
        for _ in 0..4 {
            let job = *self.rng.pick(&jobs);
            if self.job_row(job).is_some() {
                return job;
            }
        }
        *self.rng.pick(&jobs)
    }

    fn submit_plain(&mut self, job: JobId, client_command: ClientCommand, command: Command) {
        let (op, _) = self.next_op();
        self.client_command(op, job, client_command, Request::new(job, command));
    }

    fn submit_update(&mut self, job: JobId) {
        let (op, marker) = self.next_op();
        let span = self.span();
        let patch = workload::patch(&mut self.rng, &marker, span);
        let known = self.job_row(job).map(|job| job.revision);
        let if_revision = if self.rng.chance(200) { known } else { None };
        self.client_command(
            op,
            job,
            ClientCommand::Update { marker },
            Request::new(job, Command::Update { patch, if_revision, if_followed: None }),
        );
    }

    fn submit_pause(&mut self, job: JobId) {
        let (op, marker) = self.next_op();
        let command = Command::Pause { reason: Some(marker.clone()) };
        self.client_command(op, job, ClientCommand::Pause { marker }, Request::new(job, command));
    }

    fn submit_cancel(&mut self, job: JobId) {
        let (op, marker) = self.next_op();
        let command = Command::Cancel { reason: Some(marker.clone()) };
        self.client_command(op, job, ClientCommand::Cancel { marker }, Request::new(job, command));
    }

    fn submit_trigger(&mut self, job: JobId) {
        let (op, marker) = self.next_op();
        let command = Command::Trigger { tool_input: Some(json!({ "by": marker })), traceparent: None };
        self.client_command(op, job, ClientCommand::Trigger { marker }, Request::new(job, command));
    }

    fn submit_backfill(&mut self, job: JobId) {
        let length = self.scenario.length_ms;
        let from = self.wall_ms() - self.rng.between(0, length / 4);
        let to = from + self.rng.between(-1_000, length / 4);
        let time = |ms| Timestamp::from_ms(ms).expect("simulated time is near ours");
        self.submit_plain(
            job,
            ClientCommand::Backfill { from, to },
            Command::Backfill { from: time(from), to: time(to) },
        );
    }

    fn submit_cancel_run(&mut self) {
        let Some((job, run)) = self.some_run() else { return };
        let (op, marker) = self.next_op();
        let command = Command::CancelRun { run_id: run, reason: marker.clone() };
        self.client_command(op, job, ClientCommand::CancelRun { run, marker }, Request::new(job, command));
    }

    fn submit_retry_run(&mut self) {
        let Some((job, run)) = self.some_run() else { return };
        let Some(row) = self.run_row(run) else { return };
        self.submit_plain(job, ClientCommand::RetryRun { run }, Command::RetryRun { run: Box::new(row) });
    }

    /// A recent run, more likely than an old one.
    fn some_run(&mut self) -> Option<(JobId, RunId)> {
        let len = self.client.runs.len();
        let back = self.rng.skewed(1, (len as i64).max(1)) as usize;
        self.client.runs.get(len.checked_sub(back)?).copied()
    }

    /// The report of an attempt that is over is sent once more; if there is one, of a run that is being tried again.
    fn send_stale_report(&mut self) {
        let followed = |(place, attempt): &(usize, &(JobId, RunId, u64))| {
            self.client.started[place + 1..].iter().any(|later| later.1 == attempt.1)
        };
        let all = || self.client.started.iter().enumerate();
        let tried_again: Vec<_> = all().filter(|at| self.active.contains(&at.1.1) && followed(at)).collect();
        let over: Vec<_> = all().filter(|at| !self.active.contains(&at.1.1)).collect();
        let known: Vec<(JobId, RunId, u64)> =
            if tried_again.is_empty() { over } else { tried_again }.into_iter().map(|(_, attempt)| *attempt).collect();
        if known.is_empty() {
            return;
        }
        let (job, run, token) = *self.rng.pick(&known);
        let report = AttemptReport::Failed { started_at: None, reason: "stale".into() };
        let command = Command::Report { run_id: run, token: FencingToken(token), report };
        self.submit(SimSubmission { request: Request::new(job, command), to: To::Stale { run, token } });
    }

    pub(crate) fn submit_pauses(&mut self) -> Result<(), Crash> {
        for job in self.client.jobs.clone() {
            self.submit_pause(job);
        }
        Ok(())
    }

    // --- answers --------------------------------------------------------------------------------

    pub(crate) fn answer_client(&mut self, op: u32, answer: JobReply) {
        let reply = match answer {
            Ok(_) => Reply::Done,
            Err(SubmitError::Refused(refusal)) => Reply::Refused(refusal.to_string()),
            Err(SubmitError::Duplicate(value)) => {
                Reply::Duplicate(JobId(Uuid::from_slice(&value).expect("the value of a key is a job")))
            }
            Err(_) => Reply::Unknown,
        };
        self.answered(op, reply);
    }

    fn answered(&mut self, op: u32, reply: Reply) {
        self.client.open.remove(&op);
        let retry_create =
            reply == Reply::Unknown && self.client.keyed.get(&op).is_some_and(|k| k.tries < CREATE_TRIES);
        self.fact(FactKind::Answered { op, reply });
        if retry_create {
            self.soon(4_000, Happening::Create { again: Some(op) });
        }
    }

    pub(crate) fn stale_answered(&mut self, run: RunId, token: u64, refused: bool) {
        self.fact(FactKind::Stale { run, token, refused });
    }

    pub(crate) fn answers_are_lost(&mut self) {
        for op in std::mem::take(&mut self.client.open) {
            self.answered(op, Reply::Unknown);
        }
    }
}
