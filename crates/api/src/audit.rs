//! Who changed what.

use ordo_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::events::ActorView;

/// One change by a person or a program, or one login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditView {
    pub at: Timestamp,
    /// The event: `JobUpdated`, `TokenRevoked`, `LoginDenied`.
    pub r#type: String,
    /// What kind of thing it happened to: `job`, `incident`, `token`, `login`.
    pub kind: String,
    /// What that was called then: a label, a title, a name; the address of a login.
    pub name: String,
    pub stream: String,
    /// The number of the event in its stream.
    pub version: u64,
    pub actor: ActorView,
}
