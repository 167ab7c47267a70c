//! Tools that a configuration names: a fixed command with places for the fields of an input.
//!
//! Invariant: an input chooses values, never the program, an argument's place or an option: a text that begins
//! with `-` does not begin an argument unless the template has put `--` before it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use serde::Deserialize;
use serde_json::Value;

use crate::confinement::{Confinement, ConfinementError, ConfinementOptions, Limits};
use crate::fields::{InputError, InputFields, kind};
use crate::shell::environment::check_env;
use crate::shell::runner::{Invocation, ProcessRunner};
use crate::template::{Template, TemplateError};

/// `[tools.named.NAME]` of the configuration. `args`, the values of `env` and `stdin` are templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDefinition {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
    pub stdin: Option<String>,
    /// Who runs the command, if the server runs as root.
    pub user: Option<String>,
    /// Whether each attempt has a `/tmp` of its own, if the server runs as root.
    #[serde(default)]
    pub private_tmp: bool,
    #[serde(default)]
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Invocation(#[from] InputError),
    #[error(transparent)]
    Confinement(#[from] ConfinementError),
}

#[derive(Debug, Clone)]
pub struct NamedTool {
    name: String,
    command: String,
    args: Vec<Template>,
    env: BTreeMap<String, Template>,
    cwd: Option<PathBuf>,
    stdin: Option<Template>,
    confinement: Confinement,
    runner: Arc<ProcessRunner>,
}

impl NamedTool {
    pub fn new(
        name: impl Into<String>,
        definition: NamedDefinition,
        runner: Arc<ProcessRunner>,
    ) -> Result<NamedTool, DefinitionError> {
        let NamedDefinition { command, args, env, cwd, stdin, user, private_tmp, limits } = definition;
        let confinement = Confinement::of(ConfinementOptions { user: user.as_deref(), private_tmp, limits })?;
        check_env(&env)?;
        let (program, limits) = (command.clone(), Limits::default());
        Invocation { program, args: args.clone(), env: env.clone(), cwd: cwd.clone(), stdin: None, limits }.check()?;
        let parse_env = |(name, value): (String, String)| Ok::<_, TemplateError>((name, value.parse()?));
        Ok(NamedTool {
            name: name.into(),
            command,
            args: args.iter().map(|arg| arg.parse()).collect::<Result<_, _>>()?,
            env: env.into_iter().map(parse_env).collect::<Result<_, _>>()?,
            cwd,
            stdin: stdin.map(|text| text.parse()).transpose()?,
            confinement,
            runner,
        })
    }

    fn fields(&self) -> BTreeSet<&str> {
        let templates = self.args.iter().chain(self.env.values()).chain(&self.stdin);
        templates.flat_map(Template::fields).collect()
    }

    fn fill(&self, input: &Value) -> Result<Invocation, InputError> {
        let values = self.values(input)?;
        self.refuse_options(&values)?;
        let env: BTreeMap<_, _> = self.env.iter().map(|(name, value)| (name.clone(), value.fill(&values))).collect();
        check_env(&env)?;
        let invocation = Invocation {
            program: self.command.clone(),
            args: self.args.iter().map(|arg| arg.fill(&values)).collect(),
            env,
            cwd: self.cwd.clone(),
            stdin: self.stdin.as_ref().map(|text| text.fill(&values)),
            limits: Limits::default(),
        };
        invocation.check().map(|()| invocation)
    }

    fn values(&self, input: &Value) -> Result<BTreeMap<&str, String>, InputError> {
        let wanted = self.fields();
        if wanted.is_empty() && input.is_null() {
            return Ok(BTreeMap::new());
        }
        let known: Vec<&str> = wanted.iter().copied().collect();
        let fields = InputFields::of(&self.name, input, &known, &example(&known))?;
        wanted.into_iter().map(|name| Ok((name, self.value(name, fields.value(name))?))).collect()
    }

    fn value(&self, field: &str, value: Option<&Value>) -> Result<String, InputError> {
        match value {
            None => Err(InputError::Incomplete(format!("{} needs the field {field:?}", self.name))),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Bool(truth)) => Ok(truth.to_string()),
            Some(other) => {
                let wanted = "text, a number or a boolean";
                Err(InputError::WrongType { field: field.to_owned(), wanted, found: kind(other) })
            }
        }
    }

    /// A file called `--delete-all` is not meant as an option. What counts is the argument as it becomes: the first
    /// field may be empty, and a number may be negative.
    fn refuse_options(&self, values: &BTreeMap<&str, String>) -> Result<(), InputError> {
        let mut before_dashes = self.args.iter().take_while(|arg| !arg.is_literally("--"));
        let option = before_dashes.find(|arg| arg.leading_field().is_some() && arg.fill(values).starts_with('-'));
        if let Some(arg) = option {
            let begins = |field: &&str| values.get(field).is_some_and(|value| value.starts_with('-'));
            let field = arg.leading_fields().find(begins).or(arg.leading_field()).unwrap_or_default();
            return Err(InputError::invalid(field, "must not begin with - here, it would be taken for an option"));
        }
        Ok(())
    }
}

fn example(fields: &[&str]) -> String {
    let pairs: Vec<String> = fields.iter().map(|field| format!("\"{field}\": …")).collect();
    format!("{{{}}}", pairs.join(", "))
}

#[async_trait]
impl Tool for NamedTool {
    fn check(&self, input: &Value) -> Result<(), String> {
        self.fill(input).map(drop).map_err(|error| error.to_string())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let invocation = self.fill(&work.input).map_err(|error| Failure::new(error.to_string()))?;
        self.runner.run(invocation, &self.confinement, &work).await
    }

    async fn sweep(&self) -> Result<usize, std::io::Error> {
        self.runner.sweep().await
    }
}
