//! The books of a world: takes in fact by fact, and says which rules each one breaks.

use std::collections::BTreeMap;

use ordo_model::job::{Cause, Definition, Event, SkipReason};
use ordo_model::{JobId, RunId, Timestamp};
use std::sync::Arc;
use uuid::Uuid;

use super::client_commands::ClientCommands;
use super::evidence::{Evidence, GivenAttempt};
use super::occurrences::{Ledger, OraclePhase};
use super::runs::{Alive, FailedAttempt, NO_REPORT, Runs};
use super::{Ruling, require};
use crate::record::history::{Fact, FactKind, History};

/// How late something may be without anything having gone wrong.
const PUNCTUAL_MS: i64 = 1_500;
/// How long a report may take to be written down when nothing goes wrong.
const HEARING_MS: i64 = 10_000;
/// How long trouble may still be felt.
const ECHO_MS: i64 = 3_000;

pub(super) struct Books<'h> {
    history: &'h History,
    jobs: BTreeMap<JobId, JobBook>,
    client_commands: ClientCommands,
    evidence: Evidence,
    generation: Option<Uuid>,
    /// When it came up, by its own clock.
    booted_at: i64,
    trouble_until: i64,
    /// The latest the clock has shown.
    wall_max: i64,
}

struct JobBook {
    definition: Arc<Definition>,
    version: u64,
    last_at: i64,
    ledger: Ledger,
    runs: Runs,
    /// Forgotten by retention.
    gone: bool,
}

/// A log entry, as the rules need it.
#[derive(Clone, Copy)]
struct LogEntry<'f> {
    job: JobId,
    version: u64,
    at: i64,
    mono: i64,
    acked: bool,
    event: &'f Event,
}

impl<'h> Books<'h> {
    pub(super) fn new(history: &'h History) -> Books<'h> {
        Books {
            history,
            jobs: BTreeMap::new(),
            client_commands: ClientCommands::default(),
            evidence: Evidence::default(),
            generation: None,
            booted_at: i64::MIN,
            trouble_until: 0,
            wall_max: i64::MIN,
        }
    }

    pub(super) fn take(&mut self, fact: &Fact) -> Vec<String> {
        self.wall_max = self.wall_max.max(fact.wall);
        let verdict = match &fact.what {
            FactKind::Asked { op, job, client_command } => {
                self.client_commands.asked(*op, *job, client_command, fact.mono);
                Ok(())
            }
            FactKind::Answered { op, reply } => self.client_commands.answered(*op, reply, fact.mono),
            FactKind::Logged { job, version, at, acked, event } => {
                let entry = LogEntry { job: *job, version: *version, at: *at, mono: fact.mono, acked: *acked, event };
                return self.logged(entry);
            }
            FactKind::Executing { generation, job, run, token, .. } => {
                let book = self.jobs.get(job);
                self.evidence.executing(*job, *run, *token, *generation, book.map(|book| &book.runs))
            }
            FactKind::Reported { run, token, report } => self.evidence.reported(*run, *token, report, fact.mono),
            FactKind::Stale { run, token, refused } => {
                require(*refused, || format!("a second report of run {run} token {token} was accepted"))
            }
            FactKind::Booted { generation, found } => {
                (self.generation, self.booted_at) = (Some(*generation), fact.wall);
                return self.survived(found, self.wall_max);
            }
            FactKind::Crashed { .. } => {
                self.evidence.crashed();
                Ok(())
            }
            FactKind::Trouble { until } => {
                self.trouble_until = self.trouble_until.max(*until);
                Ok(())
            }
            FactKind::Lost { job, at } => {
                self.evidence.lost(*job, *at);
                Ok(())
            }
            FactKind::Calm => Ok(()),
            FactKind::Quiet => return self.nothing_overdue(fact.wall),
        };
        verdict.err().into_iter().collect()
    }

    // --- the log --------------------------------------------------------------------------------

    fn logged(&mut self, entry: LogEntry<'_>) -> Vec<String> {
        let verdicts = [
            self.client_commands.logged(entry.job, entry.event, entry.mono),
            require(entry.at <= self.wall_max, || "it bears a time that has not come".into()),
            self.in_sequence(entry),
            self.booked(entry),
        ];
        let phase = self.jobs.get(&entry.job).map(|book| book.ledger.phase);
        self.client_commands.in_phase(entry.job, phase.unwrap_or(OraclePhase::Active), entry.mono);
        let name = entry.event.name();
        verdicts.into_iter().filter_map(Ruling::err).map(|text| format!("{name} of {}: {text}", entry.job)).collect()
    }

    fn in_sequence(&mut self, entry: LogEntry<'_>) -> Ruling {
        let LogEntry { job, version, at, event, .. } = entry;
        match (self.jobs.get_mut(&job), event) {
            (None, Event::JobScheduled { definition, held, .. }) => {
                let ledger = Ledger::new(definition, *held, at, self.history.within);
                let runs = Runs::default();
                let definition = definition.clone();
                self.jobs.insert(job, JobBook { definition, version, last_at: at, ledger, runs, gone: false });
                require(version == 1, || format!("begins with version {version}"))
            }
            (None, _) => Err("the stream does not begin with JobScheduled".into()),
            (Some(_), Event::JobScheduled { .. }) => Err("scheduled twice".into()),
            (Some(book), _) => {
                let next = std::mem::replace(&mut book.version, version) + 1;
                if !matches!(event, Event::HistoryTrimmed { .. } | Event::Published { .. }) {
                    book.last_at = at;
                }
                require(version == next && !book.gone, || format!("version {version} follows, not {next}"))
            }
        }
    }

    fn booked(&mut self, entry: LogEntry<'_>) -> Ruling {
        let booted_at = self.booted_at;
        let (alive, tick_ms, evidence) = (self.generation, self.history.tick_ms, &mut self.evidence);
        let book = self.jobs.get_mut(&entry.job).ok_or("an unknown job")?;
        let at = entry.at;
        match entry.event {
            Event::JobScheduled { .. } | Event::HistoryTrimmed { .. } | Event::Published { .. } => Ok(()),
            Event::JobUpdated { definition, .. } => {
                let same = definition.trigger == book.definition.trigger;
                book.definition = definition.clone();
                book.ledger.updated(definition, same, at)
            }
            Event::JobPaused { .. } => book.ledger.paused(at),
            Event::JobResumed { .. } => book.ledger.resumed(at),
            Event::JobCancelled { .. } => book.ledger.cancelled(at),
            Event::BackfillRequested { from, to, .. } => book.ledger.backfill(from.ms(), to.ms(), at),
            Event::JobTriggered { .. } | Event::JobSkipped { .. } => book.outcome(entry, self.trouble_until),
            Event::JobStarted { run_id, attempt, token, executor, deadline, .. } => {
                let (generation, width) = (executor.generation, book.definition.block.width());
                let given = GivenAttempt { job: entry.job, generation, at, width, surely: entry.acked };
                evidence.started((*run_id, token.0), given);
                let who = (*attempt, token.0, executor);
                book.runs.started(*run_id, who, deadline.ms(), &book.definition, at)?;
                require(!entry.acked || Some(executor.generation) == alive, || {
                    "started by a generation that is over".into()
                })
            }
            Event::JobExecuted { run_id, attempt, .. } => {
                book.runs.executed(*run_id, *attempt, |token| evidence.report(*run_id, token))
            }
            Event::JobFailed { run_id, attempt, reason, retry_at, .. } => {
                let failure = FailedAttempt { attempt: *attempt, reason, retry_at: retry_at.map(Timestamp::ms), at };
                let report = |token| evidence.report(*run_id, token);
                let is_unheard = book.is_unheard(*run_id, evidence, entry.mono, self.trouble_until);
                require(reason != NO_REPORT || !is_unheard, || format!("run {run_id} was reported, and not heard"))?;
                let alive = Alive { generation: alive, booted_at };
                book.runs.failed(*run_id, &failure, &book.definition, alive, report)
            }
            Event::RunReady { run_id } => book.runs.ready(*run_id, at),
            Event::RunCancelRequested { run_id, .. } => book.runs.cancel_requested(*run_id),
            Event::RunCancelled { run_id, .. } => {
                let is_ended =
                    |token| evidence.report(*run_id, token).is_some() || evidence.is_disowned(*run_id, token);
                book.runs.cancelled(*run_id, at, is_ended)
            }
            Event::RunReturned { run_id, attempt, .. } => {
                book.runs.returned(*run_id, *attempt, |token| evidence.is_disowned(*run_id, token))
            }
            Event::RunExpired { run_id }
            | Event::RunBroadcast { run_id, .. }
            | Event::ShardTriggered { run_id, .. } => Err(format!(
                "{run_id}: {} needs executors elsewhere or a limit, and there are none",
                entry.event.name()
            )),
            Event::AttemptExtended { run_id, .. } => Err(format!("{run_id}: executors elsewhere, and there are none")),
            Event::ClockStepped { .. } => Err("the clock of this world follows from its moments alone".to_owned()),
            Event::JobFollowed {} | Event::UpstreamEnded { .. } => Err("a chain, and there are none".to_owned()),
            Event::RunOrphaned { run_id, settle_at } => book.runs.orphaned(*run_id, settle_at.ms(), alive, tick_ms),
        }
    }

    // --- what is there after a restart, in the calm and at the end ------------------------------

    /// Nothing that was in the log is missing, nothing came by itself.
    fn survived(&mut self, found: &BTreeMap<JobId, u64>, wall_max: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        for (job, book) in &mut self.jobs {
            match found.get(job) {
                Some(version) if *version == book.version && !book.gone => {}
                None if book.gone || book.may_be_forgotten(wall_max) => book.gone = true,
                other => wrong.push(format!("{job} was at version {}, now {other:?} is found", book.version)),
            }
        }
        let unknown = found.keys().filter(|job| !self.jobs.contains_key(job));
        wrong.extend(unknown.map(|job| format!("{job} is in the store but not in the log")));
        wrong
    }

    fn nothing_overdue(&self, wall: i64) -> Vec<String> {
        let active = self.jobs.iter().filter(|(_, book)| book.ledger.phase == OraclePhase::Active && !book.gone);
        let overdue = active.filter_map(|(job, book)| Some((job, book.ledger.nothing_due(wall - ECHO_MS).err()?)));
        overdue.map(|(job, text)| format!("{job} stays overdue though all is well: {text}")).collect()
    }

    pub(super) fn close(mut self) -> Vec<String> {
        let end = &self.history.end;
        let mut wrong = self.survived(&end.found, end.wall_max);
        // One whose next attempt is still to come holds up those behind it.
        let is_stuck = |book: &JobBook| !book.runs.active().is_empty() && !book.runs.is_due_after(end.wall);
        for (job, book) in self.jobs.iter().filter(|(_, book)| is_stuck(book)) {
            let stuck = book.runs.active().iter().filter_map(|run| Some((run, &book.runs.get(*run)?.stage)));
            wrong.push(format!("{job} has runs that never end: {:?}", stuck.collect::<Vec<_>>()));
        }
        if end.slots_taken != end.executing {
            wrong.push(format!("{} places are taken by {} attempts", end.slots_taken, end.executing));
        }
        wrong.extend(self.evidence.close(self.generation));
        wrong.extend(self.client_commands.close());
        wrong.extend(end.differences.iter().map(|text| format!("the store: {text}")));
        wrong
    }
}

impl JobBook {
    /// Whether the report of the run was given so long ago that it must have been written down.
    fn is_unheard(&self, run: RunId, evidence: &Evidence, mono: i64, trouble_until: i64) -> bool {
        let given = self.runs.running_token(run).and_then(|token| evidence.given_at(run, token));
        given.is_some_and(|given| mono - given.max(trouble_until) > HEARING_MS)
    }

    fn may_be_forgotten(&self, wall_max: i64) -> bool {
        let age = self.definition.retention.age.ms() as i64;
        self.ledger.is_over() && self.runs.active().is_empty() && self.last_at + age <= wall_max
    }

    /// An occurrence, or somebody's wish, got its outcome.
    fn outcome(&mut self, entry: LogEntry<'_>, trouble_until: i64) -> Ruling {
        let at = entry.at;
        match entry.event {
            Event::JobTriggered { run_id, cause, timeliness, .. } => {
                self.runs.triggered(*run_id, self.definition.block)?;
                match cause {
                    Cause::Schedule { occurrence, .. } => {
                        let late = self.ledger.fired(*occurrence, at)?;
                        self.ledger.check_timeliness(self.definition.misfire, *timeliness, late, at)?;
                        self.punctual(entry, late, trouble_until)
                    }
                    Cause::Backfill { occurrence, .. } => self.ledger.backfilled(occurrence.nominal.ms(), false),
                    Cause::Manual | Cause::Retry { .. } | Cause::Webhook { .. } | Cause::After { .. } => Ok(()),
                }
            }
            Event::JobSkipped { reason, cause, gap, .. } => match cause {
                Cause::Schedule { .. } => {
                    let late = gap.map_or(0, |gap| at - gap.to.ms());
                    self.ledger.skipped(*reason, *gap, at)?;
                    if *reason == SkipReason::Misfire { self.punctual(entry, late, trouble_until) } else { Ok(()) }
                }
                Cause::Backfill { .. } if *reason == SkipReason::Changed => self.ledger.backfill_ended(*gap),
                Cause::Backfill { occurrence, .. } => self.ledger.backfilled(occurrence.nominal.ms(), false),
                Cause::Manual | Cause::Retry { .. } | Cause::Webhook { .. } | Cause::After { .. } => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whatever is late has a reason to be.
    fn punctual(&self, entry: LogEntry<'_>, late: i64, trouble_until: i64) -> Ruling {
        let asleep = entry.at - late < self.ledger.awake_since;
        let troubled = entry.mono - late - ECHO_MS <= trouble_until;
        require(late <= PUNCTUAL_MS || asleep || troubled, || format!("late by {late} ms without a reason"))
    }
}
