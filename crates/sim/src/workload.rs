//! What users ask for: random jobs of plain forms, and random commands on them.

use ordo_model::job::Definition;
use serde_json::{Map, Value, json};

use crate::rng::SimRng;

const ZONES: [&str; 5] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];
const CRONS: [&str; 10] = [
    "* * * * *",
    "*/5 * * * *",
    "7,37 * * * *",
    "*/20 */2 * * *",
    "30 2 * * *",
    "0 1,2,3 * * *",
    "*/15 2 * * *",
    "15 3 * * 0",
    "0 0 * * *",
    "*/10 1,2 * * *",
];

/// About how many occurrences a schedule may have before it ends or the world does.
const OCCURRENCES_MAX: i64 = 90;

#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkloadSpan {
    pub(crate) now_ms: i64,
    pub(crate) length_ms: i64,
}

pub(crate) fn definition(rng: &mut SimRng, marker: &str, span: WorkloadSpan) -> Definition {
    let form = json!({
        "label": marker,
        "tool_name": "virtual",
        "tool_input": { "by": marker },
        "trigger": trigger(rng, span),
        "misfire": misfire(rng),
        "block": block(rng),
        "priority": rng.between(0, 9),
        "timeout": millis(rng.skewed(200, 90_000)),
        "retry": retry(rng),
        "idempotent": rng.chance(400),
        "retention": retention(rng, span),
    });
    serde_json::from_value(form).expect("the workload writes what can be read")
}

/// A job that fires every few milliseconds for some seconds.
pub(crate) fn storm(rng: &mut SimRng, marker: &str, span: WorkloadSpan) -> Definition {
    let every = rng.skewed(2, 40);
    let end = span.now_ms + rng.between(1_000, 6_000);
    let mut storm = Map::new();
    let trigger = json!({ "type": "scheduled", "every": millis(every), "end": time(end) });
    storm.insert("trigger".into(), trigger);
    definition(rng, marker, span).patched(&storm).expect("the workload writes what can be read")
}

/// A change of a job that is never without effect: it bears the marker.
pub(crate) fn patch(rng: &mut SimRng, marker: &str, span: WorkloadSpan) -> Map<String, Value> {
    let mut patch = Map::new();
    patch.insert("description".into(), json!(marker));
    if rng.chance(450) {
        patch.insert("trigger".into(), trigger(rng, span));
    }
    if rng.chance(300) {
        patch.insert("block".into(), block(rng));
    }
    if rng.chance(200) {
        patch.insert("misfire".into(), misfire(rng));
    }
    if rng.chance(200) {
        patch.insert("retry".into(), retry(rng));
    }
    if rng.chance(100) {
        patch.insert("retention".into(), retention(rng, span));
    }
    patch
}

fn trigger(rng: &mut SimRng, span: WorkloadSpan) -> Value {
    match rng.between(0, 9) {
        0 => json!({ "type": "manual" }),
        1 => json!({ "type": "scheduled", "at": time(span.now_ms + rng.between(-50_000, span.length_ms / 2)) }),
        2 => json!({ "type": "scheduled", "at": time(span.now_ms + rng.between(100, 7_000)) }),
        3 | 4 => cron(rng, span),
        5 => burst(rng, span),
        _ => every(rng, span),
    }
}

fn cron(rng: &mut SimRng, span: WorkloadSpan) -> Value {
    // A dense expression in a long world would be too many runs.
    let densest = if span.length_ms > 3_600_000 { 1 } else { 0 };
    let expr = CRONS[rng.between(densest, CRONS.len() as i64 - 1) as usize];
    let mut trigger = json!({ "type": "scheduled", "cron": expr, "timezone": *rng.pick(&ZONES) });
    if rng.chance(200) {
        trigger["jitter"] = json!(millis(rng.skewed(1, 200_000)));
    }
    trigger
}

fn every(rng: &mut SimRng, span: WorkloadSpan) -> Value {
    let every = rng.skewed((span.length_ms / OCCURRENCES_MAX).max(1_000), span.length_ms);
    let mut trigger = json!({ "type": "scheduled", "every": millis(every) });
    if rng.chance(400) {
        let furthest = *rng.pick(&[8_000, span.length_ms / 4]);
        trigger["start"] = json!(time(span.now_ms + rng.between(-span.length_ms, furthest)));
    }
    if rng.chance(200) {
        trigger["end"] = json!(time(span.now_ms + rng.between(span.length_ms / 4 + 1, span.length_ms)));
    }
    if rng.chance(200) {
        trigger["jitter"] = json!(millis(rng.between(1, every - 1)));
    }
    trigger
}

/// A very fast interval for a short while.
fn burst(rng: &mut SimRng, span: WorkloadSpan) -> Value {
    let every = rng.skewed(1, 900);
    let start = span.now_ms + rng.between(0, span.length_ms / 2);
    // Now and then more than a queue holds and one wake may fire.
    let most = if rng.chance(50) { 5 * OCCURRENCES_MAX } else { OCCURRENCES_MAX };
    let end = start + every * rng.between(1, most);
    json!({ "type": "scheduled", "every": millis(every), "start": time(start), "end": time(end) })
}

fn misfire(rng: &mut SimRng) -> Value {
    match rng.between(0, 3) {
        0 | 1 => json!("fire_once_now"),
        2 => json!("do_nothing"),
        _ => json!({ "fire_all": { "cap": rng.skewed(1, 100), "window": millis(rng.skewed(5_000, 7_200_000)) } }),
    }
}

fn block(rng: &mut SimRng) -> Value {
    match rng.between(0, 5) {
        0..=2 => json!("serial"),
        3 => json!("discard"),
        4 => json!("cover"),
        _ => json!({ "concurrent": { "max": rng.skewed(1, 8) } }),
    }
}

fn retry(rng: &mut SimRng) -> Value {
    let backoff = if rng.chance(100) { 0 } else { rng.skewed(1, 20_000) };
    json!({
        "max_attempts": rng.skewed(1, 4),
        "backoff": millis(backoff),
        "max_backoff": millis(backoff + rng.between(0, 20_000)),
    })
}

fn retention(rng: &mut SimRng, span: WorkloadSpan) -> Value {
    json!({ "runs": rng.skewed(1, 50), "age": millis(rng.skewed(20_000, span.length_ms)) })
}

fn millis(ms: i64) -> String {
    format!("{ms}ms")
}

fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).expect("simulated time is near ours").to_string()
}
