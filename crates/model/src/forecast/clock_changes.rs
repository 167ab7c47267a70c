//! When the clocks of zones are set, in a window.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::zones;

/// How many changes of one zone are looked at: more than any has in the longest window.
const CHANGES_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClockChange))]
pub struct ZoneClockChange {
    pub at: Timestamp,
    pub timezone: String,
    /// By how much the clock is set, in seconds: forward when greater than 0, so that times are skipped; back when less,
    /// so that times come twice.
    pub by_secs: i32,
    /// How many jobs go by this clock.
    pub jobs: u32,
}

/// The changes of the zones between the two moments, soonest first. `zones`: names, and how many jobs go by each.
pub fn clock_changes<'a>(
    named: impl IntoIterator<Item = (&'a str, u32)>,
    from: Timestamp,
    to: Timestamp,
) -> Vec<ZoneClockChange> {
    let mut found: Vec<ZoneClockChange> =
        named.into_iter().flat_map(|(name, jobs)| of_zone(name, jobs, from, to)).collect();
    found.sort_by(|a, b| (a.at, &a.timezone).cmp(&(b.at, &b.timezone)));
    found
}

fn of_zone(name: &str, jobs: u32, from: Timestamp, to: Timestamp) -> Vec<ZoneClockChange> {
    let Some(zone) = zones::current().get(name) else { return Vec::new() };
    let mut offset = zone.to_offset(from.to_jiff()).seconds();
    let mut changes = Vec::new();
    for change in zone.following(from.to_jiff()).take(CHANGES_MAX) {
        let Ok(at) = Timestamp::from_jiff(change.timestamp()) else { break };
        if at >= to {
            break;
        }
        let by_secs = change.offset().seconds() - offset;
        offset = change.offset().seconds();
        // A zone may change its name alone.
        if by_secs != 0 {
            changes.push(ZoneClockChange { at, timezone: name.to_owned(), by_secs, jobs });
        }
    }
    changes
}
