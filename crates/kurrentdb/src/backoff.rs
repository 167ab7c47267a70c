//! How long to wait after a failure.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);

/// Twice as long after each failure in a row; of that between a half and all, so that many do not come back at once.
pub(crate) fn delay(failures: u32, draw: u64) -> Duration {
    let doubled = FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    let whole = doubled.min(LONGEST);
    whole / 2 + (whole / 2).mul_f64(draw as f64 / u64::MAX as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_never_meet() {
        assert_eq!((delay(1, 0), delay(1, u64::MAX)), (Duration::from_millis(250), Duration::from_millis(500)));
        assert_eq!(delay(3, u64::MAX), Duration::from_secs(2));
        assert_eq!((delay(40, 0), delay(u32::MAX, u64::MAX)), (Duration::from_secs(30), LONGEST));
    }
}
