//! A job is refused while it is being written down if its tool can never run it.

use ordo_api::{Code, FieldError};
use ordo_engine::secrets::{Mask, SecretsError};
use ordo_engine::{Engine, Tools};
use ordo_model::job::Definition;
use ordo_model::secret_reference::referred;
use serde_json::Value;

use crate::http::problem::Problem;

/// Every secret that it refers to must be there. Tools of other groups live in executors that may not be here yet:
/// their runs wait.
pub(crate) async fn check(engine: &Engine, definition: &Definition, input: &Value) -> Result<(), Problem> {
    if referred(input).is_empty() {
        return check_input(engine, definition, input);
    }
    // The tool sees what it will get; what it says about it is shown without the values.
    let resolved = engine.secrets().resolve(input).await.map_err(unresolved)?;
    check_input(engine, definition, &resolved.input).map_err(|problem| masked(&resolved.mask, &problem))
}

fn check_input(engine: &Engine, definition: &Definition, input: &Value) -> Result<(), Problem> {
    if definition.group != Definition::DEFAULT_GROUP {
        return Ok(());
    }
    let here = engine.tools().get(&definition.tool_name).filter(|_| engine.group() == definition.group);
    let Some(tool) = here else {
        // An executor elsewhere knows what its tool takes.
        if engine.offers(&definition.group, &definition.tool_name) {
            return Ok(());
        }
        return Err(plainly(Code::UnknownTool, "tool_name", unknown(engine.tools(), &definition.tool_name)));
    };
    tool.check(input).map_err(|message| plainly(Code::InvalidToolInput, "tool_input", message))
}

fn unresolved(error: SecretsError) -> Problem {
    match error {
        SecretsError::Unknown { .. } => plainly(Code::UnknownSecret, "tool_input", error.to_string()),
        error => error.into(),
    }
}

fn masked(mask: &Mask, problem: &Problem) -> Problem {
    let cover = |text: &str| mask.text(text).into_owned();
    let errors = problem.errors.iter().map(|error| FieldError { message: cover(&error.message), ..error.clone() });
    Problem { detail: cover(&problem.detail), errors: errors.collect(), code: problem.code }
}

fn plainly(code: Code, field: &str, message: String) -> Problem {
    let error = FieldError { field: field.to_owned(), message: message.clone() };
    Problem { code, detail: message, errors: vec![error] }
}

fn unknown(tools: &Tools, name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    match nearest(name, tools.keys().map(String::as_str)) {
        Some(near) => format!("unknown tool {shown:?}, did you mean {near:?}?"),
        None => {
            let known: Vec<&str> = tools.keys().map(String::as_str).collect();
            format!("unknown tool {shown:?}; there are {}", known.join(", "))
        }
    }
}

/// The closest name, if it is close enough to be a slip of the finger.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A name far beyond the limit is no slip, and comparing it would take its length squared.
    const COMPARED_BYTES: usize = 100;
    let reach = (name.chars().count() / 3).max(1);
    known
        .filter(|_| name.len() <= COMPARED_BYTES)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
