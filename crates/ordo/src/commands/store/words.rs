//! What is known about a store, in words.

use serde_json::Value;

use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::output::table;

pub(super) fn checked(talk: &CommandSession, checked: &Value) -> String {
    let of = |field: &str, thing: &str| counted(checked[field].as_u64().unwrap_or(0), thing);
    let seen = format!("{}, {}, {}", of("entities", "stream"), of("events", "event"), of("rows", "row"));
    if checked["clean"] == true {
        return format!("{}: {seen}, all as the events say", talk.paint.good("clean"));
    }
    let found: Vec<&str> = checked["shown"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let lines: String = found.iter().map(|finding| format!("  {finding}\n")).collect();
    let count = of("differences", "difference");
    let advice = "stop the daemon and rebuild with: ordo store reindex";
    format!("{}: {seen}, {count}\n{lines}{advice}", talk.paint.bad("not clean"))
}

pub(super) fn stats(talk: &CommandSession, stats: &Value) -> String {
    let mut pairs = vec![
        ("driver", format!("{}, layout {}", text(stats, "driver"), stats["format"])),
        ("size", size(stats["bytes_on_disk"].as_u64().unwrap_or(0))),
        ("streams", text(stats, "entities")),
        ("events", text(stats, "events")),
        ("alarms", text(stats, "alarms")),
        ("chunks", text(stats, "chunks")),
    ];
    let journal = &stats["journal"];
    if journal.is_object() {
        pairs.push(("journal", journal_words(journal)));
        pairs.push(("last recovery", recovery_words(journal)));
    }
    let rows = stats["rows"].as_object().into_iter().flatten();
    pairs.extend(rows.map(|(view, count)| (view.as_str(), format!("{count} rows"))));
    table::fields(&pairs, talk.paint)
}

fn journal_words(journal: &Value) -> String {
    let number = |field: &str| journal[field].as_u64().unwrap_or(0);
    let (pending, checkpoints) = (size(number("pending_bytes")), counted(number("checkpoints"), "checkpoint"));
    match number("checkpoint_micros_max") / 1_000 {
        0 => format!("{pending} to replay after a crash, {checkpoints}"),
        longest => format!("{pending} to replay after a crash, {checkpoints}, the longest {longest} ms"),
    }
}

fn recovery_words(journal: &Value) -> String {
    let number = |field: &str| journal[field].as_u64().unwrap_or(0);
    let (records, bytes) = (counted(number("recovered_records"), "record"), size(number("recovered_bytes")));
    format!("{records}, {bytes}, in {} ms", number("recovery_micros") / 1_000)
}

/// `1 job`, `2 jobs`
pub(super) fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// `4.1 MiB`
pub(super) fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}
