//! Keys of view rows: bytes that sort the way lists are read.
//!
//! Invariant: what is released never changes; times and numbers are big-endian so that byte order is their order.

use ordo_model::job::JobState;
use ordo_model::{JobId, Kind, RunId, Timestamp};
use uuid::Uuid;

use crate::change::Waiting;

/// Ends a text inside a key; texts have no control characters.
const END: u8 = 0;

pub fn job_by_label(label: &str, job: JobId) -> Vec<u8> {
    [label_prefix(label).as_slice(), job.0.as_bytes()].concat()
}

/// Reads back what `job_by_label` wrote.
pub fn read_job_by_label(key: &[u8]) -> Option<(&str, JobId)> {
    let (rest, id) = key.split_last_chunk::<16>()?;
    let (end, label) = rest.split_last()?;
    let label = std::str::from_utf8(label).ok()?;
    (*end == END).then_some((label, JobId(Uuid::from_bytes(*id))))
}

/// All jobs with exactly this label.
pub fn label_prefix(label: &str) -> Vec<u8> {
    [label.as_bytes(), &[END]].concat()
}

pub fn job_by_state(state: JobState, job: JobId) -> Vec<u8> {
    [&[state.code()], job.0.as_bytes().as_slice()].concat()
}

pub fn run(run: RunId) -> Vec<u8> {
    run.0.as_bytes().to_vec()
}

pub fn run_by_job(job: JobId, run: RunId) -> Vec<u8> {
    [job.0.as_bytes().as_slice(), run.0.as_bytes()].concat()
}

pub fn run_by_status(status_code: u8, run: RunId) -> Vec<u8> {
    [&[status_code], run.0.as_bytes().as_slice()].concat()
}

/// All waiting runs of a group.
pub fn queue_prefix(group: &str) -> Vec<u8> {
    label_prefix(group)
}

pub fn queue(group: &str, waiting: &Waiting) -> Vec<u8> {
    [queue_prefix(group).as_slice(), &[waiting.rank], &waiting.since.ms().to_be_bytes(), waiting.run_id.0.as_bytes()]
        .concat()
}

/// Reads back what `queue` wrote; the value of the row is the job.
pub fn read_queue(group: &str, key: &[u8], value: &[u8]) -> Option<Waiting> {
    let rest = key.strip_prefix(queue_prefix(group).as_slice())?;
    let (rank, rest) = rest.split_first()?;
    let (since, run) = rest.split_at_checked(8)?;
    Some(Waiting {
        rank: *rank,
        since: Timestamp::from_ms(i64::from_be_bytes(since.try_into().ok()?)).ok()?,
        run_id: RunId(Uuid::from_slice(run).ok()?),
        job_id: JobId(Uuid::from_slice(value).ok()?),
    })
}

/// Jobs have indexes of their own among those of all other things.
const JOBS_BY_HOOK: u8 = 1;

/// All jobs that listen to a hook.
pub fn hook_prefix(slug: &str) -> Vec<u8> {
    [&[Kind::Job.code(), JOBS_BY_HOOK], label_prefix(slug).as_slice()].concat()
}

pub fn job_by_hook(slug: &str, job: JobId) -> Vec<u8> {
    [hook_prefix(slug).as_slice(), job.0.as_bytes()].concat()
}

pub fn retention(due: Timestamp, job: JobId) -> Vec<u8> {
    [due.ms().to_be_bytes().as_slice(), job.0.as_bytes()].concat()
}

/// The last 16 bytes of a key: the id it ends with.
pub fn trailing_id(key: &[u8]) -> Option<Uuid> {
    key.last_chunk::<16>().map(|bytes| Uuid::from_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_key_reads_back_and_sorts_by_rank_then_time() {
        let waiting = |rank, ms| Waiting {
            rank,
            since: Timestamp::from_ms(ms).unwrap(),
            run_id: RunId(Uuid::from_u128(1)),
            job_id: JobId(Uuid::from_u128(2)),
        };
        let one = waiting(4, 1_000);
        let key = queue("default", &one);
        assert_eq!(read_queue("default", &key, one.job_id.0.as_bytes()), Some(one));
        assert!(queue("g", &waiting(0, 9_999)) < queue("g", &waiting(1, 0)));
        assert!(queue("g", &waiting(1, 5)) < queue("g", &waiting(1, 256)));
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
