//! The definitions that a job has had.

use ordo_model::Timestamp;
use ordo_model::job::{Definition, FieldChange};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::events::ActorView;

/// One definition of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Revision)]
pub struct RevisionView {
    /// The first is 1.
    pub revision: u64,
    pub at: Timestamp,
    /// Who made it; null: the event that said so is no longer kept.
    #[schema(required)]
    pub actor: Option<ActorView>,
    pub definition: Definition,
    /// What it changed in the one before, as far as that is kept.
    pub changes: Vec<FieldChange>,
}

/// What two revisions of a job differ in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobDiff {
    pub from: u64,
    pub to: u64,
    pub changes: Vec<FieldChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevertJob {
    /// The revision whose definition the job gets back.
    pub revision: u64,
}
