//! When a job runs, and what happens when that does not go smoothly.

use ordo_model::limits::{
    AFTER_JOBS_MAX, ATTEMPTS_MAX, CATCH_UP_MAX, CONCURRENT_MAX, CRON_MAX_BYTES, EXCLUDED_DATES_MAX, EXCLUSIONS_MAX,
    HOOK_MAX_BYTES, KEY_CONCURRENCY_MAX, RATE_LIMIT_MAX, RETENTION_RUNS_DEFAULT, RETENTION_RUNS_MAX,
};
use serde_json::{Value, json};

use super::operation::component;
use super::schemas::{fields, object, text};

pub(super) fn all() -> Value {
    json!({
        "Trigger": trigger(),
        "Dst": object(&[], json!({
            "skipped": { "type": "string", "enum": ["shift", "skip"], "default": "shift" },
            "repeated": { "type": "string", "enum": ["first", "last", "both"], "default": "first" },
        })),
        "Exclusion": exclusion(),
        "Misfire": misfire(),
        "Block": block(),
        "Routing": { "type": "string", "default": "round", "enum": ["first", "last", "round", "random", "lfu", "lru",
            "consistent_hash", "failover", "busyover", "sharding_broadcast"] },
        "Retry": object(&[], json!({
            "max_attempts": { "type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX, "default": 1 },
            "backoff": component("Duration"),
            "max_backoff": component("Duration"),
        })),
        "ConcurrencyKey": object(&["key", "max"], json!({
            "key": component("KeySource"),
            "max": { "type": "integer", "minimum": 1, "maximum": KEY_CONCURRENCY_MAX },
        })),
        "RateLimit": object(&["key", "limit", "per"], json!({
            "key": component("KeySource"),
            "limit": { "type": "integer", "minimum": 1, "maximum": RATE_LIMIT_MAX },
            "per": component("Duration"),
        })),
        "UniqueKey": object(&["key", "window"], json!({
            "key": component("KeySource"),
            "window": component("Duration"),
            "on_conflict": { "type": "string", "enum": ["refuse", "merge"], "default": "refuse" },
        })),
        "After": { "description": "Runs when other jobs have ended; the run's input gets what came of them as `after`.",
            "oneOf": [
                component("Id"),
                { "type": "array", "items": component("Id"), "minItems": 1, "maxItems": AFTER_JOBS_MAX },
                object(&["jobs"], json!({
                    "jobs": { "type": "array", "items": component("Id"), "minItems": 1, "maxItems": AFTER_JOBS_MAX },
                    "mode": { "type": "string", "enum": ["all", "any"], "default": "all" },
                    "on": { "type": "string", "enum": ["success", "failure", "either"], "default": "success" },
                })),
            ] },
        "KeySource": { "type": "string", "pattern": "^(label|/.*)$", "examples": ["label", "/tenant"],
            "description": "`label`, or a JSON pointer into the input." },
        "Retention": object(&[], json!({
            "runs": { "type": "integer", "minimum": 1, "maximum": RETENTION_RUNS_MAX,
                "default": RETENTION_RUNS_DEFAULT },
            "age": component("Duration"),
        })),
    })
}

fn trigger() -> Value {
    let hook = json!({ "type": "string", "minLength": 1, "maxLength": HOOK_MAX_BYTES });
    json!({
        "oneOf": [
            scheduled(&["at"], json!({ "at": component("Time") })),
            scheduled(&["every"], json!({ "every": component("Duration") })),
            scheduled(&["cron"], json!({
                "cron": { "type": "string", "maxLength": CRON_MAX_BYTES, "examples": ["0 2 * * *"] },
                "timezone": { "type": "string", "default": "UTC", "examples": ["Europe/Berlin"] },
                "dst": component("Dst"),
            })),
            object(&["type", "hook"], json!({ "type": { "const": "webhook" }, "hook": hook })),
            object(&["type"], json!({ "type": { "const": "manual" } })),
        ],
    })
}

fn scheduled(rule: &[&str], properties: Value) -> Value {
    let window = json!({
        "type": { "const": "scheduled" },
        "start": component("Time"),
        "end": component("Time"),
        "jitter": component("Duration"),
        "exclude": { "type": "array", "items": component("Exclusion"), "maxItems": EXCLUSIONS_MAX },
    });
    let all = fields(window).into_iter().chain(fields(properties)).flatten().collect();
    object(&[&["type"], rule].concat(), Value::Object(all))
}

fn exclusion() -> Value {
    let time_of_day = json!({ "type": "string", "pattern": "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9])?$" });
    let day = json!({ "type": "string", "enum": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] });
    let dates = json!({ "type": "array", "items": { "type": "string", "format": "date" }, "minItems": 1,
        "maxItems": EXCLUDED_DATES_MAX });
    json!({
        "anyOf": [
            object(&["from", "to"], json!({ "from": component("Time"), "to": component("Time") })),
            object(&[], json!({ "days": { "type": "array", "items": day }, "from": time_of_day, "to": time_of_day,
                "timezone": text() })),
            object(&["dates"], json!({ "dates": dates, "timezone": text() })),
        ],
    })
}

fn misfire() -> Value {
    let all = json!({
        "cap": { "type": "integer", "minimum": 1, "maximum": CATCH_UP_MAX, "default": CATCH_UP_MAX },
        "window": component("Duration"),
    });
    json!({
        "oneOf": [
            { "type": "string", "enum": ["fire_once_now", "do_nothing"] },
            object(&["fire_all"], json!({ "fire_all": object(&[], all) })),
        ],
        "default": "fire_once_now",
    })
}

fn block() -> Value {
    let max = json!({ "type": "integer", "minimum": 1, "maximum": CONCURRENT_MAX });
    json!({
        "oneOf": [
            { "type": "string", "enum": ["serial", "discard", "cover", "concurrent"] },
            object(&["concurrent"], json!({ "concurrent": object(&["max"], json!({ "max": max })) })),
        ],
        "default": "serial",
    })
}
