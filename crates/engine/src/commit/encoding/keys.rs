//! Keys of view rows: bytes that sort the way lists are read.
//!
//! Invariant: what is released never changes; times and numbers are big-endian so that byte order is their order.

use std::sync::Arc;

use ordo_model::job::{JobState, Routing};
use ordo_model::{JobId, Kind, Millis, RunId, Timestamp};
use ordo_store::{RowWrite, View};
use uuid::Uuid;

use crate::commit::change::{RateKey, SharedLimit, WaitingRun};
use crate::dispatch::requirements::{QueueName, Requirements, RunTerms};

/// Ends a text inside a key; texts have no control characters.
const END: u8 = 0;

pub(crate) fn job_by_label(label: &str, job: JobId) -> Vec<u8> {
    [label_prefix(label).as_slice(), job.0.as_bytes()].concat()
}

/// Reads back what `job_by_label` wrote.
pub(crate) fn read_job_by_label(key: &[u8]) -> Option<(&str, JobId)> {
    let (rest, id) = key.split_last_chunk::<16>()?;
    let (end, label) = rest.split_last()?;
    let label = std::str::from_utf8(label).ok()?;
    (*end == END).then_some((label, JobId(Uuid::from_bytes(*id))))
}

/// All jobs with exactly this label.
pub(crate) fn label_prefix(label: &str) -> Vec<u8> {
    [label.as_bytes(), &[END]].concat()
}

pub(crate) fn job_by_state(state: JobState, job: JobId) -> Vec<u8> {
    [&[state.code()], job.0.as_bytes().as_slice()].concat()
}

pub(crate) fn run(run: RunId) -> Vec<u8> {
    run.0.as_bytes().to_vec()
}

/// What the ids of all runs sort behind that were fired at this moment or later: ids begin with the time.
pub(crate) fn run_floor(at: Timestamp) -> [u8; 6] {
    let [_, _, floor @ ..] = at.ms().max(0).to_be_bytes();
    floor
}

pub(crate) fn run_by_job(job: JobId, run: RunId) -> Vec<u8> {
    [job.0.as_bytes().as_slice(), run.0.as_bytes()].concat()
}

pub(crate) fn run_by_status(status_code: u8, run: RunId) -> Vec<u8> {
    [&[status_code], run.0.as_bytes().as_slice()].concat()
}

/// All waiting runs of a queue.
pub(crate) fn queue_prefix(queue: &QueueName) -> Vec<u8> {
    [queue.group.as_bytes(), &[END, queue.pool.code()], queue.tool.as_bytes(), &[END]].concat()
}

pub(crate) fn queue(waiting: &WaitingRun) -> Vec<u8> {
    let turn = waiting.turn.ms().to_be_bytes();
    [queue_prefix(&waiting.requirements.queue).as_slice(), &turn, &[waiting.rank], waiting.run_id.0.as_bytes()].concat()
}

/// The job, and what the run requires if that is anything but the default.
pub(crate) fn queue_value(waiting: &WaitingRun) -> Vec<u8> {
    let mut value = waiting.job_id.0.as_bytes().to_vec();
    if waiting.requirements.terms != PLAIN {
        value.extend(serde_json::to_vec(&waiting.requirements.terms).expect("terms are plain data"));
    }
    value
}

const PLAIN: RunTerms =
    RunTerms { routing: Routing::Round, meant_for: None, concurrency: None, rate: None, number: None };

/// Reads back what `queue` and `queue_value` wrote.
pub(crate) fn read_queue(queue: &QueueName, key: &[u8], value: &[u8]) -> Option<WaitingRun> {
    let rest = key.strip_prefix(queue_prefix(queue).as_slice())?;
    let (turn, rest) = rest.split_at_checked(8)?;
    let (rank, run) = rest.split_first()?;
    let (job, terms) = value.split_at_checked(16)?;
    let terms = if terms.is_empty() { PLAIN } else { serde_json::from_slice(terms).ok()? };
    Some(WaitingRun {
        turn: Timestamp::from_ms(i64::from_be_bytes(turn.try_into().ok()?)).ok()?,
        rank: *rank,
        run_id: RunId(Uuid::from_slice(run).ok()?),
        job_id: JobId(Uuid::from_slice(job).ok()?),
        requirements: Arc::new(Requirements { queue: queue.clone(), terms }),
    })
}

/// Jobs have indexes of their own among those of all other things.
const JOBS_BY_HOOK: u8 = 1;

/// All jobs that listen to a hook.
pub(crate) fn hook_prefix(slug: &str) -> Vec<u8> {
    [&[Kind::Job.code(), JOBS_BY_HOOK], label_prefix(slug).as_slice()].concat()
}

pub(crate) fn job_by_hook(slug: &str, job: JobId) -> Vec<u8> {
    [hook_prefix(slug).as_slice(), job.0.as_bytes()].concat()
}

/// Jobs by the jobs they come after.
const JOBS_AFTER: u8 = 2;

/// All pairs of a job and one that comes after it.
pub(crate) fn all_after_prefix() -> Vec<u8> {
    vec![Kind::Job.code(), JOBS_AFTER]
}

/// Reads back what `job_after` wrote: the job before, and the one behind.
pub(crate) fn read_job_after(key: &[u8]) -> Option<(JobId, JobId)> {
    let (rest, behind) = key.split_last_chunk::<16>()?;
    let (_, before) = rest.split_last_chunk::<16>()?;
    Some((JobId(Uuid::from_bytes(*before)), JobId(Uuid::from_bytes(*behind))))
}

/// All jobs that come after one.
pub(crate) fn after_prefix(upstream: JobId) -> Vec<u8> {
    [&[Kind::Job.code(), JOBS_AFTER], upstream.0.as_bytes().as_slice()].concat()
}

pub(crate) fn job_after(upstream: JobId, job: JobId) -> Vec<u8> {
    [after_prefix(upstream).as_slice(), job.0.as_bytes()].concat()
}

/// Jobs by the type of their trigger.
const JOBS_BY_TRIGGER: u8 = 3;

/// All jobs with a trigger of this type (by its code).
pub(crate) fn trigger_prefix(code: u8) -> Vec<u8> {
    vec![Kind::Job.code(), JOBS_BY_TRIGGER, code]
}

pub(crate) fn job_by_trigger(code: u8, job: JobId) -> Vec<u8> {
    [trigger_prefix(code).as_slice(), job.0.as_bytes()].concat()
}

/// Jobs by the minute in which they fire next by themselves. A minute, not a moment: the row of a job that fires every
/// second is not written anew every second.
const JOBS_BY_NEXT_FIRE: u8 = 4;
const FIRE_ROW_MS: i64 = 60_000;

/// All jobs that fire by themselves, those of the nearest minute first.
pub(crate) fn next_fire_prefix() -> Vec<u8> {
    vec![Kind::Job.code(), JOBS_BY_NEXT_FIRE]
}

/// Those of the minute that a moment lies in.
pub(crate) fn next_fire_minute(at: Timestamp) -> Vec<u8> {
    // With room for the job: this key is made at every fire.
    let mut key = Vec::with_capacity(2 + 8 + 16);
    key.extend([Kind::Job.code(), JOBS_BY_NEXT_FIRE]);
    key.extend(at.ms().div_euclid(FIRE_ROW_MS).to_be_bytes());
    key
}

pub(crate) fn job_by_next_fire(at: Timestamp, job: JobId) -> Vec<u8> {
    let mut key = next_fire_minute(at);
    key.extend_from_slice(job.0.as_bytes());
    key
}

/// Reads back what `job_by_next_fire` wrote: the beginning of the minute, and the job.
pub(crate) fn read_job_by_next_fire(key: &[u8]) -> Option<(Timestamp, JobId)> {
    let (minute, id) = key.strip_prefix(next_fire_prefix().as_slice())?.split_first_chunk::<8>()?;
    let at = Timestamp::from_ms(i64::from_be_bytes(*minute).checked_mul(FIRE_ROW_MS)?).ok()?;
    Some((at, JobId(Uuid::from_slice(id).ok()?)))
}

/// Jobs by their tags, those of one tag by label: a list by label walks no other jobs.
const JOBS_BY_TAG: u8 = 6;

/// All jobs with a tag; what follows in a key is that of [`job_by_label`].
pub(crate) fn tag_prefix(tag: &str) -> Vec<u8> {
    [&[Kind::Job.code(), JOBS_BY_TAG], label_prefix(tag).as_slice()].concat()
}

pub(crate) fn job_by_tag(tag: &str, label: &str, job: JobId) -> Vec<u8> {
    [tag_prefix(tag), job_by_label(label, job)].concat()
}

/// Attempts by the concurrency key that they hold.
const KEY_HOLDERS: u8 = 5;
/// What begins within a rate is no row: its key stands among those of quotas only.
const RATE: &[u8] = b"rate\0";

impl SharedLimit {
    /// All attempts that hold a concurrency key, or all starts under a rate. None of these is the beginning of another.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let with_length = |prefix: &[u8], key: &str| {
            let length = u32::try_from(key.len()).expect("a key is short").to_be_bytes();
            [prefix, &length, key.as_bytes()].concat()
        };
        match self {
            SharedLimit::Concurrency(key) => with_length(&[Kind::Job.code(), KEY_HOLDERS], key),
            SharedLimit::Rate(RateKey { key, per }) => with_length(&[RATE, &per.ms().to_be_bytes()].concat(), key),
        }
    }

    /// Reads back what `bytes` wrote.
    pub(crate) fn read(bytes: &[u8]) -> Option<SharedLimit> {
        let text = |rest: &[u8]| String::from_utf8(rest.get(4..)?.to_vec()).ok();
        match bytes.strip_prefix(RATE) {
            Some(rest) => {
                let (per, rest) = rest.split_first_chunk::<8>()?;
                let per = Millis::from_ms(u64::from_be_bytes(*per));
                text(rest).map(|key| SharedLimit::Rate(RateKey { key, per }))
            }
            None => text(bytes.strip_prefix(&[Kind::Job.code(), KEY_HOLDERS])?).map(SharedLimit::Concurrency),
        }
    }
}

/// The attempt of a run holds a concurrency key.
pub(crate) fn key_holder(key: &str, run: RunId) -> Vec<u8> {
    let mut row = SharedLimit::Concurrency(key.to_owned()).bytes();
    row.extend_from_slice(run.0.as_bytes());
    row
}

/// The keys that rows give back: of each holder that goes, what is before the run.
pub(crate) fn keys_freed(rows: &[RowWrite]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let gone = rows.iter().filter(|row| row.view == View::Index && row.value.is_none());
    let holders = gone.filter(|row| row.key.starts_with(&[Kind::Job.code(), KEY_HOLDERS]));
    holders.filter_map(|row| row.key.split_last_chunk::<16>().map(|(key, _)| key.to_vec()))
}

pub(crate) fn retention(due: Timestamp, job: JobId) -> Vec<u8> {
    [due.ms().to_be_bytes().as_slice(), job.0.as_bytes()].concat()
}

/// The last 16 bytes of a key: the id it ends with.
pub(crate) fn trailing_id(key: &[u8]) -> Option<Uuid> {
    key.last_chunk::<16>().map(|bytes| Uuid::from_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_row_reads_back_and_sorts_by_turn() {
        let waiting = |ms, rank, terms: RunTerms| WaitingRun {
            turn: Timestamp::from_ms(ms).unwrap(),
            rank,
            run_id: RunId(Uuid::from_u128(1)),
            job_id: JobId(Uuid::from_u128(2)),
            requirements: Arc::new(Requirements { queue: queue_name("default", "shell"), terms }),
        };
        let lru = RunTerms { routing: Routing::Lru, meant_for: Some(Uuid::from_u128(3)), ..PLAIN };
        for terms in [PLAIN, lru] {
            let one = waiting(1_000, 4, terms);
            let read = read_queue(&one.requirements.queue, &queue(&one), &queue_value(&one)).unwrap();
            assert_eq!((&read, &read.requirements), (&one, &one.requirements));
        }
        assert_eq!(queue_value(&waiting(0, 0, PLAIN)).len(), 16);
        assert!(queue(&waiting(5, 9, PLAIN)) < queue(&waiting(256, 0, PLAIN)));
        assert!(queue(&waiting(5, 0, PLAIN)) < queue(&waiting(5, 1, PLAIN)));
    }

    #[test]
    fn a_next_fire_reads_back_as_its_minute_and_sorts_by_time() {
        let (job, at) = (JobId(Uuid::from_u128(7)), |ms| Timestamp::from_ms(ms).unwrap());
        let key = job_by_next_fire(at(1_900_000_012_345), job);
        assert_eq!(read_job_by_next_fire(&key), Some((at(1_899_999_960_000), job)));
        assert_eq!(key, job_by_next_fire(at(1_899_999_960_000), job));
        assert!(key < job_by_next_fire(at(1_900_000_020_000), JobId(Uuid::nil())));
        assert!(key.starts_with(&next_fire_minute(at(1_900_000_000_000))));
    }

    #[test]
    fn what_runs_share_reads_back_and_no_key_begins_another() {
        let rate = |key: &str, ms| SharedLimit::Rate(RateKey { key: key.into(), per: Millis::from_ms(ms) });
        assert_ne!(rate("a", 1_000).bytes(), rate("a", 2_000).bytes(), "windows of different lengths count apart");
        for limit in [SharedLimit::Concurrency("label=a".into()), rate("/x=\"ü\"", 7)] {
            assert_eq!(SharedLimit::read(&limit.bytes()), Some(limit));
        }
        let (short, long) =
            (SharedLimit::Concurrency("a".into()).bytes(), SharedLimit::Concurrency("ab".into()).bytes());
        assert!(!long.starts_with(&short));
        let gone = RowWrite::delete(View::Index, key_holder("a", RunId(Uuid::from_u128(7))));
        assert_eq!(keys_freed(&[gone]).collect::<Vec<_>>(), [short]);
    }

    #[test]
    fn a_line_is_not_mixed_up_with_one_of_a_longer_name() {
        assert!(!queue_prefix(&queue_name("gpu2", "x")).starts_with(&queue_prefix(&queue_name("gpu", "x"))));
        assert!(!queue_prefix(&queue_name("gpu", "x2")).starts_with(&queue_prefix(&queue_name("gpu", "x"))));
    }

    fn queue_name(group: &str, tool: &str) -> QueueName {
        QueueName { group: group.into(), pool: ordo_model::job::Pool::Fast, tool: tool.into() }
    }

    #[test]
    fn jobs_of_a_tag_sort_by_label_and_not_among_those_of_a_longer_tag() {
        let job = JobId(Uuid::from_u128(1));
        let key = job_by_tag("team", "backup", job);
        assert_eq!(key.strip_prefix(tag_prefix("team").as_slice()).and_then(read_job_by_label), Some(("backup", job)));
        assert_eq!(trailing_id(&key), Some(job.0));
        assert!(key < job_by_tag("team", "backup-daily", JobId(Uuid::nil())));
        assert!(!job_by_tag("team:billing", "backup", job).starts_with(&tag_prefix("team")));
    }

    #[test]
    fn a_label_is_not_mixed_up_with_a_longer_one() {
        let job = JobId(Uuid::from_u128(1));
        assert!(!job_by_label("backup-daily", job).starts_with(&label_prefix("backup")));
        assert_eq!(trailing_id(&job_by_label("backup", job)), Some(job.0));
        assert_eq!(read_job_by_label(&job_by_label("grün", job)), Some(("grün", job)));
        assert_eq!(read_job_by_label(job.0.as_bytes()), None);
    }
}
