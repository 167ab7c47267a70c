//! The routes of hooks and their deliveries.

use super::operation::{Operation, READS, REPLAYED, WRITES, component, shared};
use super::schemas::list;
use crate::http::code::Code;

/// What can be done with a hook once it is there.
const TAKES_HOOK: &[&str] = &["readHook", "updateHook", "removeHook", "listDeliveries", "callHook"];

pub(super) fn all() -> Vec<Operation> {
    vec![call(), read_all(), create(), read(), update(), remove(), deliveries(), replay()]
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "hooks", summary)
}

fn call() -> Operation {
    operation("post", "/hooks/{slug}", "callHook", "Call a hook")
        .saying(
            "The body, of any type, and the headers are kept as they came (credentials are not) and given to a run of \
             every job that listens. Needs no token: the hook itself says how its callers are verified. The same \
             delivery again within seven days is answered with the same id and leads to nothing more. A hook of Slack \
             answers Slack's question whether it is there.",
        )
        .open()
        .raw_body()
        .answers(202, "The delivery, durable.", &component("DeliveryReceived"))
        .answers(200, "The answer to Slack's question.", &component("SlackChallenge"))
        .refuses(&[Code::HookNotFound, Code::HookUnverified, Code::BodyTooLarge, Code::HeadersTooLarge])
        .refuses(&[Code::RequestTimeout, Code::InvalidJson, Code::HookSecretUnavailable])
        .refuses(WRITES)
}

fn read_all() -> Operation {
    operation("get", "/v1/hooks", "listHooks", "List hooks, by slug")
        .paged()
        .answers(200, "A page of hooks.", &list("Hook"))
        .refuses(READS)
}

fn create() -> Operation {
    operation("post", "/v1/hooks", "createHook", "Add a hook")
        .saying("A secret that is given as text is kept apart, sealed, under the name `hook-<slug>`, and never shown.")
        .parameter(shared("IdempotencyKey"))
        .body(component("NewHook"), true)
        .answers(201, "The hook, durable.", &component("Hook"))
        .header(201, "Location", "The path of the hook.")
        .header(201, "Idempotency-Replayed", REPLAYED)
        .leads_to(201, TAKES_HOOK, "slug", "$response.body#/slug")
        .refuses(&[Code::InvalidHook, Code::HookExists, Code::HookNotFound, Code::HookSecretUnavailable])
        .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}

fn read() -> Operation {
    operation("get", "/v1/hooks/{slug}", "readHook", "Read a hook")
        .answers(200, "The hook.", &component("Hook"))
        .refuses(&[Code::HookNotFound])
        .refuses(READS)
}

fn update() -> Operation {
    operation("put", "/v1/hooks/{slug}", "updateHook", "Replace what a hook asks of its callers")
        .body(component("ChangedHook"), true)
        .answers(200, "The hook, changed.", &component("Hook"))
        .refuses(&[Code::HookNotFound, Code::InvalidHook, Code::HookSecretUnavailable])
        .refuses(WRITES)
}

fn remove() -> Operation {
    operation("delete", "/v1/hooks/{slug}", "removeHook", "Remove a hook")
        .saying("Deliveries that came before still run. Jobs that listen to it stay, and hear it again if it is added.")
        .answers(200, "The hook as it was.", &component("Hook"))
        .refuses(&[Code::HookNotFound])
        .refuses(WRITES)
}

fn deliveries() -> Operation {
    operation("get", "/v1/hooks/{slug}/deliveries", "listDeliveries", "List the deliveries of a hook, newest first")
        .paged()
        .answers(200, "A page of deliveries.", &list("Delivery"))
        .refuses(&[Code::HookNotFound])
        .refuses(READS)
}

fn replay() -> Operation {
    operation(
        "post",
        "/v1/hooks/{slug}/deliveries/{id}/replay",
        "replayDelivery",
        "Bring a delivery to every job that listens now, once more",
    )
    .parameter(shared("IdempotencyKey"))
    .answers(202, "The delivery; its runs begin a moment later.", &component("Delivery"))
    .header(202, "Idempotency-Replayed", REPLAYED)
    .refuses(&[Code::DeliveryNotFound, Code::WrongState, Code::PayloadGone])
    .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused])
    .refuses(WRITES)
}
