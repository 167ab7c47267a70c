//! `ordo status`: how the daemon is doing.

use serde_json::Value;

use super::watch;
use crate::cli::RefreshArgs;
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::{table, time};

pub(crate) async fn run(talk: &CommandSession, every: RefreshArgs) -> Result<Exit> {
    watch::repeated(talk, every, async || {
        let status = talk.get("/v1/status").await?;
        talk.value(&status, || human(talk, &status))
    })
    .await
}

fn human(talk: &CommandSession, status: &Value) -> String {
    let up = status["uptime_ms"].as_u64().map(|ms| time::rough(ordo_model::Millis::from_ms(ms))).unwrap_or_default();
    let ready = if status["ready"] == true { talk.paint.good("ready") } else { talk.paint.warn("not ready") };
    let counters = &status["counters"];
    let mut pairs = vec![
        ("daemon", format!("{ready}, up {up}, version {}, at {}", text(status, "version"), talk.client.target())),
        ("node", format!("{}, tick rate {}", text(status, "node"), text(status, "tick_rate"))),
        ("time zones", time_zones(&status["time_zones"])),
        ("tools", names(&status["tools"])),
        (
            "fired",
            format!(
                "{} on this node since it started: {} late; {} skipped",
                counters["triggered"], counters["late"], counters["skipped"]
            ),
        ),
        (
            "ended",
            format!(
                "{} completed, {} failed, {} cancelled",
                counters["completed"], counters["failed"], counters["cancelled"]
            ),
        ),
        ("ring", ring(status["ring"].as_u64().unwrap_or(0))),
    ];
    for pool in status["pools"].as_array().into_iter().flatten() {
        pairs.push((
            "pool",
            format!("{}: {} running, {} waiting", text(pool, "name"), pool["running"], pool["waiting"]),
        ));
    }
    if status["mirror"].is_object() {
        pairs.push(("mirror", mirror(talk, &status["mirror"])));
        for halted in status["mirror"]["halted_streams"].as_array().into_iter().flatten() {
            pairs.push(("halted", format!("{}: {}", text(halted, "stream"), text(halted, "reason"))));
        }
    }
    table::fields(&pairs, talk.paint)
}

/// `caught up with kurrent.example:2113, 120 events appended, 3 missing, 1 stream halted`
fn mirror(talk: &CommandSession, mirror: &Value) -> String {
    let lag = mirror["lag_ms"].as_u64().map(|ms| time::rough(ordo_model::Millis::from_ms(ms))).unwrap_or_default();
    let target = text(mirror, "target");
    let state = match mirror["state"].as_str() {
        Some("caught_up") => talk.paint.good(&format!("caught up with {target}")),
        Some("catching_up") => format!("{lag} behind at {target}"),
        Some("standing_by") => format!("another node writes to {target}"),
        _ => talk.paint.warn(&format!("failing at {target}, {lag} behind")),
    };
    let mut words = vec![state, format!("{} events appended", mirror["appended"])];
    if let Some(missing) = mirror["missing"].as_u64().filter(|missing| *missing > 0) {
        words.push(talk.paint.warn(&format!("{missing} missing")));
    }
    if let Some(halted) = mirror["halted"].as_u64().filter(|halted| *halted > 0) {
        words.push(talk.paint.warn(&format!("{halted} halted")));
    }
    let error = mirror["last_error"].as_str().map(|error| format!(": {error}")).unwrap_or_default();
    words.join(", ") + &error
}

/// What is due soon, runs and whatever else has its time.
fn ring(alarms: u64) -> String {
    match alarms {
        1 => "1 alarm in memory".to_owned(),
        _ => format!("{alarms} alarms in memory"),
    }
}

/// `2026a (bundled)`
fn time_zones(zones: &Value) -> String {
    format!("{} ({})", zones["version"].as_str().unwrap_or("of unknown version"), text(zones, "source"))
}

fn names(list: &Value) -> String {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}
