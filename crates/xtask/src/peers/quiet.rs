//! A measurement begins when nobody else works: three seconds in a row with less than a quarter of a core in use.
//!
//! Invariant: it begins anyway after two minutes. The noise is measured with everything and shown beside it.

use std::time::Duration;

use anyhow::{Context, Result};

const BUSY_TICKS_MAX: u64 = 25;
const QUIET_SECONDS: u32 = 3;
const SECONDS_MAX: u32 = 120;

pub(super) fn wait() -> Result<()> {
    let (mut quiet, mut before) = (0, busy_ticks()?);
    for _ in 0..SECONDS_MAX {
        one_second();
        let after = busy_ticks()?;
        quiet = if after.saturating_sub(before) < BUSY_TICKS_MAX { quiet + 1 } else { 0 };
        if quiet == QUIET_SECONDS {
            return Ok(());
        }
        before = after;
    }
    println!("  the machine is not quiet: look at the CPU of everything else");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "what is waited for has no event: time without work")]
fn one_second() {
    std::thread::sleep(Duration::from_secs(1));
}

fn busy_ticks() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    busy(&text).context("/proc/stat does not begin with the times of all cores")
}

/// Hundredths of a second that all cores together were not idle.
fn busy(text: &str) -> Option<u64> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = times.get(3)? + times.get(4)?;
    Some(times.iter().sum::<u64>() - idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle_and_time_of_guests_is_counted_once() {
        assert_eq!(busy("cpu  10 1 5 900 40 2 3 4 7 7\ncpu0 5 0 2\n"), Some(25));
        assert_eq!(busy("nothing"), None);
    }
}
