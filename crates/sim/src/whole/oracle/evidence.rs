//! What was really executed, against what the log says was given to whom.

use std::collections::BTreeMap;

use ordo_model::{Incarnation, RunId};
use uuid::Uuid;

use crate::oracle::{Ruling, require};
use crate::whole::facts::WorkResult;

/// For how long an executor need not speak of an attempt.
const LEASE_MS: i64 = 15_000;

#[derive(Default)]
pub(super) struct Proofs {
    given: BTreeMap<(RunId, u64), Incarnation>,
    begun: BTreeMap<(RunId, u64), u32>,
    ended: BTreeMap<(RunId, u64), WorkResult>,
    /// When the last acknowledged heartbeat that named the attempt was sent.
    named: BTreeMap<(RunId, u64), i64>,
}

impl Proofs {
    pub(super) fn given(&mut self, run: RunId, token: u64, to: &Incarnation) {
        self.given.insert((run, token), to.clone());
    }

    pub(super) fn executing(&mut self, by: Uuid, run: RunId, token: u64) -> Ruling {
        let count = self.begun.entry((run, token)).or_default();
        *count += 1;
        let count = *count;
        let to = self.given.get(&(run, token));
        let to = to.ok_or_else(|| format!("run {run} token {token} was executed without a start in the log"))?;
        // A node executes under its own name; an executor elsewhere under its generation.
        let right = if by.is_nil() { to.executor.starts_with("node-") } else { to.generation == by };
        require(right, || format!("run {run} token {token} was executed by {by}; the log gave it to {to:?}"))?;
        require(count == 1, || format!("run {run} token {token} was executed {count} times"))
    }

    pub(super) fn executed(&mut self, run: RunId, token: u64, end: &WorkResult) -> Ruling {
        let twice = self.ended.insert((run, token), end.clone()).is_some();
        require(!twice, || format!("run {run} token {token} ended twice"))
    }

    pub(super) fn named(&mut self, sent: i64, attempts: &[(RunId, u64)]) {
        for attempt in attempts {
            let last = self.named.entry(*attempt).or_insert(sent);
            *last = sent.max(*last);
        }
    }

    /// An attempt is given up as silent only if no heartbeat that was acknowledged has named it for the time of a lease.
    pub(super) fn is_silent(&self, run: RunId, token: u64, mono: i64) -> Ruling {
        let Some(sent) = self.named.get(&(run, token)) else { return Ok(()) };
        let ago = mono - sent;
        require(ago >= LEASE_MS, || {
            format!("run {run} token {token} was given up as silent, {ago} ms after a heartbeat that named it")
        })
    }

    /// How many attempts that nodes began have not come to their end: they may still occupy a place.
    pub(super) fn unended(&self) -> usize {
        let local = self.given.iter().filter(|(_, to)| to.executor.starts_with("node-"));
        local.filter(|(attempt, _)| self.begun.contains_key(attempt) && !self.ended.contains_key(attempt)).count()
    }

    pub(super) fn end(&self, run: RunId, token: u64) -> Option<&WorkResult> {
        self.ended.get(&(run, token))
    }
}
