//! `unique_key`: within its window there is one job, and for each job one run that was asked for, with the same key.
//!
//! Invariant: the key is claimed in the same commit that creates the job or the run, whichever way it was asked for.

use ordo_model::job::UniqueKey;
use ordo_model::{JobId, Timestamp};
use serde_json::Value;

use super::job_command::Claim;

impl Claim {
    /// The claim of a new job; whoever comes second is handed its id. Returns the key in words too.
    pub fn of_unique_job(unique: &UniqueKey, label: &str, input: &Value, id: JobId, now: Timestamp) -> (Claim, String) {
        let words = unique.key.of(label, input);
        let key = format!("unique/job/{words}").into_bytes();
        (Claim { key, until: now.plus(unique.window), value: id.0.as_bytes().to_vec(), names_run: false }, words)
    }

    /// The claim of a run that is asked for; whoever comes second is handed its id.
    pub fn of_unique_run(
        unique: &UniqueKey,
        label: &str,
        input: &Value,
        job: JobId,
        now: Timestamp,
    ) -> (Claim, String) {
        let words = unique.key.of(label, input);
        let key = format!("unique/run/{job}/{words}").into_bytes();
        (Claim { key, until: now.plus(unique.window), value: Vec::new(), names_run: true }, words)
    }
}
