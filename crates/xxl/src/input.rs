//! What a job says to an executor of XXL-JOB, and the numbers by which the two sides speak of jobs and runs.
//!
//! Invariant: the numbers follow from the job and the attempt alone, so that a server that was started again knows them.

use ordo_model::{JobId, RunId};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The tool that every executor of XXL-JOB offers.
pub const TOOL: &str = "xxl";

/// The input of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XxlInput {
    /// The name of the `JobHandler`.
    pub handler: String,
    #[serde(default)]
    pub params: String,
    /// The number of the job, where it had one before it came here.
    #[serde(default)]
    pub job_id: Option<i32>,
    /// What a chain hands on: handlers of XXL-JOB get their own parameters, whoever went before them.
    #[serde(default, rename = "after")]
    _after: Value,
}

/// Numbers of jobs that had none begin here.
const OWN_NUMBERS: u32 = 1 << 30;
/// More digits than that are cut off by executors in JavaScript.
const LOG_BITS: u32 = 53;

impl XxlInput {
    pub fn read(input: &Value) -> Result<XxlInput, String> {
        XxlInput::deserialize(input)
            .map_err(|error| format!("the input is not one for an executor of XXL-JOB: {error}"))
    }

    /// The number of the job: executors keep runs of one job apart from those of others by it, and are told to end it by it.
    pub(crate) fn job_number(&self, job: JobId) -> i32 {
        let own = || OWN_NUMBERS | (digest(&[job.0.as_bytes()]) as u32 & (OWN_NUMBERS - 1));
        self.job_id.unwrap_or_else(|| i32::try_from(own()).unwrap_or(i32::MAX))
    }
}

/// The number of an attempt: executors keep its log and call back by it.
pub(crate) fn log_number(run: RunId, attempt: u32) -> i64 {
    let number = digest(&[run.0.as_bytes(), &attempt.to_be_bytes()]) >> (u64::BITS - LOG_BITS);
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn digest(parts: &[&[u8]]) -> u64 {
    let digest = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    let first: [u8; 8] = std::array::from_fn(|place| digest[place]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_job_keeps_its_number_and_one_without_gets_one_above_all_of_those() {
        let job = JobId(Uuid::from_u128(7));
        let read = |input: Value| XxlInput::read(&input).unwrap().job_number(job);
        assert_eq!(read(json!({ "handler": "demo", "job_id": 12 })), 12);
        let own = read(json!({ "handler": "demo" }));
        assert!(own >= 1 << 30);
        assert_eq!(own, read(json!({ "handler": "other", "params": "x" })));
        assert!(XxlInput::read(&json!({ "command": "ls" })).is_err());
    }

    #[test]
    fn a_child_is_given_its_own_parameters_and_not_what_its_parent_returned() {
        let input = json!({ "handler": "demo", "params": "p", "after": [{ "label": "parent", "result": "done" }] });
        let read = XxlInput::read(&input).unwrap();
        assert_eq!((read.handler.as_str(), read.params.as_str()), ("demo", "p"));
        assert!(XxlInput::read(&json!({ "handler": "demo", "afters": [] })).is_err());
    }

    #[test]
    fn attempts_have_numbers_of_their_own_that_fit_everywhere() {
        let run = RunId(Uuid::from_u128(7));
        let (first, second) = (log_number(run, 1), log_number(run, 2));
        assert!(first != second && first > 0 && first < 1 << 53 && second < 1 << 53);
        assert_eq!(first, log_number(run, 1));
    }
}
