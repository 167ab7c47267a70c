//! A job in words: what makes it run, and when that is next.

use jiff::tz::TimeZone;
use ordo_model::Millis;
use ordo_model::job::{After, Trigger};
use ordo_model::schedule::Rule;
use serde_json::Value;

use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::output::time;
use crate::zone;

const SOON: Millis = Millis::from_secs(1);

/// `every 10 seconds`, `At 02:00 (Europe/Berlin)`, `once`.
pub(crate) fn trigger(job: &Value) -> String {
    match serde_json::from_value(job["trigger"].clone()) {
        Ok(Trigger::Scheduled(schedule)) => match schedule.rule {
            Rule::At { .. } => "once".to_owned(),
            Rule::Every { .. } | Rule::Cron { .. } => schedule.describe(),
        },
        Ok(Trigger::Webhook { hook }) => format!("when the hook {hook} is called"),
        Ok(Trigger::Manual) => {
            let after = serde_json::from_value(job["after"].clone()).ok().flatten();
            after.map_or_else(|| "when triggered by hand".to_owned(), |after: After| after.describe())
        }
        // A newer server may know triggers that this client does not.
        Err(_) => job["trigger"]["type"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Tags as the list of jobs takes them, if there are any.
pub(crate) fn tags(tags: &[String]) -> Option<String> {
    (!tags.is_empty()).then(|| tags.join(","))
}

/// The zone in which a job's times are best read: its own, or this machine's.
pub(crate) fn zone_of(talk: &CommandSession, job: &Value) -> TimeZone {
    job["trigger"]["timezone"].as_str().and_then(zone::named).unwrap_or_else(|| talk.zone.clone())
}

/// `next at 2026-11-15 20:01:30 UTC (in 10s)`, if it fires by itself.
fn next(talk: &CommandSession, job: &Value, zone: &TimeZone) -> Option<String> {
    let (at, now) = (time::of(&job["next_tick_at"])?, talk.now());
    let relative = time::relative(at, now);
    // Milliseconds matter only to what is about to happen.
    let at = if at.since(now) > SOON { at.minus(Millis::from_ms(at.ms().unsigned_abs() % 1_000)) } else { at };
    Some(format!("next at {} ({relative})", time::absolute(at, zone)))
}

fn inside_a_sentence(text: &str) -> String {
    let mut notifications = text.chars();
    notifications.next().map(|first| first.to_lowercase().chain(notifications).collect()).unwrap_or_default()
}

/// One line about a job after something was done to it.
pub(crate) fn describe(talk: &CommandSession, done: &str, job: &Value) -> String {
    describe_in(talk, &zone_of(talk, job), done, job)
}

/// The same, with times in a zone of the reader's choice.
pub(crate) fn describe_in(talk: &CommandSession, zone: &TimeZone, done: &str, job: &Value) -> String {
    let (label, id, state) = (text(job, "label"), text(job, "id"), text(job, "state"));
    let what = inside_a_sentence(&trigger(job));
    let rest = match (state.as_str(), next(talk, job, zone)) {
        ("active", Some(next)) => format!("{what}, {next}"),
        ("held", _) => format!("{what}; held until: ordo job resume {}", quoted(&label)),
        ("paused", _) => format!("{what}; paused until: ordo job resume {}", quoted(&label)),
        ("active", None) if job["after"].is_object() => format!("runs {what}"),
        ("active", None) if job["trigger"]["type"] == "manual" => {
            format!("runs only when triggered: ordo job trigger {}", quoted(&label))
        }
        ("active", None) => what,
        (state, _) => format!("{what}; {state}"),
    };
    format!("{done} {label} ({id}): {rest}")
}

/// A label as it can be typed again.
pub(crate) fn quoted(label: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if label.chars().all(plain) { label.to_owned() } else { format!("'{}'", label.replace('\'', r"'\''")) }
}
