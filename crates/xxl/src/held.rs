//! One attempt that an executor of XXL-JOB has: its numbers, how far its log was read, and what is known of its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ordo_engine::Engine;
use ordo_engine::clock::Stopwatch;
use ordo_engine::executors::{Handed, HeldAttempt};
use ordo_engine::log_reader::LogReader;
use ordo_model::job::ShardPosition;
use ordo_model::{FencingToken, Millis, RunId, Timestamp};
use ordo_store::Fault;

use crate::input::{XxlInput, log_number};
use crate::wire::RunParam;

#[derive(Debug)]
pub(crate) struct XxlAttempt {
    pub(crate) run_id: RunId,
    pub(crate) token: FencingToken,
    pub(crate) job_number: i32,
    pub(crate) log_number: i64,
    pub(crate) begun_at: Timestamp,
    /// Where its log is read next. Whoever reads it has it alone.
    pub(crate) log: tokio::sync::Mutex<LogPlace>,
    signs: Mutex<EndSigns>,
}

/// The next line to ask for, and the number of the next chunk to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPlace {
    pub(crate) line: u64,
    pub(crate) chunk: u64,
}

#[derive(Debug, Default)]
struct EndSigns {
    killed: bool,
    /// Since when the executor says that it has nothing of the job.
    idle: Option<Stopwatch>,
}

/// How many places a chunk of lines has in the log of an attempt.
const CHUNK_PLACES: u64 = 1_024;

impl XxlAttempt {
    fn new(run_id: RunId, token: FencingToken, attempt: u32, job_number: i32, begun_at: Timestamp) -> XxlAttempt {
        XxlAttempt {
            run_id,
            token,
            job_number,
            log_number: log_number(run_id, attempt),
            begun_at,
            log: tokio::sync::Mutex::new(LogPlace { line: 1, chunk: 0 }),
            signs: Mutex::default(),
        }
    }

    /// An attempt that was handed out just now, and what to say to the executor.
    pub(crate) fn handed(handed: &Handed, now: Timestamp) -> Result<(XxlAttempt, RunParam), String> {
        let assignment = &handed.assignment;
        let input = XxlInput::read(&assignment.tool_input)?;
        let number = input.job_number(assignment.job_id);
        let held = XxlAttempt::new(assignment.run_id, assignment.token, assignment.attempt, number, now);
        let param = run_param(&held, input, assignment.timeout, assignment.shard);
        Ok((held, param))
    }

    /// An attempt that the executor had when this server was started.
    pub(crate) async fn restored(engine: &Engine, attempt: &HeldAttempt) -> Result<Option<XxlAttempt>, Fault> {
        let Some(job) = engine.job(attempt.job_id).await? else { return Ok(None) };
        let Ok(input) = XxlInput::read(&job.definition.tool_input) else { return Ok(None) };
        let number = input.job_number(attempt.job_id);
        let held = XxlAttempt::new(attempt.run_id, attempt.token, attempt.attempt, number, attempt.since);
        *held.log.lock().await = read_so_far(engine, attempt).await?;
        Ok(Some(held))
    }

    fn signs(&self) -> MutexGuard<'_, EndSigns> {
        self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it is to be ended; false: that was known.
    pub(crate) fn kill(&self) -> bool {
        !std::mem::replace(&mut self.signs().killed, true)
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.signs().killed
    }

    /// Notes whether the executor has something of the job; returns for how long it has had nothing.
    pub(crate) fn seen_idle(&self, is_idle: bool) -> Millis {
        let mut signs = self.signs();
        if !is_idle {
            signs.idle = None;
            return Millis::ZERO;
        }
        signs.idle.get_or_insert_with(Stopwatch::start).elapsed()
    }
}

fn run_param(held: &XxlAttempt, input: XxlInput, timeout: Millis, shard: Option<ShardPosition>) -> RunParam {
    let (index, total) = shard.map_or((0, 1), |shard| (shard.index, shard.total));
    RunParam {
        job_id: held.job_number,
        executor_handler: input.handler,
        executor_params: input.params,
        executor_block_strategy: "SERIAL_EXECUTION",
        executor_timeout: timeout.ms().div_ceil(1_000),
        log_id: held.log_number,
        log_date_time: held.begun_at.ms(),
        glue_type: "BEAN",
        glue_source: "",
        glue_updatetime: 0,
        broadcast_index: index,
        broadcast_total: total,
    }
}

/// How much of the log is stored already.
async fn read_so_far(engine: &Engine, attempt: &HeldAttempt) -> Result<LogPlace, Fault> {
    let mut reader = LogReader::after(engine.queries().store().clone(), attempt.run_id, None);
    let mut place = LogPlace { line: 1, chunk: 0 };
    loop {
        let lines = reader.next().await?;
        if lines.is_empty() {
            return Ok(place);
        }
        for line in lines.iter().filter(|line| line.line.attempt == attempt.attempt) {
            place.line += 1;
            place.chunk = u64::from(line.seq as u32) / CHUNK_PLACES + 1;
        }
    }
}
