//! A job is refused while it is being written down if its tool can never run it: the engine's words as a problem.

use ordo_api::{Code, FieldError};
use ordo_engine::Engine;
use ordo_engine::secrets::SecretsError;
use ordo_engine::tool_check::ToolRefusal;
use ordo_model::job::Definition;
use serde_json::Value;

use crate::http::problem::Problem;

pub(crate) async fn check(engine: &Engine, definition: &Definition, input: &Value) -> Result<(), Problem> {
    engine.check_tool(definition, input).await.map_err(|refusal| match refusal {
        ToolRefusal::UnknownTool(message) => plainly(Code::UnknownTool, "tool_name", message),
        ToolRefusal::Input(message) => plainly(Code::InvalidToolInput, "tool_input", message),
        ToolRefusal::Secret(error @ SecretsError::Unknown { .. }) => {
            plainly(Code::UnknownSecret, "tool_input", error.to_string())
        }
        ToolRefusal::Secret(error) => error.into(),
    })
}

fn plainly(code: Code, field: &str, message: String) -> Problem {
    let error = FieldError { field: field.to_owned(), message: message.clone() };
    Problem { code, detail: message, errors: vec![error] }
}
