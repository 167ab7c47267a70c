//! The store as a whole and the server itself.

use serde_json::{Value, json};

use super::operation::component;
use super::schemas::{answer, integer, text};

pub(super) fn all() -> Value {
    json!({
        "Health": answer(json!({ "status": { "type": "string", "enum": ["ok", "ready"] } }), &[]),
        "Status": status(),
        "CronExplained": answer(json!({
            "expr": text(),
            "timezone": text(),
            "schedule": { "type": "string", "description": "As a sentence." },
            "items": { "type": "array", "items": component("PreviewedOccurrence") },
            "next_cursor": { "type": "null" },
        }), &[]),
        "StoreStats": store_stats(),
        "StoreCopy": answer(json!({ "to": text(), "bytes": integer() }), &[]),
        "StoreCheck": store_check(),
        "Node": node(),
    })
}

fn status() -> Value {
    let release = json!({ "type": ["string", "null"], "description": "The release of the IANA database: 2026a." });
    let zones =
        answer(json!({ "version": release, "source": { "type": "string", "enum": ["bundled", "system"] } }), &[]);
    let pool = answer(json!({ "name": text(), "running": integer(), "waiting": integer() }), &[]);
    answer(
        json!({
            "node": text(),
            "version": text(),
            "time_zones": zones,
            "ready": { "type": "boolean" },
            "now": component("Time"),
            "tick_rate": component("Duration"),
            "uptime": component("Duration"),
            "uptime_ms": integer(),
            "ring": { "type": "integer", "minimum": 0, "description": "Alarms of the near future held in memory." },
            "pools": { "type": "array", "items": pool },
            "tools": { "type": "array", "items": text() },
            "counters": { "type": "object", "additionalProperties": integer() },
        }),
        &[],
    )
}

fn store_stats() -> Value {
    let rows = json!({ "type": "object", "additionalProperties": integer(), "description": "By view." });
    answer(
        json!({
            "driver": text(),
            "format": integer(),
            "bytes_on_disk": integer(),
            "entities": integer(),
            "events": integer(),
            "alarms": integer(),
            "chunks": integer(),
            "rows": rows,
        }),
        &[],
    )
}

fn store_check() -> Value {
    answer(
        json!({
            "clean": { "type": "boolean" },
            "entities": integer(),
            "events": integer(),
            "rows": integer(),
            "differences": integer(),
            "shown": { "type": "array", "items": text(), "description": "The first differences, for people." },
        }),
        &[],
    )
}

fn node() -> Value {
    answer(
        json!({
            "name": text(),
            "generation": { "type": "string", "format": "uuid", "description": "New with every start." },
            "roles": { "type": "array", "items": { "type": "string", "enum": ["api", "timekeeper", "executor"] } },
            "version": text(),
            "url": { "type": ["string", "null"] },
            "state": { "type": "string", "enum": ["alive", "draining", "silent"] },
            "joined_at": component("Time"),
            "seen_at": component("Time"),
            "partitions": { "type": "integer", "minimum": 0, "maximum": 256,
                "description": "How many of the 256 slices of all jobs it looks after." },
        }),
        &[],
    )
}
