//! The oracle of the job properties: its own account of what must have happened to each nominal time.
//!
//! It shares no rule with the model: times are counted out one by one, policies are read from the JSON that was sent.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::job::{Cause, Event, Job, JobState, SkipReason, Timeliness};
use ordo_model::{Millis, RunId, Timestamp};
use serde_json::{Value, json};

use crate::story::Story;

const WINDOW_MS: i64 = 5_000;
const MISFIRE_MS: i64 = 10_000;
const CATCH_UP: usize = 100;

/// A trigger as the oracle understands it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OracleTrigger {
    Every {
        every: u64,
        started_ago: Option<u64>,
        jitter: u64,
        lasts: Option<u64>,
    },
    /// A cron of every so many seconds of the minute.
    Seconds {
        every: u64,
    },
    /// A cron of every so many minutes of the hour.
    Minutes {
        every: u64,
    },
    /// A one-off, from a minute ago to some time ahead.
    At {
        ahead: u64,
    },
    Manual,
}

impl OracleTrigger {
    /// The trigger to ask for at `now`.
    pub(crate) fn trigger(&self, now: Timestamp) -> Value {
        match *self {
            OracleTrigger::Every { every, started_ago, jitter, lasts } => {
                let mut trigger = json!({"type": "scheduled", "every": Millis::from_ms(every)});
                if let Some(ago) = started_ago {
                    trigger["start"] = json!(now.minus(Millis::from_ms(ago)));
                }
                if let Some(lasts) = lasts {
                    trigger["end"] = json!(now.plus(Millis::from_ms(every + lasts)));
                }
                if jitter > 0 {
                    trigger["jitter"] = json!(Millis::from_ms(jitter));
                }
                trigger
            }
            OracleTrigger::Seconds { every } => json!({"type": "scheduled", "cron": format!("*/{every} * * * * *")}),
            OracleTrigger::Minutes { every } => json!({"type": "scheduled", "cron": format!("*/{every} * * * *")}),
            OracleTrigger::At { ahead } => json!({"type": "scheduled", "at": one_off(ahead, now)}),
            OracleTrigger::Manual => json!({"type": "manual"}),
        }
    }
}

fn one_off(ahead: u64, now: Timestamp) -> Timestamp {
    now.minus(Millis::from_ms(60_000)).plus(Millis::from_ms(ahead))
}

/// The nominal times under one trigger, and what became of them.
#[derive(Debug)]
struct Epoch {
    rule: OracleRule,
    /// Nominal times before this never were occurrences.
    from: i64,
    jitter: i64,
    outcomes: BTreeSet<i64>,
    /// All nominal times before this are known to have their outcome.
    checked_to: i64,
    /// A one-off asked for after its time is late only from then on.
    known_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum OracleRule {
    Every { start: i64, every: i64, end: i64 },
    Seconds { every: i64 },
    Minutes { every: i64 },
    At(i64),
    Never,
}

impl OracleRule {
    fn of(beat: OracleTrigger, now: i64) -> OracleRule {
        match beat {
            OracleTrigger::Every { every, started_ago, lasts, .. } => {
                let every = every as i64;
                let start = started_ago.map_or(now + every, |ago| now - ago as i64);
                OracleRule::Every { start, every, end: lasts.map_or(i64::MAX, |lasts| now + every + lasts as i64) }
            }
            OracleTrigger::Seconds { every } => OracleRule::Seconds { every: every as i64 },
            OracleTrigger::Minutes { every } => OracleRule::Minutes { every: every as i64 },
            OracleTrigger::At { ahead } => OracleRule::At(now - 60_000 + ahead as i64),
            OracleTrigger::Manual => OracleRule::Never,
        }
    }

    /// The nominal times in `from..=to`, counted out.
    fn times(&self, from: i64, to: i64) -> Vec<i64> {
        match *self {
            OracleRule::Every { start, every, end } => {
                let mut nominal = start;
                let mut found = Vec::new();
                while nominal <= to && nominal < end {
                    if nominal >= from {
                        found.push(nominal);
                    }
                    nominal += every;
                }
                found
            }
            OracleRule::Seconds { every } => whole_seconds(from, to, |second| second % 60 % every == 0),
            OracleRule::Minutes { every } => {
                whole_seconds(from, to, |second| second % 60 == 0 && second / 60 % 60 % every == 0)
            }
            OracleRule::At(at) => (from..=to).contains(&at).then_some(at).into_iter().collect(),
            OracleRule::Never => Vec::new(),
        }
    }
}

fn judged(late_ms: i64) -> Timeliness {
    if late_ms <= WINDOW_MS {
        Timeliness::OnTime
    } else if late_ms <= MISFIRE_MS {
        Timeliness::Late
    } else {
        Timeliness::Misfire
    }
}

fn whole_seconds(from: i64, to: i64, matches: impl Fn(i64) -> bool) -> Vec<i64> {
    let first = (from + 999).div_euclid(1_000);
    (first..=to.div_euclid(1_000)).filter(|second| matches(*second)).map(|second| second * 1_000).collect()
}

impl Epoch {
    fn new(beat: OracleTrigger, from: i64, now: i64) -> Epoch {
        let rule = OracleRule::of(beat, now);
        let jitter = if let OracleTrigger::Every { jitter, .. } = beat { jitter as i64 } else { 0 };
        let from = if let OracleRule::At(at) = rule { at } else { from };
        Epoch { rule, from, jitter, outcomes: BTreeSet::new(), checked_to: from, known_at: now }
    }

    fn is_one_off(&self) -> bool {
        matches!(self.rule, OracleRule::At(_))
    }

    /// The newest nominal time that is surely due at `now`.
    fn surely_due(&self, now: i64) -> i64 {
        if self.is_one_off() && now < self.known_at { i64::MIN } else { now - self.jitter }
    }

    fn settle(&mut self, nominal: i64) {
        assert!(nominal >= self.from, "{nominal} lies before the trigger's time");
        assert!(self.outcomes.insert(nominal), "{nominal} has two outcomes");
    }

    /// Every nominal time up to `to` has its outcome, and nothing else has.
    fn assert_settled(&mut self, to: i64) {
        if to < self.checked_to {
            return;
        }
        let expected = self.rule.times(self.checked_to, to);
        let found: Vec<i64> = self.outcomes.range(self.checked_to..=to).copied().collect();
        assert_eq!(found, expected, "outcomes and nominal times up to {to} differ");
        self.checked_to = to + 1;
    }

    /// Nominal times that are due and have no outcome yet. Exact only without jitter.
    fn open(&self, now: i64) -> Vec<i64> {
        let from = self.outcomes.last().map_or(self.from, |last| last + 1);
        self.rule.times(from, now)
    }
}

#[derive(Debug)]
pub(crate) struct Oracle {
    beat: OracleTrigger,
    epoch: Epoch,
    held: bool,
    next_beat: Option<OracleTrigger>,
    /// Every nominal time of an interval or a cron that was ever fired, under any trigger.
    fired: BTreeSet<i64>,
    newest_accounted: i64,
    misfire: Value,
    max_attempts: u32,
    idempotent: bool,
    last_token: u64,
    runs: BTreeMap<RunId, LifePhase>,
    /// How often each was given back.
    returned: BTreeMap<RunId, u32>,
}

/// What the oracle knows of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LifePhase {
    Waiting { attempts: u32 },
    Running { attempts: u32 },
    Over,
}

impl Oracle {
    pub(crate) fn begin(beat: OracleTrigger, policies: &Value, held: bool, now: Timestamp) -> Oracle {
        let mut oracle = Oracle {
            beat,
            epoch: Epoch::new(beat, now.ms(), now.ms()),
            held,
            next_beat: None,
            fired: BTreeSet::new(),
            newest_accounted: i64::MIN,
            misfire: Value::Null,
            max_attempts: 1,
            idempotent: false,
            last_token: 0,
            runs: BTreeMap::new(),
            returned: BTreeMap::new(),
        };
        oracle.learn(policies);
        oracle
    }

    /// How fast the present trigger beats.
    pub(crate) fn pace(&self) -> u64 {
        match self.beat {
            OracleTrigger::Every { every, .. } => every,
            OracleTrigger::Seconds { every } => every * 1_000,
            OracleTrigger::Minutes { every } => every * 60_000,
            OracleTrigger::At { .. } | OracleTrigger::Manual => 4_000,
        }
    }

    pub(crate) fn will_change_to(&mut self, beat: OracleTrigger) {
        self.next_beat = Some(beat);
    }

    fn learn(&mut self, definition: &Value) {
        self.misfire = definition["misfire"].clone();
        self.max_attempts = definition["retry"]["max_attempts"].as_u64().expect("a number") as u32;
        self.idempotent = definition["idempotent"].as_bool().expect("a truth");
    }

    /// The events of the last step are entered into the books, and the books are checked.
    pub(crate) fn judge(&mut self, before: &Job, story: &Story) {
        let now = story.now.ms();
        let next_beat = self.next_beat.take();
        let open = self.epoch.open(now);
        let expected = self.expected_to_fire(&open, now);
        let mut chosen = Vec::new();
        for event in &story.last {
            if let Event::JobUpdated { definition, .. } = event {
                self.learn(&serde_json::to_value(definition).expect("it is written"));
                self.change_trigger(next_beat, before, &story.job, now);
            }
            self.enter_occurrence(event, story, &mut chosen);
            self.enter_run(event, story);
        }
        if self.epoch.jitter == 0 && !chosen.is_empty() && next_beat.is_none() {
            assert_eq!(chosen, expected, "the misfire policy {} chose otherwise", self.misfire);
        }
        self.judge_phase(before, story);
        self.judge_places(before, &story.job);
    }

    /// After a wake nothing is overdue: the next alarm lies ahead, and all that was due has its outcome.
    pub(crate) fn judge_wake(&mut self, story: &Story) {
        if let Some(alarm) = story.job.next_turn() {
            assert!(alarm > story.now, "the alarm {alarm} would ring at once again, at {}", story.now);
        }
        if matches!(story.state(), JobState::Active | JobState::Finished) {
            self.epoch.assert_settled(self.epoch.surely_due(story.now.ms()));
        }
        let again = ordo_model::job::SlottedCommand { command: ordo_model::job::Command::Wake, reservation: None };
        let again = ordo_model::job::decide(story.job.id, Some(story.job.clone()), again, story.now);
        assert!(again.expect("a wake is never refused").events.is_empty(), "a second wake found something to do");
    }

    /// Which of the open nominal times the misfire policy lets fire, by the words of the design.
    fn expected_to_fire(&self, open: &[i64], now: i64) -> Vec<i64> {
        let due = |nominal: i64| if self.epoch.is_one_off() { nominal.max(self.epoch.known_at) } else { nominal };
        let newest = &open[open.len().saturating_sub(CATCH_UP)..];
        let (missed, in_time): (Vec<i64>, Vec<i64>) = newest.iter().partition(|n| now - due(**n) > MISFIRE_MS);
        let again: Vec<i64> = match self.misfire.as_str() {
            Some("do_nothing") => Vec::new(),
            Some(_) => missed.last().copied().into_iter().collect(),
            None => {
                let policy = &self.misfire["fire_all"];
                let window: Millis = serde_json::from_value(policy["window"].clone()).expect("a length");
                let cap = policy["cap"].as_u64().expect("a number") as usize;
                let inside: Vec<i64> = missed.into_iter().filter(|n| now - due(*n) <= window.ms() as i64).collect();
                inside[inside.len().saturating_sub(cap)..].to_vec()
            }
        };
        again.into_iter().chain(in_time).collect()
    }

    fn change_trigger(&mut self, next_beat: Option<OracleTrigger>, before: &Job, after: &Job, now: i64) {
        let Some(beat) = next_beat else { return };
        if before.definition.trigger == after.definition.trigger {
            return;
        }
        if !self.held {
            self.epoch.assert_settled(now);
        }
        let from = if self.held { now } else { now.max(self.newest_accounted.saturating_add(1)) };
        self.epoch = Epoch::new(beat, from, now);
        self.beat = beat;
    }

    fn enter_occurrence(&mut self, event: &Event, story: &Story, chosen: &mut Vec<i64>) {
        match event {
            Event::JobTriggered { cause: Cause::Schedule { occurrence, .. }, timeliness, .. } => {
                let (nominal, due, now) = (occurrence.nominal.ms(), occurrence.due.ms(), story.now.ms());
                assert!(due <= now, "fired early: due {due}, now {now}");
                assert!(nominal <= due);
                self.epoch.settle(nominal);
                self.newest_accounted = self.newest_accounted.max(nominal);
                if !self.epoch.is_one_off() {
                    assert!(due - nominal <= self.epoch.jitter);
                    assert!(self.fired.insert(nominal), "{nominal} was fired twice");
                }
                assert_eq!(*timeliness, judged(now - due));
                chosen.push(nominal);
            }
            Event::JobSkipped { cause: Cause::Schedule { .. }, reason, gap, .. } => {
                let gap = gap.expect("skipped occurrences are recorded by their gap");
                assert!(gap.exact);
                let times = self.epoch.rule.times(gap.from.ms(), gap.to.ms());
                assert_eq!(times.len() as u64, gap.count, "the gap counts wrongly");
                assert_eq!((times.first(), times.last()), (Some(&gap.from.ms()), Some(&gap.to.ms())));
                for nominal in times {
                    self.epoch.settle(nominal);
                }
                self.newest_accounted = self.newest_accounted.max(gap.to.ms());
                if *reason == SkipReason::Changed {
                    assert!(self.epoch.jitter > 0 || self.epoch.is_one_off(), "what was due is fired, not dropped");
                }
                if matches!(reason, SkipReason::Overlap | SkipReason::QueueFull) {
                    chosen.extend(self.epoch.rule.times(gap.from.ms(), gap.to.ms()));
                }
            }
            _ => {}
        }
    }

    fn enter_run(&mut self, event: &Event, story: &Story) {
        match event {
            Event::JobTriggered { run_id, .. } => {
                assert_eq!(self.runs.insert(*run_id, LifePhase::Waiting { attempts: 0 }), None);
            }
            Event::JobSkipped { run_id, .. } => assert_eq!(self.runs.insert(*run_id, LifePhase::Over), None),
            Event::JobStarted { run_id, attempt, token, deadline, .. } => {
                let LifePhase::Waiting { attempts } = self.runs[run_id] else { panic!("{run_id} was not waiting") };
                assert_eq!(*attempt, attempts + 1);
                assert!(token.0 > self.last_token, "tokens grow");
                assert!(*deadline > story.now);
                self.last_token = token.0;
                self.runs.insert(*run_id, LifePhase::Running { attempts: *attempt });
            }
            Event::JobExecuted { run_id, attempt, .. } => {
                assert_eq!(self.runs.insert(*run_id, LifePhase::Over), Some(LifePhase::Running { attempts: *attempt }));
            }
            Event::JobFailed { run_id, attempt, retry_at, reason, .. } => {
                let unknown = reason != "boom" && !reason.starts_with("given back");
                let tried = *attempt - self.returned.get(run_id).copied().unwrap_or(0);
                let again = tried < self.max_attempts && (self.idempotent || !unknown);
                assert_eq!(retry_at.is_some(), again, "attempt {attempt} failed: {reason}");
                let next = if again { LifePhase::Waiting { attempts: *attempt } } else { LifePhase::Over };
                assert_eq!(self.runs.insert(*run_id, next), Some(LifePhase::Running { attempts: *attempt }));
            }
            Event::RunCancelled { run_id, .. } => {
                assert_ne!(self.runs.insert(*run_id, LifePhase::Over), Some(LifePhase::Over));
            }
            Event::RunReturned { run_id, attempt, .. } => {
                let before = self.runs.insert(*run_id, LifePhase::Waiting { attempts: *attempt });
                assert_eq!(before, Some(LifePhase::Running { attempts: *attempt }));
                *self.returned.entry(*run_id).or_default() += 1;
            }
            Event::RunExpired { run_id } => {
                assert_eq!(self.runs.insert(*run_id, LifePhase::Over), Some(LifePhase::Waiting { attempts: 0 }));
            }
            Event::RunReady { run_id } => assert!(matches!(self.runs[run_id], LifePhase::Waiting { .. })),
            Event::RunCancelRequested { run_id, .. }
            | Event::RunOrphaned { run_id, .. }
            | Event::AttemptExtended { run_id, .. } => {
                assert!(matches!(self.runs[run_id], LifePhase::Running { .. }));
            }
            _ => {}
        }
    }

    /// Pause, resume and cancel leave nothing open behind them.
    fn judge_phase(&mut self, before: &Job, story: &Story) {
        let (was, is, now) = (before.state(), story.state(), story.now.ms());
        if was == JobState::Held && is != JobState::Held && is != JobState::Cancelled {
            self.held = false;
            if !self.epoch.is_one_off() {
                self.epoch.from = now;
                self.epoch.checked_to = now;
            }
        }
        let left = story.last.iter().any(|event| matches!(event, Event::JobPaused { .. } | Event::JobCancelled { .. }));
        let resumed = story.last.iter().any(|event| matches!(event, Event::JobResumed { .. }));
        let never_began = was == JobState::Held;
        if !never_began && (left || (resumed && !self.epoch.is_one_off())) {
            self.epoch.assert_settled(self.epoch.surely_due(now));
        }
        let live: Vec<RunId> = story.waiting();
        for (run, generation) in &self.runs {
            assert_eq!(*generation != LifePhase::Over, live.contains(run), "{run} is {generation:?}");
        }
    }

    fn judge_places(&self, before: &Job, after: &Job) {
        let running = |job: &Job| job.active.iter().filter(|run| run.attempt().is_some()).count();
        let width = after.definition.block.width();
        assert!(running(after) <= width.max(running(before)), "more attempts than places");
        assert!(after.startable().count() + running(after) <= width.max(running(after)));
        assert!(after.active.len() <= width + 100 + before.active.len());
        assert!(after.backfills.is_empty() || after.active.len() >= width, "a backfill stands still");
    }
}
