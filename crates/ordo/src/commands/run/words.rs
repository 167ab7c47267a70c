//! A run in words: how it ended, or what it is doing.

use ordo_model::{Millis, Timestamp};
use serde_json::Value;

use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::output::time;

/// `completed hello (run 0199…) in 1.2s`, `failed hello (run …): exit code 1`
pub(crate) fn outcome(talk: &CommandSession, run: &Value) -> String {
    let status = text(&run["status"], "type");
    let took = took(run).map(|took| format!(" in {took}")).unwrap_or_default();
    let why = reason(talk, run).map(|why| format!(": {why}")).unwrap_or_default();
    format!("{} {} (run {}){took}{why}", talk.paint.state(&status), text(run, "label"), text(run, "id"))
}

/// Why a run ended as it did, or waits.
pub(crate) fn reason(talk: &CommandSession, run: &Value) -> Option<String> {
    let status = &run["status"];
    if let Some(gap) = status["gap"]["count"].as_u64().filter(|count| *count > 1) {
        return Some(format!("{}, {gap} occurrences", text(status, "reason")));
    }
    if let Some(at) = time::of(&status["retry_at"]) {
        let (now, exact) = (talk.now(), time::absolute(at, &talk.zone));
        return Some(match at > now {
            true => format!("next attempt {}, at {exact}", time::relative(at, now)),
            false => format!("next attempt due since {exact}"),
        });
    }
    if let Some(why) = status["cancelling"].as_str() {
        return Some(format!("being cancelled: {why}"));
    }
    if let Some(what) = status["waiting_for"].as_str() {
        return Some(format!("waiting for {what}"));
    }
    status["reason"].as_str().map(str::to_owned)
}

/// From its first attempt's start to its end.
pub(crate) fn took(run: &Value) -> Option<String> {
    let (started, finished) = (time::of(&run["started_at"])?, time::of(&run["finished_at"])?);
    Some(time::rough(finished.since(started)))
}

/// `on time`, `3s late`.
pub(crate) fn lateness(run: &Value) -> Option<String> {
    let ms = run["lateness_ms"].as_i64()?;
    let late = Millis::from_ms(u64::try_from(ms).unwrap_or(0));
    Some(time::rough(late))
}

pub(crate) fn at(talk: &CommandSession, run: &Value, field: &str) -> Option<(Timestamp, String)> {
    time::of(&run[field]).map(|at| (at, time::both(at, talk.now(), &talk.zone)))
}
