//! The lease of one attempt: since when an executor has it, and what it was told about it.

use ordo_model::{FencingToken, JobId, Timestamp};

use crate::run::secrets::Mask;
use crate::time::clock::Stopwatch;

/// An attempt that an executor has.
#[derive(Debug, Clone)]
pub(crate) struct RunLease {
    pub(crate) job_id: JobId,
    pub(crate) token: FencingToken,
    pub(crate) attempt: u32,
    pub(crate) since: Timestamp,
    pub(super) renewed: Stopwatch,
    pub(super) stage: LeaseStage,
    pub(super) cancelling: bool,
    /// The executor was told so by the answer to a poll; the answers to heartbeats repeat it.
    pub(super) cancel_sent: bool,
    /// It was reported as lost; the report is under way.
    pub(super) lost: bool,
    /// The last chunk of log that came, and how much text has been kept.
    pub(super) log_seq: Option<u64>,
    pub(super) log_bytes: usize,
    /// Covers the values of secrets that it was given.
    pub(crate) mask: Mask,
}

impl RunLease {
    pub(crate) fn new(job_id: JobId, token: FencingToken, attempt: u32, since: Timestamp) -> RunLease {
        RunLease {
            job_id,
            token,
            attempt,
            since,
            renewed: Stopwatch::start(),
            stage: LeaseStage::Taken,
            cancelling: false,
            cancel_sent: false,
            lost: false,
            log_seq: None,
            log_bytes: 0,
            mask: Mask::default(),
        }
    }
}

/// Whether the executor is known to have the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseStage {
    /// It was sent, and is begun only after the executor has confirmed it.
    Sent,
    Taken,
}
