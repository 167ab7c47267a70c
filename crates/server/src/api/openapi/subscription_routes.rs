//! The routes of subscriptions, and those that Slack calls.

use serde_json::{Value, json};

use super::operation::{Operation, READS, WRITES, component};
use super::schemas::{answer, integer, list, object, or_null, text};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![read_all(), create(), read(), update(), remove(), test(), slack_events(), slack_interaction()]
}

const ONE: &str = "/v1/subscriptions/{id}";

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "subscriptions", summary)
}

fn read_all() -> Operation {
    operation("get", "/v1/subscriptions", "listSubscriptions", "List subscriptions")
        .paged()
        .answers(200, "A page of subscriptions, oldest first.", &list("Subscription"))
        .refuses(READS)
}

fn create() -> Operation {
    let next = ["readSubscription", "updateSubscription", "removeSubscription", "testSubscription"];
    operation("post", "/v1/subscriptions", "createSubscription", "Have a URL told of events")
        .saying("The signing secret is in this answer and in no other.")
        .body(component("SubscriptionForm"), true)
        .answers(201, "The subscription, with its secret.", &component("Subscription"))
        .leads_to(201, &next, "id", "$response.body#/id")
        .refuses(&[Code::InvalidSubscription, Code::TooManySubscriptions, Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

fn read() -> Operation {
    operation("get", ONE, "readSubscription", "Read a subscription")
        .answers(200, "The subscription.", &component("Subscription"))
        .refuses(&[Code::SubscriptionNotFound])
        .refuses(READS)
}

fn update() -> Operation {
    operation("patch", ONE, "updateSubscription", "Change a subscription, or replace its secret")
        .saying("A secret that was replaced goes on signing for a day, beside the new one.")
        .body(component("SubscriptionPatch"), true)
        .answers(200, "The subscription, with its secret if that is new.", &component("Subscription"))
        .refuses(&[Code::SubscriptionNotFound, Code::InvalidSubscription])
        .refuses(WRITES)
}

fn remove() -> Operation {
    operation("delete", ONE, "removeSubscription", "Remove a subscription")
        .answers(200, "It is gone.", &answer(json!({ "id": component("Id"), "removed": { "const": true } }), &[]))
        .refuses(&[Code::SubscriptionNotFound])
        .refuses(WRITES)
}

fn test() -> Operation {
    operation("post", "/v1/subscriptions/{id}/test", "testSubscription", "Send one message now")
        .saying("Of the type `test`. Nothing is tried again.")
        .answers(200, "How it went.", &component("SubscriptionTest"))
        .refuses(&[Code::SubscriptionNotFound, Code::NotReady])
        .refuses(READS)
}

fn slack(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new("post", path, id, "slack", summary)
        .saying("Needs no token: the request is signed, by Slack's scheme v0.")
        .open()
        .refuses(&[Code::InvalidBody, Code::RequestTimeout, Code::BodyTooLarge, Code::InvalidJson])
        .refuses(&[Code::SlackSignatureInvalid, Code::SlackNotConfigured])
        .refuses(WRITES)
}

fn slack_events() -> Operation {
    let challenge = answer(json!({ "challenge": text() }), &["challenge"]);
    slack("/slack/events", "hearSlack", "What Slack tells the app").answers(200, "It is kept.", &challenge)
}

fn slack_interaction() -> Operation {
    slack("/slack/interaction", "pressInSlack", "Buttons and menus of a card").answers(
        200,
        "It is done, or cannot be.",
        &json!({ "type": "object" }),
    )
}

pub(super) fn schemas() -> Value {
    let pattern =
        json!({ "type": "string", "minLength": 1, "maxLength": 200, "examples": ["incident.*", "job.failed"] });
    let secret = json!({ "type": "string", "examples": ["whsec_…"] });
    let url = json!({ "type": "string", "format": "uri", "pattern": "^https?://" });
    let events = json!({ "type": "array", "minItems": 1, "maxItems": 50, "items": pattern });
    let form = json!({
        "url": url,
        "events": events,
        "label": or_null(pattern),
        "description": { "type": ["string", "null"], "maxLength": 1000 },
        "secret": or_null(secret),
    });
    let mut patch = form.clone();
    patch["enabled"] = json!({ "type": "boolean" });
    patch["secret"] = json!({ "type": "string", "description": "`new`, or `whsec_…`." });
    json!({
        "SubscriptionForm": object(&["url", "events"], form),
        "SubscriptionPatch": object(&[], patch),
        "Subscription": subscription(),
        "SubscriptionTest": answer(json!({
            "delivered": { "type": "boolean" },
            "status": integer(),
            "error": text(),
        }), &["status", "error"]),
    })
}

fn subscription() -> Value {
    let reason = json!({ "type": ["string", "null"], "description": "Why it is disabled." });
    answer(
        json!({
            "id": component("Id"),
            "url": text(),
            "description": { "type": ["string", "null"] },
            "events": { "type": "array", "items": text() },
            "label": { "type": ["string", "null"] },
            "state": { "type": "string", "enum": ["enabled", "disabled", "removed"] },
            "reason": reason,
            "previous_secret_until": or_null(component("Time")),
            "created_at": component("Time"),
            "updated_at": component("Time"),
            "secret": { "type": "string", "description": "Only in the answer to the request that made it." },
        }),
        &["secret"],
    )
}
