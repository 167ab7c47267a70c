//! The routes of hooks and their deliveries.

use super::{Delete, Get, HOOKS, OPEN, Patch, Post, READ, REPLAYED};
use crate::code::Code;
use crate::hooks::{DeliveryReceived, DeliveryView, HookPatch, HookView, NewHook, SlackChallenge};
use crate::operation::Operation;
use crate::route::{Method, Need, READS, Route, WRITES};

/// What can be done with a hook once it is there.
const TAKES_HOOK: &[Operation] = &[
    Operation::ReadHook,
    Operation::UpdateHook,
    Operation::RemoveHook,
    Operation::ListDeliveries,
    Operation::TestHook,
    Operation::CallHook,
];

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "hooks")
}

pub(crate) fn call() -> Route {
    route(Post, "/hooks/{slug}", OPEN)
        .summary("Call a hook")
        .saying(
            "The body, of any type, and the headers are kept as they came (credentials are not) and given to a run of \
             every job that listens. Needs no token: the hook itself says how its callers are verified. The same \
             delivery again within seven days is answered with the same id and leads to nothing more. A hook of Slack \
             answers Slack's question whether it is there.",
        )
        .raw_body()
        .answers::<DeliveryReceived>(202, "The delivery, durable.")
        .answers::<SlackChallenge>(200, "The answer to Slack's question.")
        .refuses(&[Code::HookNotFound, Code::HookUnverified, Code::BodyTooLarge, Code::HeadersTooLarge])
        .refuses(&[Code::RequestTimeout, Code::InvalidJson, Code::HookSecretUnavailable, Code::RateLimited])
        .refuses(WRITES)
}

pub(crate) fn list() -> Route {
    route(Get, "/v1/hooks", READ).summary("List hooks, by slug").paged::<HookView>("A page of hooks.").refuses(READS)
}

pub(crate) fn create() -> Route {
    route(Post, "/v1/hooks", HOOKS)
        .summary("Add a hook")
        .saying("A secret that is given as text is kept apart, sealed, under the name `hook-<slug>`, and never shown.")
        .shared("IdempotencyKey")
        .body::<NewHook>()
        .answers::<HookView>(201, "The hook, durable.")
        .header(201, "Location", "The path of the hook.")
        .header(201, "Idempotency-Replayed", REPLAYED)
        .leads_to(201, TAKES_HOOK, "slug", "$response.body#/slug")
        .refuses(&[Code::InvalidHook, Code::HookExists, Code::HookNotFound, Code::HookSecretUnavailable])
        .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}

pub(crate) fn read() -> Route {
    route(Get, "/v1/hooks/{slug}", READ)
        .summary("Read a hook")
        .answers::<HookView>(200, "The hook.")
        .refuses(&[Code::HookNotFound])
        .refuses(READS)
}

pub(crate) fn update() -> Route {
    route(Patch, "/v1/hooks/{slug}", HOOKS)
        .summary("Change how a hook verifies and filters")
        .saying(
            "A merge patch: what is left out stays. `\"verify\": null` is the only way to drop the verification; an \
             event says so. `verify` and `filter` are replaced whole.",
        )
        .body::<HookPatch>()
        .answers::<HookView>(200, "The hook, changed.")
        .refuses(&[Code::HookNotFound, Code::InvalidHook, Code::HookSecretUnavailable])
        .refuses(WRITES)
}

pub(crate) fn remove() -> Route {
    route(Delete, "/v1/hooks/{slug}", HOOKS)
        .summary("Remove a hook")
        .saying("Deliveries that came before still run. Jobs that listen to it stay, and hear it again if it is added.")
        .answers::<HookView>(200, "The hook as it was.")
        .refuses(&[Code::HookNotFound])
        .refuses(WRITES)
}

pub(crate) fn deliveries() -> Route {
    route(Get, "/v1/hooks/{slug}/deliveries", READ)
        .summary("List the deliveries of a hook, newest first")
        .paged::<DeliveryView>("A page of deliveries.")
        .refuses(&[Code::HookNotFound])
        .refuses(READS)
}

pub(crate) fn replay() -> Route {
    route(Post, "/v1/hooks/{slug}/deliveries/{id}/replay", HOOKS)
        .summary("Bring a delivery to every job that listens now, once more")
        .shared("IdempotencyKey")
        .answers::<DeliveryView>(202, "The delivery; its runs begin a moment later.")
        .header(202, "Idempotency-Replayed", REPLAYED)
        .refuses(&[Code::DeliveryNotFound, Code::WrongState, Code::PayloadGone])
        .refuses(&[Code::InvalidHeader, Code::IdempotencyKeyReused])
        .refuses(WRITES)
}

pub(crate) fn test() -> Route {
    route(Post, "/v1/hooks/{slug}/test", HOOKS)
        .summary("Call a hook to try it out")
        .saying(
            "The body is treated as the payload of a call that was verified: it is stored as a delivery, passes the \
             hook's filter or not, and starts the jobs that listen.",
        )
        .raw_body()
        .answers::<DeliveryReceived>(202, "The delivery, durable.")
        .refuses(&[Code::HookNotFound, Code::BodyTooLarge])
        .refuses(WRITES)
}
