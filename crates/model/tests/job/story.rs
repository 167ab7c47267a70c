//! A small language for stories about one job: given a definition, when something is asked at a time, then this is so.
//!
//! Invariant: every step of every story also proves that the stored events fold to the decided job and runs, and that
//! job, events and runs read back as they were written. Times are written as lengths after noon.

use std::collections::BTreeMap;

use ordo_model::job::{
    self, AttemptReport, Command, Decided, Definition, Event, Job, JobState, Refusal, Run, RunStatus, SkipReason,
    SlotReservation, SlottedCommand,
};
use ordo_model::{ClockFrame, FencingToken, Incarnation, JobId, Millis, Moment, RunId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const JOB: JobId = JobId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0007));

/// The moment at which every story begins.
pub(crate) fn noon() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().expect("noon is a time")
}

/// So long after noon.
pub(crate) fn t(length: &str) -> Timestamp {
    noon().plus(ms(length))
}

pub(crate) fn ms(length: &str) -> Millis {
    length.parse().expect("a story writes lengths as 10s")
}

pub(crate) fn every(length: &str) -> Value {
    json!({"type": "scheduled", "every": length})
}

/// At noon, and then in that interval.
pub(crate) fn every_from_noon(length: &str) -> Value {
    json!({"type": "scheduled", "every": length, "start": noon()})
}

pub(crate) fn cron(expr: &str) -> Value {
    json!({"type": "scheduled", "cron": expr})
}

pub(crate) fn at(time: Timestamp) -> Value {
    json!({"type": "scheduled", "at": time})
}

/// The smallest job, with `fields` laid over it.
pub(crate) fn definition(fields: Value) -> Result<Definition, String> {
    let mut form = json!({"label": "report", "tool_name": "noop", "trigger": {"type": "manual"}});
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    for (key, value) in fields {
        form[key] = value;
    }
    serde_json::from_value(form).map_err(|error| error.to_string())
}

pub(crate) fn schedule(definition: Definition, held: bool) -> Command {
    Command::Schedule { definition: Box::new(definition), held }
}

/// Given: a job that was asked for at noon.
pub(crate) fn given(fields: Value) -> Story {
    Story::begin(definition(fields).expect("the definition reads"), false, noon()).expect("the job is accepted")
}

/// Given: a job that was asked for at noon, to be started later.
pub(crate) fn given_held(fields: Value) -> Story {
    Story::begin(definition(fields).expect("the definition reads"), true, noon()).expect("the job is accepted")
}

/// Why a job is not accepted at noon, in words.
pub(crate) fn refused(fields: Value) -> String {
    match definition(fields) {
        Err(unreadable) => unreadable,
        Ok(definition) => Story::begin(definition, false, noon()).expect_err("the job is refused").to_string(),
    }
}

pub(crate) fn generation(number: u128) -> Incarnation {
    Incarnation { executor: "local".into(), generation: Uuid::from_u128(number) }
}

pub(crate) fn reservation() -> Option<SlotReservation> {
    Some(SlotReservation {
        executor: generation(1),
        group: Definition::DEFAULT_GROUP.into(),
        tools: None,
        draw: 0,
        has_others: false,
        is_keyless: false,
    })
}

#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) job: Job,
    pub(crate) now: Timestamp,
    pub(crate) frame: ClockFrame,
    /// All events so far, with their moments.
    pub(crate) stream: Vec<(Timestamp, Event)>,
    /// Every run so far, as it looks now.
    pub(crate) runs: BTreeMap<RunId, Run>,
    /// The events of the last step.
    pub(crate) last: Vec<Event>,
    /// The job and its runs again, made from the stored events only.
    folded: Fold,
}

/// (why, first, last, how many)
pub(crate) type SkippedGap = (SkipReason, Timestamp, Timestamp, u64);

impl Story {
    pub(crate) fn begin(definition: Definition, held: bool, now: Timestamp) -> Result<Story, Refusal> {
        let order = SlottedCommand { command: schedule(definition, held), reservation: None };
        let decided = job::decide(JOB, None, order, now)?;
        let mut story = Story {
            job: decided.job.clone(),
            now,
            frame: ClockFrame::STEADY,
            stream: Vec::new(),
            runs: BTreeMap::new(),
            last: Vec::new(),
            folded: Fold::default(),
        };
        story.note(decided);
        Ok(story)
    }

    // --- when ---------------------------------------------------------------------------------

    /// It is so long after noon.
    pub(crate) fn at(&mut self, length: &str) -> &mut Story {
        self.now = t(length);
        self
    }

    pub(crate) fn later(&mut self, length: &str) -> &mut Story {
        self.now = self.now.plus(ms(length));
        self
    }

    /// The wall clock is set back.
    pub(crate) fn earlier(&mut self, length: &str) -> &mut Story {
        self.now = self.now.minus(ms(length));
        self
    }

    /// Somebody sets the wall clock by so much, and the process sees it: no time passes.
    pub(crate) fn set_clock(&mut self, by_ms: i64) -> &mut Story {
        self.now = self.now.moved(by_ms);
        self.frame.ahead_ms += by_ms;
        self
    }

    /// Another process goes on with the job; its measuring begins now.
    pub(crate) fn restart(&mut self) -> &mut Story {
        self.frame = ClockFrame { since: self.now, ahead_ms: 0 };
        self
    }

    pub(crate) fn order(&mut self, command: Command, reservation: Option<SlotReservation>) -> Result<(), Refusal> {
        let moment = Moment { now: self.now, frame: self.frame };
        let decided = job::decide(JOB, Some(self.job.clone()), SlottedCommand { command, reservation }, moment)?;
        self.note(decided);
        Ok(())
    }

    pub(crate) fn ask(&mut self, command: Command) -> &mut Story {
        self.order(command, None).expect("the story commands what is possible");
        self
    }

    /// What is answered to a command that is not carried out.
    pub(crate) fn refusal(&mut self, command: Command) -> Refusal {
        self.order(command, reservation()).expect_err("the command is refused")
    }

    pub(crate) fn wake(&mut self) -> &mut Story {
        self.ask(Command::Wake)
    }

    /// The alarm rings, and there is a free slot.
    pub(crate) fn wake_and_start(&mut self) -> &mut Story {
        self.order(Command::Wake, reservation()).expect("a wake is never refused");
        self
    }

    /// The clock goes to the job's alarm, which rings.
    pub(crate) fn wake_at_alarm(&mut self) -> &mut Story {
        self.now = self.job.next_turn().expect("the job wants to be woken");
        self.wake()
    }

    pub(crate) fn trigger(&mut self) -> RunId {
        self.ask(Command::Trigger { tool_input: None, traceparent: None });
        self.newest()
    }

    /// A run is asked for and begins at once.
    pub(crate) fn trigger_and_start(&mut self) -> RunId {
        self.order(Command::Trigger { tool_input: None, traceparent: None }, reservation())
            .expect("the trigger is accepted");
        self.newest()
    }

    pub(crate) fn start(&mut self, run_id: RunId) -> &mut Story {
        self.order(Command::Start { run_id }, reservation()).expect("it is the run's turn");
        self
    }

    pub(crate) fn report(&mut self, run_id: RunId, report: AttemptReport) -> &mut Story {
        let token = self.token(run_id);
        self.ask(Command::Report { run_id, token, report })
    }

    pub(crate) fn completes(&mut self, run_id: RunId) -> &mut Story {
        let report = completed(self.now);
        self.report(run_id, report)
    }

    pub(crate) fn fails(&mut self, run_id: RunId, reason: &str) -> &mut Story {
        let report = AttemptReport::Failed { started_at: Some(self.now), reason: reason.into() };
        self.report(run_id, report)
    }

    pub(crate) fn pause(&mut self) -> &mut Story {
        self.ask(Command::Pause { reason: None })
    }

    pub(crate) fn resume(&mut self) -> &mut Story {
        self.ask(Command::Resume)
    }

    pub(crate) fn cancel(&mut self) -> &mut Story {
        self.ask(Command::Cancel { reason: None })
    }

    /// The oldest `runs` that are over are forgotten.
    pub(crate) fn trim(&mut self, runs: u32, oldest: Option<Timestamp>) -> &mut Story {
        let below = self.job.version;
        self.ask(Command::Trim { trims: self.job.history.trims, runs, below, oldest })
    }

    pub(crate) fn update(&mut self, patch: Value) -> &mut Story {
        self.ask(update(patch))
    }

    // --- then ---------------------------------------------------------------------------------

    /// The names of the last step's events.
    pub(crate) fn events(&self) -> Vec<&'static str> {
        self.last.iter().map(Event::name).collect()
    }

    /// The nominal times that the last step fired by schedule or backfill.
    pub(crate) fn fired(&self) -> Vec<Timestamp> {
        let nominal = |event: &Event| match event {
            Event::JobTriggered { cause, .. } => cause.occurrence().map(|occurrence| occurrence.nominal),
            _ => None,
        };
        self.last.iter().filter_map(nominal).collect()
    }

    pub(crate) fn timeliness(&self) -> Vec<job::Timeliness> {
        let timeliness = |event: &Event| match event {
            Event::JobTriggered { timeliness, .. } => Some(*timeliness),
            _ => None,
        };
        self.last.iter().filter_map(timeliness).collect()
    }

    pub(crate) fn skipped(&self) -> Vec<SkippedGap> {
        let skipped = |event: &Event| match event {
            Event::JobSkipped { reason, gap: Some(gap), .. } => Some((*reason, gap.from, gap.to, gap.count)),
            _ => None,
        };
        self.last.iter().filter_map(skipped).collect()
    }

    pub(crate) fn state(&self) -> JobState {
        self.job.state()
    }

    pub(crate) fn status(&self, run: RunId) -> &RunStatus {
        &self.runs[&run].status
    }

    pub(crate) fn status_name(&self, run: RunId) -> &'static str {
        self.status(run).name()
    }

    /// Runs that are not over, oldest first.
    pub(crate) fn waiting(&self) -> Vec<RunId> {
        self.job.active.iter().map(|run| run.id).collect()
    }

    pub(crate) fn running(&self) -> Vec<RunId> {
        self.job.active.iter().filter(|run| run.attempt().is_some()).map(|run| run.id).collect()
    }

    pub(crate) fn token(&self, run: RunId) -> FencingToken {
        let run = self.job.active_run(run).expect("the run is active");
        run.attempt().expect("the run is running").token
    }

    /// The run that came to be last.
    pub(crate) fn newest(&self) -> RunId {
        let born = |event: &Event| match event {
            Event::JobTriggered { run_id, .. } | Event::JobSkipped { run_id, .. } => Some(*run_id),
            _ => None,
        };
        self.stream.iter().rev().find_map(|(_, event)| born(event)).expect("there is a run")
    }

    // --- what every step proves ---------------------------------------------------------------

    fn note(&mut self, decided: Decided) {
        for event in &decided.events {
            let stored = read_back(event);
            self.folded.add(&stored, self.now);
            self.stream.push((self.now, stored));
        }
        for run in &decided.runs {
            assert_eq!(&read_back(run), run);
            assert_eq!(&unpacked(run), run);
            self.runs.insert(run.id, run.clone());
        }
        assert_eq!(self.folded.job.as_ref(), Some(&decided.job), "the events do not fold to the decided job");
        for run in &decided.runs {
            assert_eq!(&self.folded.runs[&run.id], run, "the events do not fold to the decided runs");
        }
        assert_eq!(self.folded.runs.len(), self.runs.len());
        assert_eq!(read_back(&decided.job), decided.job);
        assert_eq!(unpacked(&decided.job), decided.job);
        assert_eq!(decided.job.version, self.stream.len() as u64);
        self.job = decided.job;
        self.last = decided.events;
    }
}

#[derive(Debug, Default)]
struct Fold {
    job: Option<Job>,
    runs: BTreeMap<RunId, Run>,
}

impl Fold {
    fn add(&mut self, event: &Event, at: Timestamp) {
        match &mut self.job {
            None => self.job = Some(job::create(JOB, event, at).expect("a stream begins with JobScheduled")),
            Some(job) => {
                let touched = job::apply(job, event, at).expect("a decided event applies");
                self.runs.extend(touched.map(|run| (run.id, run)));
            }
        }
    }
}

/// As it comes back from the binary form that snapshots and rows have.
fn unpacked<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let bytes = rmp_serde::to_vec_named(value).expect("it is written");
    rmp_serde::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn read_back<T>(value: &T) -> T
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).expect("it is written");
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    assert_eq!(&read, value, "{text}");
    read
}

pub(crate) fn completed(started_at: Timestamp) -> AttemptReport {
    AttemptReport::Completed { started_at, result: json!({"ok": true}), result_bytes: None }
}

pub(crate) fn update(patch: Value) -> Command {
    let Value::Object(patch) = patch else { panic!("a patch is an object") };
    Command::Update { patch, if_revision: None, if_followed: None }
}

/// What a refusal says.
pub(crate) fn assert_says(text: impl std::fmt::Display, words: &[&str]) {
    let text = text.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}
