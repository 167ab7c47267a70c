//! A job is refused while it is being written down if its tool can never run it.

use ordo_model::job::Definition;
use ordo_model::secret_reference::referred;
use serde_json::Value;

use crate::engine::Engine;
use crate::run::runner::Tools;
use crate::run::secrets::{Mask, SecretsError};

/// Why a tool will not have a job. The words are for whoever wrote the job: they show no secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolRefusal {
    #[error("{0}")]
    UnknownTool(String),
    #[error("{0}")]
    Input(String),
    /// A secret is not there, or cannot be opened.
    #[error(transparent)]
    Secret(#[from] SecretsError),
}

impl Engine {
    /// Whether the tool of a job will take this input. Every secret that it refers to must be there. Tools of other groups
    /// live in executors that may not be here yet: their runs wait.
    pub async fn check_tool(&self, definition: &Definition, input: &Value) -> Result<(), ToolRefusal> {
        if referred(input).is_empty() {
            return check_input(self, definition, input);
        }
        // The tool sees what it will get; what it says about it is shown without the values.
        let resolved = self.secrets().resolve(input).await?;
        check_input(self, definition, &resolved.input).map_err(|refusal| masked(&resolved.mask, refusal))
    }
}

fn check_input(engine: &Engine, definition: &Definition, input: &Value) -> Result<(), ToolRefusal> {
    if definition.group != Definition::DEFAULT_GROUP {
        return Ok(());
    }
    let here = engine.tools().get(&definition.tool_name).filter(|_| engine.group() == definition.group);
    let Some(tool) = here else {
        // An executor elsewhere knows what its tool takes.
        if engine.offers(&definition.group, &definition.tool_name) {
            return Ok(());
        }
        return Err(ToolRefusal::UnknownTool(unknown(engine.tools(), &definition.tool_name)));
    };
    tool.check(input).map_err(ToolRefusal::Input)
}

fn masked(mask: &Mask, refusal: ToolRefusal) -> ToolRefusal {
    match refusal {
        ToolRefusal::UnknownTool(text) => ToolRefusal::UnknownTool(mask.text(&text).into_owned()),
        ToolRefusal::Input(text) => ToolRefusal::Input(mask.text(&text).into_owned()),
        ToolRefusal::Secret(error) => ToolRefusal::Secret(error),
    }
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
