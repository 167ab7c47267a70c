//! Jobs in account: every occurrence has one outcome at its time, every run comes to one end, every delivery leads to one
//! run of each job that listens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ordo_model::hook::{DeliveryEvent, DeliveryOutcome};
use ordo_model::job::{Cause, Definition, Event, SkipReason};
use ordo_model::schedule::Rule;
use ordo_model::{EntityId, JobId, Kind, RunId};
use uuid::Uuid;

use super::WholeEntry;
use super::evidence::Proofs;
use super::runs::{GivenTo, RunAccounts};
use crate::oracle::occurrences::{Ledger, OraclePhase};
use crate::oracle::{Ruling, require};
use crate::whole::facts::WholeHistory;

/// How late something may be without anything having gone wrong.
const PUNCTUAL_MS: i64 = 3_000;
/// How long trouble may still be felt: leases of nodes end, alarms that nobody serves are taken over.
const ECHO_MS: i64 = 45_000;

pub(super) struct JobAccounts<'h> {
    history: &'h WholeHistory,
    jobs: BTreeMap<JobId, JobAccount>,
    /// Runs by delivery, replay and job.
    delivered: BTreeMap<(Uuid, u32, JobId), RunId>,
    refused: BTreeSet<(Uuid, JobId)>,
    bound: BTreeMap<Uuid, Vec<JobId>>,
}

struct JobAccount {
    definition: Arc<Definition>,
    /// None: when it is due cannot be said from outside, because its clock was set back.
    ledger: Option<Ledger>,
    runs: RunAccounts,
    skipped: usize,
}

/// Whether an attempt ended because its executor was not heard of.
pub(super) fn is_loss(event: &Event) -> bool {
    matches!(event, Event::JobFailed { reason, .. } if reason.starts_with("the executor "))
}

impl<'h> JobAccounts<'h> {
    pub(super) fn new(history: &'h WholeHistory) -> JobAccounts<'h> {
        JobAccounts {
            history,
            jobs: BTreeMap::new(),
            delivered: BTreeMap::new(),
            refused: BTreeSet::new(),
            bound: BTreeMap::new(),
        }
    }

    fn begin(&mut self, job: JobId, definition: &Arc<Definition>, held: bool, at: i64) {
        let rule = definition.trigger.schedule().map(|schedule| &schedule.rule);
        let beats = matches!(rule, Some(Rule::Every { .. }));
        let is_known = !(beats && self.history.is_set_back);
        let ledger = is_known.then(|| Ledger::new(definition, held, at, self.history.within));
        self.jobs.insert(
            job,
            JobAccount { definition: definition.clone(), ledger, runs: RunAccounts::default(), skipped: 0 },
        );
    }

    pub(super) fn logged(
        &mut self,
        entry: WholeEntry,
        event: &Event,
        proofs: &mut Proofs,
        trouble_until: i64,
    ) -> Ruling {
        let job = JobId(entry.entity.id);
        if let Event::JobScheduled { definition, held, .. } = event {
            self.begin(job, definition, *held, entry.at);
            return Ok(());
        }
        if let Event::JobTriggered { cause, run_id, .. } | Event::JobSkipped { cause, run_id, .. } = event {
            self.by_delivery(job, *run_id, cause)?;
        }
        let account = self.jobs.get_mut(&job).ok_or("an unknown job")?;
        account.logged(entry, event, proofs, trouble_until)
    }

    fn by_delivery(&mut self, job: JobId, run: RunId, cause: &Cause) -> Ruling {
        let Cause::Webhook { delivery, replay } = cause else { return Ok(()) };
        let before = self.delivered.insert((*delivery, *replay, job), run);
        require(before.is_none(), || format!("delivery {delivery} led to {run} after {before:?}"))
    }

    pub(super) fn delivery(&mut self, entry: WholeEntry, event: &DeliveryEvent) -> Ruling {
        let id = entry.entity.id;
        match event {
            DeliveryEvent::DeliveryReceived { jobs, .. } => {
                let before = self.bound.insert(id, jobs.clone());
                require(before.is_none(), || "received twice".into())
            }
            DeliveryEvent::DeliveryRouted { bound, .. } => {
                let refused = bound.iter().filter(|bound| matches!(bound.outcome, DeliveryOutcome::Refused { .. }));
                self.refused.extend(refused.map(|bound| (id, bound.job)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn purged(&mut self, entity: EntityId) -> Ruling {
        if entity.kind != Kind::Job {
            return Ok(());
        }
        let account = self.jobs.remove(&JobId(entity.id)).ok_or("a job was purged that was never there")?;
        let active = account.runs.active();
        require(active.is_empty(), || format!("{entity} was purged with runs {active:?}"))?;
        let over = account.ledger.is_none_or(|ledger| ledger.is_over());
        require(over, || format!("{entity} was purged though its schedule is not over"))
    }

    pub(super) fn nothing_overdue(&self, wall: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        for (job, account) in &self.jobs {
            let Some(ledger) = account.ledger.as_ref().filter(|ledger| ledger.phase == OraclePhase::Active) else {
                continue;
            };
            if let Err(text) = ledger.nothing_due(wall - PUNCTUAL_MS) {
                wrong.push(format!("{job} stays overdue though all is well: {text}"));
            }
        }
        wrong
    }

    pub(super) fn close(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (job, account) in &self.jobs {
            let all = account.runs.ended() + account.skipped;
            let wanted = all.min(account.definition.retention.runs as usize);
            let kept = self.history.end.kept.get(job).copied().unwrap_or(0);
            if kept < wanted {
                wrong.push(format!("{job} keeps {kept} runs of {all}, it should keep {wanted}"));
            }
            let active = account.runs.active();
            if !active.is_empty() {
                wrong.push(format!("{job} has runs that never end: {active:?}"));
            }
        }
        for (delivery, job) in self.bound.iter().flat_map(|(id, jobs)| jobs.iter().map(move |job| (*id, *job))) {
            if !self.delivered.contains_key(&(delivery, 0, job)) && !self.refused.contains(&(delivery, job)) {
                wrong.push(format!("delivery {delivery} never came to {job}"));
            }
        }
        wrong
    }
}

impl JobAccount {
    fn logged(&mut self, entry: WholeEntry, event: &Event, proofs: &mut Proofs, trouble_until: i64) -> Ruling {
        let at = entry.at;
        match event {
            Event::JobScheduled { .. }
            | Event::HistoryTrimmed { .. }
            | Event::Published { .. }
            | Event::JobFollowed {}
            | Event::UpstreamEnded { .. } => Ok(()),
            Event::BackfillRequested { .. } => Err("nobody asks for backfills here".to_owned()),
            Event::JobUpdated { definition, .. } => {
                self.definition = definition.clone();
                Ok(())
            }
            Event::JobPaused { .. } => self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.paused(at)),
            Event::JobResumed { .. } => self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.resumed(at)),
            Event::JobCancelled { .. } => self.ledger.as_mut().map_or(Ok(()), |ledger| ledger.cancelled(at)),
            Event::JobTriggered { run_id, .. } => {
                self.runs.triggered(*run_id, None)?;
                self.fired(entry, event, trouble_until)
            }
            Event::JobSkipped { .. } => self.skipped(entry, event, trouble_until),
            Event::RunBroadcast { run_id, total } => self.runs.broadcast(*run_id, *total),
            Event::ShardTriggered { run_id, parent, index, .. } => self.runs.shard(*run_id, *parent, *index),
            Event::JobStarted { run_id, attempt, token, executor, deadline, .. } => {
                proofs.given(*run_id, token.0, executor);
                let given = GivenTo { attempt: *attempt, token: token.0, executor, deadline: deadline.ms() };
                debug_assert!(!given.executor.executor.is_empty(), "somebody has it");
                self.runs.started(*run_id, &given, &self.definition, at)
            }
            Event::JobExecuted { run_id, attempt, .. } => self.runs.executed(*run_id, *attempt, proofs),
            Event::JobFailed { run_id, .. } => self.runs.failed(*run_id, event, &self.definition, entry, proofs),
            Event::RunReady { run_id } => self.runs.ready(*run_id, at),
            Event::RunCancelRequested { .. } => Ok(()),
            Event::RunCancelled { run_id, .. } | Event::RunExpired { run_id } => self.runs.over(*run_id),
            Event::RunReturned { run_id, attempt, until, .. } => self.runs.returned(*run_id, *attempt, until.ms(), at),
            Event::RunOrphaned { run_id, settle_at } => self.runs.orphaned(*run_id, settle_at.ms()),
            Event::AttemptExtended { run_id, deadline } => self.runs.extended(*run_id, deadline.ms()),
            Event::ClockStepped { by_ms, .. } => {
                self.runs.clock_stepped(*by_ms);
                Ok(())
            }
        }
    }

    fn fired(&mut self, entry: WholeEntry, event: &Event, trouble_until: i64) -> Ruling {
        let Event::JobTriggered { cause: Cause::Schedule { occurrence, .. }, timeliness, .. } = event else {
            return Ok(());
        };
        let Some(ledger) = &mut self.ledger else {
            let early = entry.at < occurrence.due.ms();
            return require(!early, || format!("{occurrence:?} fired early, at {}", entry.at));
        };
        let late = ledger.fired(*occurrence, entry.at)?;
        ledger.check_timeliness(self.definition.misfire, *timeliness, late, entry.at)?;
        self.punctual(entry, late, trouble_until)
    }

    fn skipped(&mut self, entry: WholeEntry, event: &Event, trouble_until: i64) -> Ruling {
        self.skipped += 1;
        let Event::JobSkipped { reason, cause: Cause::Schedule { .. }, gap, .. } = event else { return Ok(()) };
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let late = gap.map_or(0, |gap| entry.at - gap.to.ms());
        ledger.skipped(*reason, *gap, entry.at)?;
        if *reason == SkipReason::Misfire { self.punctual(entry, late, trouble_until) } else { Ok(()) }
    }

    /// Whatever is late has a reason to be.
    fn punctual(&self, entry: WholeEntry, late: i64, trouble_until: i64) -> Ruling {
        let asleep = self.ledger.as_ref().is_some_and(|ledger| entry.at - late < ledger.awake_since);
        let troubled = entry.mono - late - ECHO_MS <= trouble_until;
        require(late <= PUNCTUAL_MS || asleep || troubled, || format!("late by {late} ms without a reason"))
    }
}
