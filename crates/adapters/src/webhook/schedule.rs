//! When a message that was not taken is sent again: the schedule that Standard Webhooks gives.
//!
//! Invariant: which wait follows depends on the attempt and the message alone, so that a restart changes nothing.

use ordo_model::Millis;

/// The waits between one attempt and the next. The first attempt is made at once.
pub const WAITS: [Millis; 9] = [
    Millis::from_secs(5),
    Millis::from_secs(5 * 60),
    Millis::from_secs(30 * 60),
    Millis::from_hours(2),
    Millis::from_hours(5),
    Millis::from_hours(10),
    Millis::from_hours(14),
    Millis::from_hours(20),
    Millis::from_hours(24),
];

/// After so many attempts a message is given up and waits for somebody to look at it.
pub const ATTEMPTS_MAX: u32 = 10;

const _: () = assert!(WAITS.len() + 1 == ATTEMPTS_MAX as usize);

/// How long after the `attempt`-th attempt (the first is 1) the next follows; None: it was the last.
///
/// Up to a tenth is added by `salt` (the message's own), so that what failed together does not come back together.
pub fn wait_after(attempt: u32, salt: u64) -> Option<Millis> {
    let place = usize::try_from(attempt.checked_sub(1)?).ok()?;
    let wait = WAITS.get(place)?;
    let jitter = (salt ^ u64::from(attempt)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Some(Millis::from_ms(wait.ms() + ((wait.ms() / 10 * jitter) >> 32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_over_three_days_and_then_no_more() {
        let total: u64 = (1..ATTEMPTS_MAX).map(|attempt| wait_after(attempt, 1).unwrap().ms()).sum();
        let bare: u64 = WAITS.iter().map(|wait| wait.ms()).sum();
        assert_eq!(bare, ((75 * 60 + 35) * 60 + 5) * 1_000, "75:35:05, as the standard says");
        assert!((bare..=bare + bare / 10).contains(&total));
        assert_eq!((wait_after(ATTEMPTS_MAX, 1), wait_after(0, 1)), (None, None));
    }

    #[test]
    fn the_wait_is_a_little_longer_for_some_and_always_the_same_for_one() {
        let waits: Vec<u64> = (0..100).map(|salt| wait_after(3, salt).unwrap().ms()).collect();
        let (low, high) = (WAITS[2].ms(), WAITS[2].ms() * 11 / 10);
        assert!(waits.iter().all(|wait| (low..=high).contains(wait)));
        assert!(waits.iter().collect::<std::collections::BTreeSet<_>>().len() > 90, "spread out");
        assert_eq!(wait_after(3, 42), wait_after(3, 42));
    }
}
