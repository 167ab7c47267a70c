//! The jobs that are put under torture, as they were asked for, and what was done to each.

use std::path::Path;

use serde_json::{Value, json};

use super::calendar::Rhythm;
use crate::lab::clock::rfc3339;
use crate::lab::random::SeededRandom;

/// A job must have arrived before its first occurrence, even while a fault is going on.
const HEAD_START_MS: i64 = 3_000;
/// Jobs that beat to the end begin so.
pub(super) const TAIL_LABEL: &str = "tail-";
pub(super) const BACKOFF_MS: i64 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockRule {
    Serial,
    Discard,
    Concurrent { max: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobWork {
    /// Inside the process: only the events speak of it.
    Noop,
    /// A command that writes down when it began and when it was done.
    Shell { ms: i64, fails_first: bool },
}

#[derive(Debug, Clone)]
pub(super) struct TortureJob {
    pub(super) label: String,
    pub(super) rhythm: Rhythm,
    pub(super) block: BlockRule,
    pub(super) misfire: &'static str,
    pub(super) work: JobWork,
    pub(super) idempotent: bool,
    pub(super) max_attempts: u32,
    pub(super) group: &'static str,
    /// Judged by what becomes of it after the last fault.
    pub(super) is_tail: bool,
}

/// Something that was asked of the server until it was answered: it happened once, between these moments.
#[derive(Debug, Clone)]
pub(super) struct CustomerDeed {
    pub(super) kind: DeedKind,
    pub(super) invoked: i64,
    /// Until then nobody knew; none: nobody ever did.
    pub(super) completed: Option<i64>,
    pub(super) accepted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeedKind {
    Create,
    Pause,
    Resume,
    Cancel,
    /// The run that was promised.
    Trigger {
        run: String,
    },
}

/// A job and its story as the customer knows it.
#[derive(Debug, Clone)]
pub(super) struct OrderedJob {
    pub(super) plan: TortureJob,
    pub(super) id: Option<String>,
    pub(super) deeds: Vec<CustomerDeed>,
}

impl OrderedJob {
    pub(super) fn of(plan: TortureJob) -> OrderedJob {
        OrderedJob { plan, id: None, deeds: Vec::new() }
    }

    pub(super) fn accepted(&self, kind: &DeedKind) -> impl Iterator<Item = &CustomerDeed> {
        self.deeds.iter().filter(move |deed| deed.accepted && deed.kind == *kind)
    }
}

/// Makes jobs; those that come to an end do so before `until`.
#[derive(Debug)]
pub(super) struct JobMaker {
    pub(super) chance: SeededRandom,
    pub(super) until: i64,
    pub(super) groups: &'static [&'static str],
    made: usize,
}

impl JobMaker {
    pub(super) fn new(chance: SeededRandom, until: i64, groups: &'static [&'static str]) -> JobMaker {
        JobMaker { chance, until, groups, made: 0 }
    }

    pub(super) fn job(&mut self, now: i64) -> TortureJob {
        self.made += 1;
        let chance = &mut self.chance;
        let work = match chance.between(0, 9) {
            0..=3 => JobWork::Noop,
            shell => JobWork::Shell { ms: chance.one_of(&[0, 0, 20, 300]), fails_first: shell == 9 },
        };
        let fails_first = matches!(work, JobWork::Shell { fails_first: true, .. });
        let idempotent = fails_first || chance.percent(40);
        TortureJob {
            label: format!("t{}", self.made),
            rhythm: rhythm(chance, now + HEAD_START_MS, self.until, work == JobWork::Noop),
            block: chance.one_of(&[BlockRule::Serial, BlockRule::Discard, BlockRule::Concurrent { max: 3 }]),
            misfire: chance.one_of(&["fire_once_now", "do_nothing", "fire_all"]),
            work,
            idempotent,
            max_attempts: if idempotent { 3 } else { 1 },
            group: chance.one_of(self.groups),
            is_tail: false,
        }
    }

    /// Beats through all of it, and after the last fault too.
    pub(super) fn tail_job(&mut self, now: i64, group: &'static str) -> TortureJob {
        self.made += 1;
        TortureJob {
            label: format!("{TAIL_LABEL}{}", self.made),
            rhythm: Rhythm::Every { start: now + HEAD_START_MS, every: 1_000, end: None },
            // What a fault held up is made up for side by side.
            block: BlockRule::Concurrent { max: 3 },
            misfire: "fire_once_now",
            work: JobWork::Shell { ms: 0, fails_first: false },
            idempotent: false,
            max_attempts: 1,
            group,
            is_tail: true,
        }
    }
}

/// What costs little comes often: a short absence then leaves more behind than one wake may fire.
fn rhythm(chance: &mut SeededRandom, soonest: i64, until: i64, is_cheap: bool) -> Rhythm {
    let until = until.max(soonest + 2_000);
    let start = chance.between(soonest, until - 1_000);
    match chance.between(0, 9) {
        0..=3 => Rhythm::Once { at: start },
        4..=7 => {
            let every =
                if is_cheap { chance.one_of(&[50, 100, 500]) } else { chance.one_of(&[250, 700, 1_000, 3_000]) };
            // A fast one lives shortly, or it would be most of the work.
            let beats = if is_cheap { 80 } else { 15 };
            Rhythm::Every { start, every, end: Some(until.min(start + every * beats)) }
        }
        _ => {
            let text =
                chance.one_of(&["*/2 * * * * *", "*/5 * * * * *", "0,7,20-40/4 * * * * *", "1-59/3 */2 * * * *"]);
            let end = until.min(start + 40_000);
            Rhythm::cron(text, start, Some(end)).expect("it is in the subset")
        }
    }
}

impl TortureJob {
    pub(super) fn to_json(&self, evidence: &Path) -> Value {
        let mut job = json!({
            "label": self.label, "group": self.group, "misfire": self.misfire, "idempotent": self.idempotent,
            "retention": { "runs": 1_000_000 }, "trigger": self.trigger(),
            "retry": { "max_attempts": self.max_attempts, "backoff": format!("{BACKOFF_MS}ms") },
        });
        job["block"] = match self.block {
            BlockRule::Serial => json!("serial"),
            BlockRule::Discard => json!("discard"),
            BlockRule::Concurrent { max } => json!({ "concurrent": { "max": max } }),
        };
        match self.work {
            JobWork::Noop => job["tool_name"] = json!("noop"),
            JobWork::Shell { ms, fails_first } => {
                job["tool_name"] = json!("shell");
                job["tool_input"] = json!({ "script": script(evidence, ms, fails_first) });
            }
        }
        job
    }

    fn trigger(&self) -> Value {
        let mut trigger = match &self.rhythm {
            Rhythm::Once { at } => json!({ "at": rfc3339(*at) }),
            Rhythm::Every { start, every, .. } => json!({ "every": format!("{every}ms"), "start": rfc3339(*start) }),
            Rhythm::Cron { text, start, .. } => json!({ "cron": text, "timezone": "UTC", "start": rfc3339(*start) }),
        };
        trigger["type"] = json!("scheduled");
        if let (Some(end), false) = (self.rhythm.end(), matches!(self.rhythm, Rhythm::Once { .. })) {
            trigger["end"] = json!(rfc3339(end));
        }
        trigger
    }
}

/// Each line is one write to a file opened for appending: lines of many processes never mix.
fn script(evidence: &Path, ms: i64, fails_first: bool) -> String {
    let file = evidence.display();
    let line = |word: &str| {
        format!(
            "echo \"{word} $ORDO_JOB_ID $ORDO_RUN_ID $ORDO_ATTEMPT $ORDO_FENCE ${{ORDO_SCHEDULED_FOR:--}} $(date +%s%3N)\" >> {file}"
        )
    };
    let sleep = if ms > 0 { format!("sleep {}.{:03}; ", ms / 1_000, ms % 1_000) } else { String::new() };
    let fail = if fails_first { "[ \"$ORDO_ATTEMPT\" -gt 1 ] || exit 3; " } else { "" };
    format!("{}; {sleep}{fail}{}", line("begin"), line("end"))
}
