//! Hooks and deliveries.

use ordo_model::hook::Scheme;
use ordo_model::limits::{FILTER_VALUES_MAX, HOOK_MAX_BYTES, PAYLOAD_DEFAULT_BYTES, PAYLOAD_MAX_BYTES};
use serde_json::{Value, json};

use super::operation::component;
use super::schemas::{answer, integer, object, or_null, text};

pub(super) fn all() -> Value {
    json!({
        "Slug": { "type": "string", "pattern": format!("^[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{}}}$", HOOK_MAX_BYTES - 1) },
        "NewHook": new_hook(),
        "ChangedHook": object(&[], terms()),
        "Verify": verify(),
        "Filter": filter(),
        "Hook": hook(),
        "Delivery": delivery(),
        "DeliveryReceived": answer(json!({
            "id": component("Id"),
            "duplicate": { "const": true, "description": "It came before: nothing more happens." },
        }), &["duplicate"]),
        "SlackChallenge": answer(json!({ "challenge": text() }), &[]),
    })
}

fn terms() -> Value {
    let max = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": PAYLOAD_MAX_BYTES,
        "default": PAYLOAD_DEFAULT_BYTES, "description": "A larger payload is refused." });
    json!({
        "verify": or_null(component("Verify")),
        "filter": or_null(component("Filter")),
        "max_bytes": max,
    })
}

fn new_hook() -> Value {
    let mut properties = terms();
    properties["slug"] = component("Slug");
    object(&["slug"], properties)
}

fn verify() -> Value {
    let reference = object(&["secret"], json!({ "secret": { "type": "string", "description": "Its name." } }));
    object(
        &["type", "secret"],
        json!({
            "type": { "type": "string", "enum": Scheme::NAMES },
            "secret": { "oneOf": [{ "type": "string", "minLength": 1 }, reference],
                "description": "The secret itself, or the name of one that is kept." },
            "header": { "type": ["string", "null"], "description": "For `hmac`: where the signature stands; \
                `X-Signature-256` or `X-Signature` when left out." },
        }),
    )
}

fn filter() -> Value {
    let pointer = json!({ "type": "string", "pattern": "^(/.*)?$", "description": "RFC 6901." });
    let test = |name: &str, schema: Value| object(&["pointer", name], json!({ "pointer": pointer, name: schema }));
    json!({
        "description": "What must be true of the payload, which must be JSON; what does not pass is recorded, not run.",
        "oneOf": [
            test("equals", json!(true)),
            test("not_equals", json!(true)),
            test("exists", json!({ "type": "boolean" })),
            test("one_of", json!({ "type": "array", "minItems": 1, "maxItems": FILTER_VALUES_MAX })),
        ],
    })
}

fn hook() -> Value {
    let properties = json!({
        "slug": component("Slug"),
        "path": { "type": "string", "description": "Where others call." },
        "verify": { "type": ["object", "null"], "description": "The secret by its name only." },
        "filter": or_null(component("Filter")),
        "max_bytes": integer(),
        "jobs": { "type": "array", "items": component("Id"), "description": "The jobs that listen." },
        "created_at": component("Time"),
        "updated_at": component("Time"),
    });
    answer(properties, &[])
}

fn delivery() -> Value {
    let statuses = ["received", "running", "done", "failed", "unheard", "filtered"];
    let run = answer(
        json!({
            "job_id": component("Id"),
            "run_id": or_null(component("Id")),
            "status": { "type": "string", "description": "`waiting`, `running`, how the run ended, or `refused`." },
            "reason": text(),
        }),
        &["reason"],
    );
    let properties = json!({
        "id": component("Id"),
        "hook": component("Slug"),
        "sender_id": { "type": ["string", "null"], "description": "How the sender names it." },
        "content_type": { "type": ["string", "null"] },
        "bytes": integer(),
        "received_at": component("Time"),
        "expires_at": component("Time"),
        "status": { "type": "string", "enum": statuses },
        "has_payload": { "type": "boolean", "description": "Whether it can be replayed." },
        "replays": integer(),
        "runs": { "type": "array", "items": run, "description": "Of the arrival, or of the last replay." },
        "stream": text(),
    });
    answer(properties, &[])
}
