//! The tools of one executor, by name.
//!
//! Invariant: a name means one tool; a configured one cannot take the place of a built-in one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ordo_engine::tool::Tool;
use ordo_model::limits::TOOL_NAME_MAX_BYTES;
use serde::Deserialize;

use crate::confinement::{Confinement, ConfinementError};
use crate::http::{Http, HttpOptions};
use crate::launcher::Launcher;
use crate::named::{DefinitionError, NamedDefinition, NamedTool};
use crate::near::did_you_mean;
use crate::noop::Noop;
use crate::process::book::ProcessBook;
use crate::shell::environment::Environment;
use crate::shell::runner::ProcessRunner;
use crate::shell::{Shell, ShellOptions, loopholes};

const BUILT_IN: [&str; 3] = ["http", "noop", "shell"];

/// `[tools]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolOptions {
    pub shell: ShellOptions,
    pub http: HttpOptions,
    pub named: BTreeMap<String, NamedDefinition>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    #[error("tools.named.{0}: this is the name of a built-in tool, choose another")]
    BuiltIn(String),
    #[error("tools.named.{0}: a name is up to {TOOL_NAME_MAX_BYTES} letters, digits, -, _ and .")]
    Name(String),
    #[error("tools.named.{name}: {source}")]
    Definition { name: String, source: DefinitionError },
    #[error("tools.shell.allow: {0:?} must be a bare command name or an absolute path")]
    Allow(String),
    #[error("tools.shell.{0}")]
    Shell(ConfinementError),
}

#[derive(Clone)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    shell_is_off: bool,
    book: ProcessBook,
}

impl Toolbox {
    pub fn builtin(
        options: ToolOptions,
        book: ProcessBook,
        environment: Environment,
        launcher: Launcher,
    ) -> Result<Toolbox, ToolboxError> {
        let runner = Arc::new(ProcessRunner::new(book.clone(), environment, launcher));
        let shell_is_off = !options.shell.enabled;
        let mut toolbox = Toolbox { tools: BTreeMap::new(), shell_is_off, book };
        toolbox.put("noop", Arc::new(Noop));
        toolbox.put("http", Arc::new(Http::new(options.http)));
        check_allowed(options.shell.allow.as_deref().unwrap_or_default())?;
        for command in loopholes(options.shell.allow.as_deref().unwrap_or_default()) {
            tracing::warn!(
                command,
                "tools.shell.allow: it starts whatever its arguments say, so everything is allowed"
            );
        }
        let confinement = Confinement::of(options.shell.confinement()).map_err(ToolboxError::Shell)?;
        if options.shell.enabled {
            warn_of_root(&options.shell);
            let shell = Shell::new(runner.clone(), options.shell.allow).confined(confinement);
            toolbox.put("shell", Arc::new(shell));
        }
        for (name, definition) in options.named {
            check_name(&name)?;
            let tool = NamedTool::new(&name, definition, runner.clone());
            let tool = tool.map_err(|source| ToolboxError::Definition { name: name.clone(), source })?;
            toolbox.put(&name, Arc::new(tool));
        }
        Ok(toolbox)
    }

    /// Adds a tool, or replaces the one of that name: how an embedding program brings its own.
    pub fn put(&mut self, name: impl Into<String>, tool: Arc<dyn Tool>) {
        self.tools.insert(name.into(), tool);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    pub fn into_tools(self) -> BTreeMap<String, Arc<dyn Tool>> {
        self.tools
    }

    /// The message for a job with a tool that is not here.
    pub fn unknown(&self, name: &str) -> String {
        if name == "shell" && self.shell_is_off {
            return "the tool \"shell\" is switched off here (tools.shell.enabled in the configuration)".to_owned();
        }
        let near = did_you_mean(name, self.names());
        if !near.is_empty() {
            return format!("unknown tool {name:?}{near}");
        }
        format!("unknown tool {name:?}; there are {}", self.names().collect::<Vec<_>>().join(", "))
    }

    /// Ends what former generations left running, also when their tool is no longer offered.
    pub async fn sweep(&self) -> std::io::Result<usize> {
        let mut ended = self.book.sweep().await?;
        for tool in self.tools.values() {
            ended += tool.sweep().await?;
        }
        Ok(ended)
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Toolbox").field(&self.tools.keys()).finish()
    }
}

/// Whoever may make jobs is root, then.
fn warn_of_root(shell: &ShellOptions) {
    if shell.user.is_none() && rustix::process::geteuid().is_root() {
        tracing::warn!(
            "commands run as root, as the server does: set tools.shell.user to run them as somebody else, or run the server as another user"
        );
    }
}

fn check_name(name: &str) -> Result<(), ToolboxError> {
    if BUILT_IN.contains(&name) {
        return Err(ToolboxError::BuiltIn(name.to_owned()));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match !name.is_empty() && name.len() <= TOOL_NAME_MAX_BYTES && name.bytes().all(fits) {
        true => Ok(()),
        false => Err(ToolboxError::Name(name.to_owned())),
    }
}

/// A relative path would mean whatever the input's `cwd` makes of it.
fn check_allowed(commands: &[String]) -> Result<(), ToolboxError> {
    let fits = |command: &&String| !command.is_empty() && (!command.contains('/') || Path::new(command).is_absolute());
    match commands.iter().find(|command| !fits(command)) {
        Some(command) => Err(ToolboxError::Allow(command.clone())),
        None => Ok(()),
    }
}
