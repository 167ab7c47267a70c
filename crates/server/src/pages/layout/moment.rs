//! Moments and lengths of time as people read them: relative in the text, exact on hover, never without a zone.
//!
//! Invariant: a time on a page is a `<time>` with the instant in UTC; scripts only refresh the relative text.

use jiff::tz::TimeZone;
use ordo_model::job::{Job, Trigger};
use ordo_model::{Timestamp, zones};

use crate::pages::layout::html::Html;

/// How times are shown to one viewer now.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    pub(crate) now: Timestamp,
    zone: TimeZone,
    /// Whether a job's own zone is preferred where there is one.
    by_job: bool,
}

impl Times {
    pub(crate) fn new(now: Timestamp, zone: &str, by_job: bool) -> Times {
        Times { now, zone: zone_named(zone), by_job }
    }

    /// The same for what belongs to a job.
    pub(crate) fn of_job(&self, job: &Job) -> Times {
        match zone_of(&job.definition.trigger) {
            Some(zone) if self.by_job => Times { zone: zone_named(zone), ..self.clone() },
            Some(_) | None => self.clone(),
        }
    }

    /// `in 5 min`, `3 s ago`; the exact time on hover.
    pub(crate) fn relative(&self, at: Timestamp) -> Html {
        self.time(at, "rel", &relative(at.ms() - self.now.ms()))
    }

    /// The same for what has happened: never in the future, whatever a clock elsewhere says.
    pub(crate) fn ago(&self, at: Timestamp) -> Html {
        self.time(at, "ago", &relative((at.ms() - self.now.ms()).min(0)))
    }

    /// The exact time; the relative one on hover.
    pub(crate) fn exact(&self, at: Timestamp) -> Html {
        let exact = self.absolute(at);
        Html::new()
            .raw(format_args!("<time datetime=\"{at}\" title=\""))
            .text(&format!("{} · {}", relative(at.ms() - self.now.ms()), utc(at)))
            .raw("\">")
            .text(&exact)
            .raw("</time>")
    }

    /// Time of day if it is the same day, date and time otherwise.
    pub(crate) fn short(&self, at: Timestamp) -> Html {
        let (local, now) = (at.to_jiff().to_zoned(self.zone.clone()), self.now.to_jiff().to_zoned(self.zone.clone()));
        let pattern = if local.date() == now.date() { "%H:%M:%S" } else { "%b %d, %H:%M" };
        self.time(at, "abs", &local.strftime(pattern).to_string())
    }

    /// How long something has been going on; scripts let it grow.
    pub(crate) fn elapsed(&self, since: Timestamp) -> Html {
        self.time(since, "run", &length(self.now.ms() - since.ms()))
    }

    /// The exact time as plain text.
    pub(crate) fn absolute(&self, at: Timestamp) -> String {
        if !at.has_local_times() {
            return at.to_string();
        }
        let pattern = if at.ms() % 1_000 == 0 { "%Y-%m-%d %H:%M:%S %Z" } else { "%Y-%m-%d %H:%M:%S%.3f %Z" };
        at.to_jiff().to_zoned(self.zone.clone()).strftime(pattern).to_string()
    }

    pub(crate) fn hour(&self, at: Timestamp) -> String {
        at.to_jiff().to_zoned(self.zone.clone()).strftime("%H:%M").to_string()
    }

    pub(crate) fn local(&self, at: Timestamp) -> jiff::Zoned {
        at.to_jiff().to_zoned(self.zone.clone())
    }

    /// The name of the zone, as scripts know it.
    pub(crate) fn zone_name(&self) -> String {
        self.zone.iana_name().unwrap_or("UTC").to_owned()
    }

    /// The instant of a time of day in the viewer's zone.
    pub(crate) fn of_wall(&self, wall: jiff::civil::DateTime) -> Option<Timestamp> {
        Timestamp::in_zone(wall, &self.zone).ok()
    }

    fn time(&self, at: Timestamp, kind: &str, text: &str) -> Html {
        let exact = self.absolute(at);
        let title = if exact.ends_with(" UTC") { exact } else { format!("{exact} · {}", utc(at)) };
        Html::new()
            .raw(format_args!("<time datetime=\"{at}\" data-time=\"{kind}\" title=\""))
            .text(&title)
            .raw("\">")
            .text(text)
            .raw("</time>")
    }
}

/// The zone in which a job's own times are meant.
pub(crate) fn zone_of(trigger: &Trigger) -> Option<&str> {
    trigger.schedule().map(|schedule| schedule.rule.zone())
}

/// UTC when there is no such zone: a page is shown all the same.
fn zone_named(name: &str) -> TimeZone {
    zones::current().get(name).unwrap_or(TimeZone::UTC)
}

fn utc(at: Timestamp) -> String {
    at.to_jiff().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// `times.js` says the same in the browser.
pub(crate) fn relative(difference_ms: i64) -> String {
    let seconds = difference_ms.unsigned_abs() / 1_000;
    let text = match seconds {
        0 => return "now".to_owned(),
        1..90 => format!("{seconds} s"),
        90..5_400 => format!("{} min", seconds / 60),
        5_400..129_600 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    };
    if difference_ms > 0 { format!("in {text}") } else { format!("{text} ago") }
}

/// A length in the two units that matter.
pub(crate) fn length(ms: i64) -> String {
    let ms = ms.max(0);
    let two = |big: i64, unit: &str, small: i64, below: &str| match small {
        0 => format!("{big} {unit}"),
        _ => format!("{big} {unit} {small} {below}"),
    };
    let (s, m, h) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{}.{} s", s, ms % 1_000 / 100),
        10_000..60_000 => format!("{s} s"),
        60_000..3_600_000 => two(m, "min", s % 60, "s"),
        3_600_000..86_400_000 => two(h, "h", m % 60, "min"),
        _ => two(h / 24, "d", h % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_shown_finely_and_what_is_far_coarsely() {
        let text = [0, 4_000, -4_000, 89_000, 90_000, -3_600_000, 7_200_000, -200_000_000].map(relative);
        assert_eq!(text, ["now", "in 4 s", "4 s ago", "in 89 s", "in 1 min", "60 min ago", "in 2 h", "2 d ago"]);
        let text = [0, 840, 1_234, 59_999, 60_000, 200_000, 7_500_000, 180_000_000].map(length);
        assert_eq!(text, ["0 ms", "840 ms", "1.2 s", "59 s", "1 min", "3 min 20 s", "2 h 5 min", "2 d 2 h"]);
    }

    #[test]
    fn a_time_is_shown_in_the_viewers_zone_and_in_utc() {
        let at: Timestamp = "2026-11-15T21:41:05Z".parse().unwrap();
        let times = Times::new(at, "Europe/Berlin", false);
        assert_eq!(times.absolute(at), "2026-11-15 22:41:05 CET");
        let shown = times.relative(at).to_string();
        assert!(shown.contains("22:41:05 CET · 2026-11-15 21:41:05 UTC") && shown.contains(">now<"), "{shown}");
        let a_moment_later = times.ago(at.plus(ordo_model::Millis::from_secs(2))).to_string();
        assert!(a_moment_later.contains(">now<"), "{a_moment_later}");
        assert_eq!(Times::new(at, "No/Where", false).absolute(at), "2026-11-15 21:41:05 UTC");
    }
}
