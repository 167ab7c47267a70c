//! One executor of XXL-JOB, held in the engine's registry on its behalf: what it is given, how it is watched, how it ends.
//!
//! Invariant: the executor is there as long as it answers and says every now and then that it is; what it has is named in every
//! heartbeat until its end was reported and is durable. Nobody else speaks for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use ordo_engine::Engine;
use ordo_engine::clock::Stopwatch;
use ordo_engine::executors::{
    Handed, HostError, RemoteLine, RemoteLogChunk, RemoteReport, RemoteStatus, ReportError, WorkRequest,
};
use ordo_model::executor::Speaker;
use ordo_model::limits::{HEARTBEAT, LEASE};
use ordo_model::{FencingToken, LogStream, Millis, RunId};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::client::{ExecutorClient, XxlCallError};
use crate::held::XxlAttempt;
use crate::wire::{LogParam, SUCCESS, TIMEOUT};

/// How often leases are renewed and logs are read while something runs.
const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Shorter than a lease: a poll says to the engine that the executor is there.
const POLL_WAIT: Millis = HEARTBEAT;
const POLL_AT_ONCE: usize = 100;
/// An executor that has not said for so long that it is there is gone; XXL-JOB waits as long.
const ANNOUNCED_WITHIN: Millis = Millis::from_secs(90);
/// A run of which the executor knows nothing for so long, and of whose end it has not told, is lost. Executors call back
/// again for half a minute.
const LOST_AFTER: Millis = Millis::from_secs(45);
/// Lines in one chunk of log.
const CHUNK_LINES: usize = 500;
/// Parts of one log that are read at a time.
const LOG_PARTS: usize = 20;

#[derive(Debug)]
pub(crate) struct ExecutorLink {
    pub(crate) engine: Engine,
    pub(crate) id: Uuid,
    pub(crate) group: String,
    pub(crate) address: String,
    client: ExecutorClient,
    held: Mutex<HashMap<i64, Arc<XxlAttempt>>>,
    announced: Mutex<Stopwatch>,
    presence: watch::Sender<LinkPresence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkPresence {
    /// It does not answer, or has not announced itself: it gets nothing, and its leases run out.
    Silent,
    Answering,
    /// The engine has it no longer.
    Over,
}

impl ExecutorLink {
    pub(crate) fn new(engine: Engine, id: Uuid, group: &str, address: &str, client: ExecutorClient) -> ExecutorLink {
        ExecutorLink {
            engine,
            id,
            group: group.to_owned(),
            address: address.to_owned(),
            client,
            held: Mutex::default(),
            announced: Mutex::new(Stopwatch::start()),
            presence: watch::Sender::new(LinkPresence::Silent),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.presence.borrow() == LinkPresence::Over
    }

    /// The executor said once more that it is there.
    pub(crate) fn announce(&self) {
        *self.announced.lock().unwrap_or_else(PoisonError::into_inner) = Stopwatch::start();
    }

    fn is_announced(&self) -> bool {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < ANNOUNCED_WITHIN
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Arc<XxlAttempt>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hold(&self, run: XxlAttempt) -> Arc<XxlAttempt> {
        let run = Arc::new(run);
        self.lock().insert(run.log_number, run.clone());
        run
    }

    pub(crate) fn find(&self, log_number: i64) -> Option<Arc<XxlAttempt>> {
        self.lock().get(&log_number).cloned()
    }

    fn runs(&self) -> Vec<Arc<XxlAttempt>> {
        self.lock().values().cloned().collect()
    }

    fn forget(&self, run: &XxlAttempt) {
        self.lock().remove(&run.log_number);
    }

    /// All that is done for the executor, until it is gone.
    pub(crate) async fn serve(self: Arc<ExecutorLink>) {
        tokio::join!(self.clone().take_work(), self.watch(), self.follow());
        // Whatever it still has was settled without it, or will be when it comes back.
        for run in self.runs() {
            self.kill(&run).await;
        }
        tracing::info!(group = self.group, address = self.address, "an executor of XXL-JOB is gone");
    }

    async fn take_work(self: Arc<ExecutorLink>) {
        let mut starting = JoinSet::new();
        let mut presence = self.presence.subscribe();
        loop {
            let seen = presence.wait_for(|presence| *presence != LinkPresence::Silent).await.map(|seen| *seen);
            if !matches!(seen, Ok(LinkPresence::Answering)) {
                break;
            }
            let request = WorkRequest { max: POLL_AT_ONCE, wait: POLL_WAIT, confirms: false };
            let polled = match self.engine.poll(Speaker::Admin, self.id, request).await {
                Ok(polled) => polled,
                Err(HostError::NotThere(_)) => {
                    self.become_now(LinkPresence::Over);
                    break;
                }
                Err(HostError::Store(error)) => {
                    tracing::warn!(address = self.address, %error, "there is no work to be had for an executor");
                    tokio::time::sleep(WATCH_EVERY).await;
                    continue;
                }
            };
            for run in self.runs().into_iter().filter(|run| polled.cancel.contains(&run.run_id)) {
                let link = self.clone();
                starting.spawn(async move { link.kill(&run).await });
            }
            for handed in polled.handed {
                starting.spawn(self.clone().start(handed));
            }
            while starting.try_join_next().is_some() {}
            if polled.drain {
                self.leave().await;
            }
        }
    }

    /// It takes nothing new, and is gone when it has nothing left.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.engine.leave(Speaker::Admin, self.id).await {
            tracing::debug!(address = self.address, %error, "an executor of XXL-JOB had left before");
        }
    }

    /// Held before it is asked for: the executor may call back before it has answered.
    async fn start(self: Arc<ExecutorLink>, handed: Handed) {
        let (run_id, token) = (handed.assignment.run_id, handed.assignment.token);
        let (held, param) = match XxlAttempt::handed(&handed, self.engine.clock().now()) {
            Ok(both) => both,
            Err(reason) => return self.give_up(run_id, token, RemoteStatus::Failed { reason }).await,
        };
        let run = self.hold(held);
        let status = match self.client.run(&param).await {
            Ok(()) => return,
            // It may have it: whether it does is found out by asking.
            Err(XxlCallError::Unanswered(why)) => {
                tracing::warn!(address = self.address, run = %run.run_id, why, "whether a run has begun is not known yet");
                return;
            }
            Err(error @ XxlCallError::NotDelivered(_)) => {
                RemoteStatus::Nack { delay: Millis::ZERO, reason: Some(error.to_string()) }
            }
            Err(XxlCallError::Refused(why)) => {
                RemoteStatus::Failed { reason: format!("the executor refused it: {why}") }
            }
        };
        self.forget(&run);
        self.give_up(run_id, token, status).await;
    }

    async fn give_up(&self, run_id: RunId, token: FencingToken, status: RemoteStatus) {
        let answers = self.engine.report(Speaker::Admin, vec![RemoteReport { run_id, token, status }]).await;
        for error in answers.into_iter().filter_map(Result::err) {
            tracing::warn!(run = %run_id, %error, "that a run was not begun could not be reported");
        }
    }

    /// Renews its leases while it answers, and ends what is to end. Nothing else holds this up.
    async fn watch(&self) {
        let mut turns = turns();
        let mut asked: Option<Stopwatch> = None;
        let mut heard = Stopwatch::start();
        let mut answers = false;
        while !self.is_over() {
            turns.tick().await;
            let ask = asked.as_ref().is_none_or(|asked| !answers || asked.elapsed() >= HEARTBEAT);
            if ask {
                asked = Some(Stopwatch::start());
                answers = self.client.beat().await.is_ok() && self.is_announced();
            }
            match answers {
                true => heard = Stopwatch::start(),
                false if heard.elapsed() >= LEASE => return self.become_now(LinkPresence::Over),
                false => self.become_now(LinkPresence::Silent),
            }
            if answers {
                self.become_now(LinkPresence::Answering);
                self.renew().await;
            }
        }
    }

    /// Reads logs while it answers, and notices what got lost.
    async fn follow(&self) {
        let mut turns = turns();
        let mut asked = Stopwatch::start();
        while !self.is_over() {
            turns.tick().await;
            if *self.presence.borrow() != LinkPresence::Answering {
                continue;
            }
            let ask = asked.elapsed() >= HEARTBEAT;
            if ask {
                asked = Stopwatch::start();
            }
            join_all(self.runs().iter().map(|run| self.look_after(run, ask))).await;
        }
    }

    fn become_now(&self, presence: LinkPresence) {
        self.presence.send_if_modified(|now| {
            let changes = *now != presence && *now != LinkPresence::Over;
            if changes {
                *now = presence;
            }
            changes
        });
    }

    async fn renew(&self) {
        let runs = self.runs();
        let named: Vec<_> = runs.iter().map(|run| (run.run_id, run.token)).collect();
        let reply = match self.engine.heartbeat(Speaker::Admin, self.id, &named).await {
            Ok(reply) => reply,
            Err(HostError::NotThere(_)) => return self.become_now(LinkPresence::Over),
            Err(HostError::Store(error)) => {
                tracing::warn!(address = self.address, %error, "a heartbeat of an executor could not be kept");
                return;
            }
        };
        if reply.drain {
            self.leave().await;
        }
        for run in runs {
            let is_lost = reply.lost.contains(&run.run_id);
            if is_lost {
                self.forget(&run);
            }
            if is_lost || reply.cancel.contains(&run.run_id) {
                self.kill(&run).await;
            }
        }
    }

    async fn kill(&self, run: &XxlAttempt) {
        if !run.kill() {
            return;
        }
        if let Err(error) = self.client.kill(run.job_number).await {
            tracing::warn!(address = self.address, run = %run.run_id, %error, "a run could not be ended");
        }
    }

    async fn look_after(&self, run: &Arc<XxlAttempt>, ask: bool) {
        self.read_log(run).await;
        if !ask {
            return;
        }
        let Ok(is_idle) = self.client.is_idle(run.job_number).await else { return };
        if run.seen_idle(is_idle) >= LOST_AFTER && self.find(run.log_number).is_some() {
            let reason = "the executor no longer has it, and has not said how it ended".to_owned();
            let status = if run.is_killed() { RemoteStatus::Cancelled } else { RemoteStatus::Failed { reason } };
            self.forget(run);
            self.give_up(run.run_id, run.token, status).await;
        }
    }

    /// Stores what was written since the last time.
    async fn read_log(&self, run: &XxlAttempt) {
        let mut place = run.log.lock().await;
        for _ in 0..LOG_PARTS {
            let param = LogParam { log_date_tim: run.begun_at.ms(), log_id: run.log_number, from_line_num: place.line };
            let part = match self.client.log(param).await {
                Ok(Some(part)) => part,
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(address = self.address, run = %run.run_id, %error, "a log could not be read");
                    return;
                }
            };
            let text = part.log_content.unwrap_or_default();
            // A line that is still being written, or a word about a log that is not there yet, has no end.
            let Some(end) = text.rfind('\n') else { return };
            let (whole, unended) = text.split_at(end + 1);
            if part.to_line_num < place.line {
                return;
            }
            let lines: Vec<&str> = whole.lines().collect();
            for some in lines.chunks(CHUNK_LINES) {
                self.store(run, place.chunk, some).await;
                place.chunk += 1;
            }
            place.line = match unended {
                "" => part.to_line_num.saturating_add(1),
                _ => place.line.saturating_add(lines.len() as u64),
            };
            if part.is_end || !unended.is_empty() {
                return;
            }
        }
    }

    async fn store(&self, run: &XxlAttempt, seq: u64, lines: &[&str]) {
        let at = self.engine.clock().now();
        let line = |text: &&str| RemoteLine { at, stream: LogStream::Stdout, text: (*text).to_owned() };
        let lines = lines.iter().map(line).collect();
        let chunk = RemoteLogChunk { run_id: run.run_id, token: run.token, seq, lines };
        for error in self.engine.store_logs(Speaker::Admin, vec![chunk]).await.into_iter().filter_map(Result::err) {
            tracing::warn!(run = %run.run_id, %error, "a part of a log could not be kept");
        }
    }

    /// The executor says how a run ended. It is told that this was heard when it is durable.
    pub(crate) async fn finish(&self, run: &XxlAttempt, code: i32, said: Option<String>) -> Result<(), ReportError> {
        self.read_log(run).await;
        let status = match code {
            SUCCESS => RemoteStatus::Completed { result: said.map_or(Value::Null, Value::String) },
            _ if run.is_killed() => RemoteStatus::Cancelled,
            TIMEOUT => RemoteStatus::Failed { reason: said.unwrap_or_else(|| "its time was over".to_owned()) },
            code => RemoteStatus::Failed { reason: said.unwrap_or_else(|| format!("ended with code {code}")) },
        };
        let report = RemoteReport { run_id: run.run_id, token: run.token, status };
        match self.engine.report(Speaker::Admin, vec![report]).await.pop() {
            // A stale one was settled before: saying it again would change nothing.
            Some(Ok(()) | Err(ReportError::Stale | ReportError::NoSuchRun)) | None => {
                self.forget(run);
                Ok(())
            }
            Some(Err(error)) => Err(error),
        }
    }
}

fn turns() -> tokio::time::Interval {
    let mut turns = tokio::time::interval(WATCH_EVERY);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    turns
}
