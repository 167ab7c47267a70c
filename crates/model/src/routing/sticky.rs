//! Which executor a job belongs to: the one with the highest weight for it (rendezvous hashing).
//!
//! Invariant: when an executor joins or leaves, only jobs that go to it or come from it move.

use crate::id::{JobId, mix};

use super::Candidate;

/// Weighs by name, so that a restarted executor gets its jobs back.
pub(super) fn owner(job: JobId, candidates: &[Candidate<'_>]) -> Option<usize> {
    let weighed = candidates.iter().enumerate();
    weighed.max_by_key(|(_, candidate)| (weight(job, candidate.name), candidate.id)).map(|(place, _)| place)
}

fn weight(job: JobId, name: &str) -> u64 {
    let (high, low) = job.0.as_u64_pair();
    let seed = mix(high ^ mix(low));
    name.as_bytes().chunks(8).fold(seed, |hash, part| {
        let mut bytes = [0u8; 8];
        bytes[..part.len()].copy_from_slice(part);
        mix(hash ^ u64::from_le_bytes(bytes) ^ ((part.len() as u64) << 56))
    })
}
