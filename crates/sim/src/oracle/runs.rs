//! The runs of one job in account: what each is doing, according to the log.
//!
//! Invariant: an attempt begins only when the one before it is over and its turn has come; the end of a run is final.

use std::collections::BTreeMap;

use ordo_model::job::{AttemptReport, Block, Definition};
use ordo_model::limits::{BLOCK_QUEUE_MAX, TIMEOUT_GRACE};
use ordo_model::{Incarnation, RunId};
use uuid::Uuid;

use super::{Ruling, require};

pub(crate) const RECOVERED: &str = "recovered from restart";
pub(crate) const NO_REPORT: &str = "no report within the timeout";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OracleStage {
    Queued,
    Backoff { until: i64 },
    Running(OracleAttempt),
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OracleAttempt {
    pub(super) attempt: u32,
    pub(super) token: u64,
    pub(super) generation: Uuid,
    started_at: i64,
    deadline: i64,
    settle_at: Option<i64>,
}

#[derive(Debug)]
pub(super) struct OracleRun {
    pub(super) stage: OracleStage,
    attempts: u32,
    /// How many of them were given back and count for nothing.
    returned: u32,
    pub(super) cancelling: bool,
}

#[derive(Debug, Default)]
pub(super) struct Runs {
    all: BTreeMap<RunId, OracleRun>,
    /// Those that are not over, in the order they came.
    active: Vec<RunId>,
    last_token: u64,
}

/// The generation that lives, and when it came up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alive {
    pub(super) generation: Option<Uuid>,
    pub(super) booted_at: i64,
}

/// What the log says of a failed attempt.
#[derive(Debug)]
pub(super) struct FailedAttempt<'a> {
    pub(super) attempt: u32,
    pub(super) reason: &'a str,
    pub(super) retry_at: Option<i64>,
    pub(super) at: i64,
}

impl Runs {
    pub(super) fn get(&self, run: RunId) -> Option<&OracleRun> {
        self.all.get(&run)
    }

    pub(super) fn running_token(&self, run: RunId) -> Option<u64> {
        match &self.all.get(&run)?.stage {
            OracleStage::Running(running) => Some(running.token),
            OracleStage::Queued | OracleStage::Backoff { .. } | OracleStage::Over => None,
        }
    }

    pub(super) fn active(&self) -> &[RunId] {
        &self.active
    }

    /// Whether a run waits for an attempt whose time comes later.
    pub(super) fn is_due_after(&self, wall: i64) -> bool {
        let waits = |run: &RunId| matches!(self.all.get(run).map(|run| &run.stage), Some(OracleStage::Backoff { until }) if *until > wall);
        self.active.iter().any(waits)
    }

    fn active_run(&mut self, run: RunId) -> Result<&mut OracleRun, String> {
        match self.all.get_mut(&run) {
            Some(found) if found.stage != OracleStage::Over => Ok(found),
            Some(_) => Err(format!("run {run} is over, and something happened to it")),
            None => Err(format!("run {run} was never triggered")),
        }
    }

    fn running(&mut self, run: RunId) -> Result<(&mut OracleRun, OracleAttempt), String> {
        let found = self.active_run(run)?;
        match found.stage.clone() {
            OracleStage::Running(running) => Ok((found, running)),
            other => Err(format!("run {run} does not run: {other:?}")),
        }
    }

    fn over(&mut self, run: RunId) {
        if let Some(found) = self.all.get_mut(&run) {
            found.stage = OracleStage::Over;
        }
        self.active.retain(|active| *active != run);
    }

    pub(super) fn triggered(&mut self, run: RunId, block: Block) -> Ruling {
        let busy = self.active.len();
        let room = match block {
            Block::Discard => busy == 0,
            Block::Serial | Block::Concurrent { .. } => busy < block.width() + BLOCK_QUEUE_MAX,
            Block::Cover => self.active.iter().all(|id| self.all.get(id).is_some_and(|run| run.cancelling)),
        };
        let known = self
            .all
            .insert(run, OracleRun { stage: OracleStage::Queued, attempts: 0, returned: 0, cancelling: false })
            .is_some();
        self.active.push(run);
        require(!known, || format!("run {run} was triggered twice"))?;
        require(room, || format!("run {run} came to be beside {busy} others of a {block:?} job"))
    }

    pub(super) fn started(
        &mut self,
        run: RunId,
        (attempt, token, executor): (u32, u64, &Incarnation),
        deadline: i64,
        definition: &Definition,
        at: i64,
    ) -> Ruling {
        let width = definition.block.width();
        let busy = self.active.iter().filter(|id| matches!(self.all[id].stage, OracleStage::Running(_))).count();
        let turn = self.active.iter().position(|id| *id == run).is_some_and(|place| place < width);
        let last_token = std::mem::replace(&mut self.last_token, token);
        let found = self.active_run(run)?;
        let queued = found.stage == OracleStage::Queued;
        let next = found.attempts + 1;
        found.attempts = attempt;
        let generation = executor.generation;
        found.stage = OracleStage::Running(OracleAttempt {
            attempt,
            token,
            generation,
            started_at: at,
            deadline,
            settle_at: None,
        });
        require(queued, || format!("run {run} was started while it was not waiting"))?;
        require(attempt == next, || format!("run {run}: attempt {attempt} began, {next} was next"))?;
        require(token > last_token, || format!("run {run}: token {token} does not come after {last_token}"))?;
        require(busy < width && turn, || format!("run {run} started beside {busy} others, width {width}"))?;
        let wanted = at + definition.timeout.ms() as i64 + TIMEOUT_GRACE.ms() as i64;
        require(deadline == wanted, || format!("run {run} has the deadline {deadline}, not {wanted}"))
    }

    pub(super) fn executed(
        &mut self,
        run: RunId,
        attempt: u32,
        report: impl Fn(u64) -> Option<AttemptReport>,
    ) -> Ruling {
        let (_, running) = self.running(run)?;
        self.over(run);
        require(running.attempt == attempt, || format!("run {run}: attempt {attempt} ended, not the current one"))?;
        let reported = report(running.token);
        require(matches!(reported, Some(AttemptReport::Completed { .. })), || {
            format!("run {run} is recorded as completed, its executor said {reported:?}")
        })
    }

    pub(super) fn failed(
        &mut self,
        run: RunId,
        failure: &FailedAttempt<'_>,
        definition: &Definition,
        now_alive: Alive,
        report: impl Fn(u64) -> Option<AttemptReport>,
    ) -> Ruling {
        let (found, running) = self.running(run)?;
        let returned = found.returned;
        match failure.retry_at {
            Some(until) => found.stage = OracleStage::Backoff { until },
            None => self.over(run),
        }
        require(running.attempt == failure.attempt, || format!("run {run}: attempt {} ended", failure.attempt))?;
        let known = check_reason(run, failure, &running, now_alive, &report(running.token))?;
        let tried = failure.attempt - returned;
        let again = tried < definition.retry.max_attempts && (known || definition.idempotent);
        let wanted = again.then(|| failure.at + backoff_ms(definition, tried));
        require(failure.retry_at == wanted, || {
            format!("run {run}: tried again at {:?}, by its policy {wanted:?}", failure.retry_at)
        })
    }

    pub(super) fn ready(&mut self, run: RunId, at: i64) -> Ruling {
        let found = self.active_run(run)?;
        match std::mem::replace(&mut found.stage, OracleStage::Queued) {
            OracleStage::Backoff { until } if until <= at => Ok(()),
            other => Err(format!("run {run} is ready at {at}, but was {other:?}")),
        }
    }

    pub(super) fn cancel_requested(&mut self, run: RunId) -> Ruling {
        self.running(run)?.0.cancelling = true;
        Ok(())
    }

    /// An attempt that nobody executes waits for another executor.
    pub(super) fn returned(&mut self, run: RunId, attempt: u32, is_disowned: impl Fn(u64) -> bool) -> Ruling {
        let (found, running) = self.running(run)?;
        found.stage = OracleStage::Queued;
        found.returned += 1;
        require(running.attempt == attempt, || format!("run {run}: attempt {attempt} was given back"))?;
        require(is_disowned(running.token), || format!("run {run} was given back by an executor that has it"))
    }

    pub(super) fn cancelled(&mut self, run: RunId, at: i64, is_ended: impl Fn(u64) -> bool) -> Ruling {
        let found = self.active_run(run)?;
        let stage = found.stage.clone();
        let cancelling = std::mem::replace(&mut found.cancelling, true);
        self.over(run);
        match stage {
            OracleStage::Queued | OracleStage::Backoff { .. } => Ok(()),
            OracleStage::Running(running) => {
                let settled = at >= running.deadline || running.settle_at.is_some_and(|settle| at >= settle);
                let ended = settled || is_ended(running.token);
                require(cancelling && ended, || format!("run {run} was cancelled while it ran, without its end"))
            }
            OracleStage::Over => Err(format!("run {run} was cancelled after its end")),
        }
    }

    pub(super) fn orphaned(&mut self, run: RunId, settle_at: i64, now_alive: Option<Uuid>, tick_ms: i64) -> Ruling {
        let (found, mut running) = self.running(run)?;
        let (former, wanted) = (Some(running.generation) != now_alive, running.started_at + 2 * tick_ms);
        running.settle_at = Some(settle_at);
        found.stage = OracleStage::Running(running);
        require(former, || format!("run {run} was orphaned by the generation that runs it"))?;
        require(settle_at <= wanted, || format!("run {run} is settled at {settle_at}, not by {wanted}"))
    }
}

/// Whether the reason is true. Returns whether it is known what the attempt did.
fn check_reason(
    run: RunId,
    failure: &FailedAttempt<'_>,
    running: &OracleAttempt,
    now_alive: Alive,
    reported: &Option<AttemptReport>,
) -> Result<bool, String> {
    let at = failure.at;
    match failure.reason {
        RECOVERED => {
            let settled = running.settle_at.is_some_and(|settle| at >= settle)
                && Some(running.generation) != now_alive.generation;
            require(settled, || format!("run {run} was recovered at {at} though nobody restarted: {running:?}"))?;
            Ok(false)
        }
        NO_REPORT => {
            require(at >= running.deadline, || format!("run {run} was given up before its deadline"))?;
            // Whoever settles the attempts of one generation gives up all whose time is over, also those of the next.
            let at_once = at == now_alive.booted_at;
            let minded = Some(running.generation) == now_alive.generation || running.settle_at.is_some() || at_once;
            require(minded, || format!("run {run} was left behind by a generation that is over, and nobody minded"))?;
            Ok(false)
        }
        reason => match reported {
            Some(AttemptReport::Failed { reason: said, .. }) if said == reason => Ok(true),
            other => Err(format!("run {run} failed as {reason:?}, its executor said {other:?}")),
        },
    }
}

pub(crate) fn backoff_ms(definition: &Definition, attempt: u32) -> i64 {
    let (first, most) = (definition.retry.backoff.ms() as i64, definition.retry.max_backoff.ms() as i64);
    (1..attempt).fold(first, |wait, _| (wait * 2).min(most)).min(most)
}
