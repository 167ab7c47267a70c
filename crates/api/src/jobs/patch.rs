//! A merge patch (RFC 7396) for a job: any fields of its definition; null means the default.

use ordo_model::job::Definition;
use ordo_model::strict;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct JobPatch(pub Map<String, Value>);

/// Names are checked here; what they hold when it is laid over the job, because some fields are merged.
impl<'de> Deserialize<'de> for JobPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JobPatch, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let known = strict::field_names::<Definition>();
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => Err(D::Error::unknown_field(unknown, known)),
            None => Ok(JobPatch(fields)),
        }
    }
}

/// The schema of a definition in which nothing is required: see `openapi::schemas`.
impl PartialSchema for JobPatch {
    fn schema() -> RefOr<Schema> {
        Definition::schema()
    }
}

impl ToSchema for JobPatch {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Definition::schemas(schemas);
    }
}
