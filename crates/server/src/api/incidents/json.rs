//! An incident as it is answered, alone or with its timeline.

use ordo_engine::Versioned;
use ordo_engine::incidents::Happened;
use ordo_model::incident::Incident;
use ordo_model::{EntityId, Kind};
use serde_json::{Value, json};

pub(crate) fn incident(kept: &Versioned<Incident>) -> Value {
    let escalation = kept
        .escalation
        .as_ref()
        .map(|escalating| json!({ "step": escalating.step, "due_at": escalating.due_at, "policy": escalating.policy }));
    json!({
        "id": kept.id,
        "stream": EntityId { kind: Kind::Incident, id: kept.id }.to_string(),
        "title": kept.title,
        "description": kept.description,
        "identifier": kept.identifier,
        "severity": kept.severity,
        "status": kept.status,
        "assignee": kept.assignee,
        "acknowledged": kept.acknowledged,
        "links": kept.links,
        "started_by": kept.started_by,
        "created_at": kept.created_at,
        "updated_at": kept.updated_at,
        "ended_at": kept.ended_at,
        "escalation": escalation,
        "published": kept.published,
        "version": kept.version,
    })
}

pub(crate) fn line(happened: &Happened) -> Value {
    let mut form = serde_json::to_value(&happened.event).unwrap_or_default();
    form["version"] = json!(happened.version);
    form["at"] = json!(happened.at);
    form
}
