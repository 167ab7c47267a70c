//! Silences: of whom nobody hears for a while.

use ordo_model::incident::By;
use ordo_model::silence::Silence;
use ordo_model::subscription::EventPattern;
use ordo_model::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// For a length of time, or until a moment: one of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSilence {
    /// The label of a job, the name of a monitor or the identifier of an incident; `*` stands for anything.
    #[schema(value_type = String)]
    pub matching: EventPattern,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// On whose behalf it is done. Who does it is the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Silence)]
pub struct SilenceView {
    pub id: Uuid,
    #[schema(value_type = String)]
    pub matching: EventPattern,
    pub until: Timestamp,
    pub reason: String,
    pub by: By,
    pub created_at: Timestamp,
}

impl SilenceView {
    pub fn of(id: Uuid, silence: &Silence) -> SilenceView {
        SilenceView {
            id,
            matching: silence.matching.clone(),
            until: silence.until,
            reason: silence.reason.clone(),
            by: silence.by.clone(),
            created_at: silence.created_at,
        }
    }
}
