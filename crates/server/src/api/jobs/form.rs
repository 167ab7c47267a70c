//! A job as a client writes it down: the fields of its definition, and whether it is held.

use ordo_engine::Engine;
use ordo_model::job::{Command, Definition};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::jobs::tool_check;
use crate::http::body::shape;
use crate::http::code::Code;
use crate::http::problem::Problem;

pub(crate) struct JobForm {
    pub(crate) definition: Definition,
    pub(crate) held: bool,
}

impl JobForm {
    pub(crate) fn read(mut fields: Map<String, Value>) -> Result<JobForm, Problem> {
        let held = match fields.remove("held") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(held)) => held,
            Some(_) => return Err(Problem::field(Code::InvalidJob, "held", "must be true or false")),
        };
        let definition = serde_path_to_error::deserialize(Value::Object(fields));
        Ok(JobForm { definition: definition.map_err(|error| shape(Code::InvalidJob, &error))?, held })
    }

    /// The order to schedule it, if its tool will have it.
    pub(crate) async fn into_command(self, engine: &Engine) -> Result<Command, Problem> {
        tool_check::check(engine, &self.definition, &self.definition.tool_input).await?;
        Ok(Command::Schedule { definition: Box::new(self.definition), held: self.held })
    }
}

/// A merge patch may only name fields that a definition has.
pub(crate) fn check_patch(patch: &Map<String, Value>) -> Result<(), Problem> {
    patch.keys().try_for_each(|name| known_field(name))
}

fn known_field(name: &str) -> Result<(), Problem> {
    // The definition itself knows its fields: one that it does not know is told apart from one that is wrong or missing.
    let alone = Value::Object(Map::from_iter([(name.to_owned(), Value::Null)]));
    match Definition::deserialize(alone) {
        Err(error) if error.to_string().starts_with("unknown field") => {
            Err(Problem::field(Code::InvalidJob, name, "is not a field of a job that can be changed"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether the patch changes what its tool has to say about.
pub(crate) fn concerns_tool(patch: &Map<String, Value>) -> bool {
    ["tool_name", "tool_input", "group"].iter().any(|name| patch.contains_key(*name))
}
