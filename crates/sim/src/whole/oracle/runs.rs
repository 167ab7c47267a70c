//! The runs of one job in account: what each is doing, according to the log.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::job::{Definition, Event};
use ordo_model::{Incarnation, RunId};

use super::WholeEntry;
use super::evidence::Proofs;
use crate::oracle::runs::{NO_REPORT, RECOVERED, backoff_ms};
use crate::oracle::{Ruling, require};
use crate::whole::facts::WorkResult;

/// Of an attempt that was given up while its executor was there.
const UNSPOKEN_OF: &str = " no longer has the run";
const ENGINES_OWN: [&str; 4] = ["timed out after", "given back ", "the payload of ", "the result could not"];

#[derive(Debug, Clone, PartialEq)]
enum RunDoing {
    Waiting {
        not_before: i64,
    },
    Backoff {
        until: i64,
    },
    Running {
        attempt: u32,
        token: u64,
        deadline: i64,
        settle_at: Option<i64>,
    },
    /// It consists of shards.
    Whole {
        total: u32,
        shards: BTreeSet<u32>,
        ended: u32,
    },
    Over,
}

#[derive(Debug)]
struct RunAccount {
    doing: RunDoing,
    parent: Option<RunId>,
    attempts: u32,
    returned: u32,
}

#[derive(Debug, Default)]
pub(super) struct RunAccounts {
    all: BTreeMap<RunId, RunAccount>,
    last_token: u64,
}

/// Who got an attempt, and until when it has to report.
pub(super) struct GivenTo<'a> {
    pub(super) attempt: u32,
    pub(super) token: u64,
    pub(super) executor: &'a Incarnation,
    pub(super) deadline: i64,
}

impl RunAccounts {
    fn get(&mut self, run: RunId) -> Result<&mut RunAccount, String> {
        match self.all.get_mut(&run) {
            Some(found) if found.doing != RunDoing::Over => Ok(found),
            Some(_) => Err(format!("run {run} is over, and something happened to it")),
            None => Err(format!("run {run} was never triggered")),
        }
    }

    pub(super) fn triggered(&mut self, run: RunId, parent: Option<RunId>) -> Ruling {
        let doing = RunDoing::Waiting { not_before: i64::MIN };
        let account = RunAccount { doing, parent, attempts: 0, returned: 0 };
        let known = self.all.insert(run, account).is_some();
        require(!known, || format!("run {run} was triggered twice"))
    }

    pub(super) fn broadcast(&mut self, run: RunId, total: u32) -> Ruling {
        let found = self.get(run)?;
        let waited = matches!(found.doing, RunDoing::Waiting { .. });
        found.doing = RunDoing::Whole { total, shards: BTreeSet::new(), ended: 0 };
        require(waited, || format!("run {run} was broadcast while it did not wait"))
    }

    pub(super) fn shard(&mut self, run: RunId, parent: RunId, index: u32) -> Ruling {
        self.triggered(run, Some(parent))?;
        match &mut self.get(parent)?.doing {
            RunDoing::Whole { total, shards, .. } => {
                let (fits, new) = (index < *total, shards.insert(index));
                require(fits && new, || format!("shard {index} of {parent} is one too many"))
            }
            other => Err(format!("a shard of {parent}, which is {other:?}")),
        }
    }

    pub(super) fn started(&mut self, run: RunId, given: &GivenTo<'_>, definition: &Definition, at: i64) -> Ruling {
        let is_whole =
            |account: &&RunAccount| account.parent.is_none() && matches!(account.doing, RunDoing::Running { .. });
        let busy = self.all.values().filter(is_whole).count();
        let (last, width) = (std::mem::replace(&mut self.last_token, given.token), definition.block.width());
        let found = self.get(run)?;
        let before = found.doing.clone();
        let (next, is_shard) = (found.attempts + 1, found.parent.is_some());
        found.attempts = given.attempt;
        let (attempt, token, deadline) = (given.attempt, given.token, given.deadline);
        found.doing = RunDoing::Running { attempt, token, deadline, settle_at: None };
        require(attempt == next, || format!("run {run}: attempt {attempt} began, {next} was next"))?;
        require(token > last, || format!("run {run}: token {token} does not come after {last}"))?;
        require(is_shard || busy < width, || format!("run {run} started beside {busy} others, width {width}"))?;
        match before {
            RunDoing::Waiting { not_before } => {
                require(at >= not_before, || format!("run {run} started at {at}, before {not_before}"))
            }
            other => Err(format!("run {run} was started while it was {other:?}")),
        }
    }

    fn running(&mut self, run: RunId) -> Result<(u32, u64, i64, Option<i64>), String> {
        match &self.get(run)?.doing {
            RunDoing::Running { attempt, token, deadline, settle_at } => Ok((*attempt, *token, *deadline, *settle_at)),
            other => Err(format!("run {run} does not run: {other:?}")),
        }
    }

    /// It is over for good; a shard is counted where it belongs.
    pub(super) fn over(&mut self, run: RunId) -> Ruling {
        let found = self.get(run)?;
        let (parent, before) = (found.parent, std::mem::replace(&mut found.doing, RunDoing::Over));
        if let Some(whole) = parent.and_then(|parent| self.all.get_mut(&parent))
            && let RunDoing::Whole { ended, .. } = &mut whole.doing
        {
            *ended += 1;
        }
        match before {
            RunDoing::Whole { total, shards, ended } => {
                let all = shards.len() == total as usize && ended == total;
                require(all, || {
                    format!("run {run} ended with {} of {total} shards, {ended} of them over", shards.len())
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn executed(&mut self, run: RunId, attempt: u32, proofs: &Proofs) -> Ruling {
        if matches!(self.get(run)?.doing, RunDoing::Whole { .. }) {
            return self.over(run);
        }
        let (current, token, ..) = self.running(run)?;
        self.over(run)?;
        require(current == attempt, || format!("run {run}: attempt {attempt} ended, not the current {current}"))?;
        let end = proofs.end(run, token);
        require(end == Some(&WorkResult::Well), || format!("run {run} is recorded as completed, it ended as {end:?}"))
    }

    pub(super) fn failed(
        &mut self,
        run: RunId,
        event: &Event,
        definition: &Definition,
        entry: WholeEntry,
        proofs: &Proofs,
    ) -> Ruling {
        let at = entry.at;
        let Event::JobFailed { attempt, reason, retry_at, .. } = event else { return Ok(()) };
        if matches!(self.get(run)?.doing, RunDoing::Whole { .. }) {
            return self.over(run);
        }
        let (current, token, deadline, settle_at) = self.running(run)?;
        let tried = attempt.saturating_sub(self.get(run)?.returned);
        match retry_at {
            Some(until) => self.get(run)?.doing = RunDoing::Backoff { until: until.ms() },
            None => self.over(run)?,
        }
        require(current == *attempt, || format!("run {run}: attempt {attempt} ended, not the current {current}"))?;
        let is_known = match reason.as_str() {
            NO_REPORT => {
                require(at >= deadline, || format!("run {run} was given up at {at}, before its deadline {deadline}"))?;
                false
            }
            RECOVERED => {
                require(settle_at.is_some_and(|settle| at >= settle), || format!("run {run} was recovered too early"))?;
                false
            }
            lost if lost.starts_with("the executor ") => {
                if lost.contains(UNSPOKEN_OF) {
                    proofs.is_silent(run, token, entry.mono)?;
                }
                false
            }
            "interrupted by shutdown" => false,
            // What the engine itself says of an attempt that it could not bring to an end.
            said if ENGINES_OWN.iter().any(|start| said.starts_with(start)) => true,
            reason => {
                let end = proofs.end(run, token);
                require(end == Some(&WorkResult::Badly(reason.to_owned())), || {
                    format!("run {run} failed as {reason:?}, it ended as {end:?}")
                })?;
                true
            }
        };
        let again = tried < definition.retry.max_attempts && (is_known || definition.idempotent);
        let wanted = again.then(|| at + backoff_ms(definition, tried));
        require(retry_at.map(|at| at.ms()) == wanted, || {
            format!("run {run}: after {tried} tries, again at {retry_at:?}, by its policy {wanted:?}")
        })
    }

    pub(super) fn ready(&mut self, run: RunId, at: i64) -> Ruling {
        let found = self.get(run)?;
        let waiting = RunDoing::Waiting { not_before: i64::MIN };
        match std::mem::replace(&mut found.doing, waiting) {
            RunDoing::Backoff { until } | RunDoing::Waiting { not_before: until } => {
                require(at >= until, || format!("run {run} is ready at {at}, not before {until}"))
            }
            other => Err(format!("run {run} is ready, but was {other:?}")),
        }
    }

    pub(super) fn returned(&mut self, run: RunId, attempt: u32, until: i64, at: i64) -> Ruling {
        let (current, ..) = self.running(run)?;
        let found = self.get(run)?;
        found.returned += 1;
        // One that waits for nothing may begin on a node whose clock is a moment behind.
        found.doing = RunDoing::Waiting { not_before: if until > at { until } else { i64::MIN } };
        require(current == attempt, || format!("run {run}: attempt {attempt} was given back, not {current}"))
    }

    pub(super) fn orphaned(&mut self, run: RunId, settle: i64) -> Ruling {
        self.running(run)?;
        if let RunDoing::Running { settle_at, .. } = &mut self.get(run)?.doing {
            *settle_at = Some(settle);
        }
        Ok(())
    }

    pub(super) fn extended(&mut self, run: RunId, until: i64) -> Ruling {
        self.running(run)?;
        if let RunDoing::Running { deadline, settle_at, .. } = &mut self.get(run)?.doing {
            (*deadline, *settle_at) = (until, None);
        }
        Ok(())
    }

    /// The clock was set: lengths of time move with it.
    pub(super) fn clock_stepped(&mut self, by_ms: i64) {
        for account in self.all.values_mut() {
            match &mut account.doing {
                RunDoing::Backoff { until } => *until += by_ms,
                RunDoing::Waiting { not_before } => *not_before = not_before.saturating_add(by_ms),
                RunDoing::Running { deadline, settle_at, .. } => {
                    *deadline += by_ms;
                    settle_at.iter_mut().for_each(|settle| *settle += by_ms);
                }
                RunDoing::Whole { .. } | RunDoing::Over => {}
            }
        }
    }

    /// How many came to their end, shards aside.
    pub(super) fn ended(&self) -> usize {
        self.all.values().filter(|account| account.doing == RunDoing::Over && account.parent.is_none()).count()
    }

    pub(super) fn active(&self) -> Vec<RunId> {
        self.all.iter().filter(|(_, account)| account.doing != RunDoing::Over).map(|(run, _)| *run).collect()
    }
}
