//! Hooks and deliveries as they are answered. A secret is named, never shown.

use ordo_model::hook::{Bound, Delivery, DeliveryOutcome, Hook, Scheme};
use ordo_model::{EntityId, JobId, Kind};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) fn hook(hook: &Hook, jobs: &[JobId]) -> Value {
    let verify = hook.terms.verify.as_ref().map(|verify| {
        let mut form = json!({ "type": verify.scheme.name(), "secret": { "secret": verify.secret } });
        if let Scheme::Hmac { header: Some(header) } = &verify.scheme {
            form["header"] = json!(header);
        }
        form
    });
    json!({
        "slug": hook.slug,
        "path": format!("/hooks/{}", hook.slug),
        "verify": verify,
        "filter": hook.terms.filter,
        "max_bytes": hook.terms.max_bytes,
        "jobs": jobs,
        "created_at": hook.created_at,
        "updated_at": hook.updated_at,
    })
}

pub(crate) fn delivery(id: Uuid, delivery: &Delivery) -> Value {
    json!({
        "id": id,
        "hook": delivery.hook,
        "sender_id": delivery.sender_id,
        "content_type": delivery.content_type,
        "bytes": delivery.bytes,
        "received_at": delivery.received_at,
        "expires_at": delivery.expires_at(),
        "status": delivery.status(),
        "has_payload": delivery.payload.is_some(),
        "replays": delivery.replays,
        "runs": delivery.bound.iter().map(bound).collect::<Vec<Value>>(),
        "stream": EntityId { kind: Kind::Delivery, id }.to_string(),
    })
}

fn bound(bound: &Bound) -> Value {
    let (run, status, reason) = match &bound.outcome {
        DeliveryOutcome::Waiting => (None, "waiting", None),
        DeliveryOutcome::Running { run } => (Some(run), "running", None),
        DeliveryOutcome::Ended { run, status } => (Some(run), status.as_str(), None),
        DeliveryOutcome::Refused { reason } => (None, "refused", Some(reason)),
    };
    let mut form = json!({ "job_id": bound.job, "run_id": run, "status": status });
    if let Some(reason) = reason {
        form["reason"] = json!(reason);
    }
    form
}
