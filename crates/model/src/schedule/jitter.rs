//! Jitter: how much after its nominal time an occurrence is due.
//!
//! Invariant: the same job and nominal time always give the same delay, so a restart, another node or a second
//! computation never moves an occurrence.
//!
//! Occurrences are taken in nominal order. An `every` schedule's jitter is shorter than its interval, so due times are
//! in order too. A cron schedule may have a jitter longer than its interval: then an occurrence can be due before its
//! predecessor, and it waits for it.

use uuid::Uuid;

use crate::id::mix;

/// The delay in `0..jitter` milliseconds; none without jitter.
pub(super) fn delay_ms(jitter: u64, job: Uuid, nominal_ms: i64) -> u64 {
    if jitter == 0 {
        return 0;
    }
    let (high, low) = job.as_u64_pair();
    mix(high ^ mix(low ^ mix(nominal_ms.unsigned_abs()))) % jitter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_occurrence_is_always_delayed_by_the_same_amount() {
        let job = Uuid::from_u128(7);
        assert_eq!(delay_ms(1_000, job, 60_000), delay_ms(1_000, job, 60_000));
        assert_eq!(delay_ms(0, job, 60_000), 0);
        assert_eq!(delay_ms(1, job, 60_000), 0);
    }

    #[test]
    fn jobs_and_occurrences_are_spread_over_the_whole_jitter() {
        let delays = |job: u128| (0..1_000).map(move |n| delay_ms(1_000, Uuid::from_u128(job), n * 60_000));
        for tenth in 0..10 {
            let hit = delays(1).filter(|delay| delay / 100 == tenth).count();
            assert!((60..140).contains(&hit), "{hit} of 1000 in tenth {tenth}");
        }
        let same = delays(1).zip(delays(2)).filter(|(a, b)| a == b).count();
        assert!(same < 10, "two jobs share {same} of 1000 delays");
    }
}
