//! Which jobs are fired while daemons die: once or again and again, in a shell or in the process itself.

use std::path::Path;

use ordo_model::testing::Chance;
use ordo_model::{Millis, Timestamp};
use serde_json::{Value, json};

const SHELL_PERCENT: u64 = 30;
const ONCE_PERCENT: u64 = 60;

/// A schedule without an occurrence to come is refused: the first must not have passed before the job arrives.
const HEAD_START: Millis = Millis::from_ms(800);

/// All of them are over about `span` after `now`.
pub(crate) fn jobs(chance: &mut Chance, count: u64, now: Timestamp, span: Millis, book: &Path) -> Vec<Value> {
    (0..count).map(|number| job(chance, number, now, span, book)).collect()
}

fn job(chance: &mut Chance, number: u64, now: Timestamp, span: Millis, book: &Path) -> Value {
    let mut job = json!({ "label": format!("job-{number}"), "trigger": trigger(chance, now, span) });
    if chance.percent(SHELL_PERCENT) {
        // One short line written in one piece: lines of many processes never mix.
        let script = format!("echo $ORDO_RUN_ID $ORDO_ATTEMPT $ORDO_SCHEDULED_FOR >> {}", book.display());
        job["tool_name"] = json!("shell");
        job["tool_input"] = json!({ "script": script });
    } else {
        job["tool_name"] = json!("noop");
    }
    job["block"] = chance.one_of(&["serial", "discard", "concurrent"]).into();
    job["misfire"] = chance.one_of(&["fire_once_now", "do_nothing"]).into();
    if chance.percent(30) {
        job["idempotent"] = json!(true);
        job["retry"] = json!({ "max_attempts": 3, "backoff": "50ms" });
    }
    job
}

fn trigger(chance: &mut Chance, now: Timestamp, span: Millis) -> Value {
    if chance.percent(ONCE_PERCENT) {
        let at = now.plus(Millis::from_ms(chance.between(0, span.ms())));
        return json!({ "type": "scheduled", "at": at });
    }
    let every = Millis::from_ms(chance.one_of(&[50, 200, 1_000, 3_000, 7_000]));
    // A fast one lives shortly, or it would be most of the work.
    let active_for = every.saturating_mul(12).min(span);
    let start = now.plus(HEAD_START).plus(Millis::from_ms(chance.between(0, span.ms() - active_for.ms())));
    let mut trigger = json!({ "type": "scheduled", "every": every, "start": start, "end": start.plus(active_for) });
    if chance.percent(20) {
        trigger["jitter"] = json!(Millis::from_ms(every.ms() / 2));
    }
    trigger
}
