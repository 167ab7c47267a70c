//! `shell`: runs a program, or a script through `sh -c`.
//!
//! Invariant: an input never reaches a shell unless it says `script`; with a list of allowed commands, nothing
//! else starts, and no script or variable can smuggle another program in.

mod capture;
mod ending;
pub(crate) mod environment;
mod input;
mod lines;
pub(crate) mod runner;
mod running_command;
mod tail;

use std::sync::Arc;

use async_trait::async_trait;
use ordo_engine::tool::{Failure, Tool, Work};
use serde::Deserialize;
use serde_json::Value;

use self::input::ShellInput;
use self::runner::{Invocation, ProcessRunner};
use crate::confinement::{Confinement, ConfinementOptions, Limits};
use crate::fields::InputError;

/// `[tools.shell]` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellOptions {
    pub enabled: bool,
    /// Only these commands, each as a bare name or an absolute path. Arguments stay free: a program that can start
    /// others lets them through; a named tool does not.
    pub allow: Option<Vec<String>>,
    /// Variables of the server's environment that commands see besides the usual ones.
    pub environment: Vec<String>,
    /// Who runs the commands, if the server runs as root.
    pub user: Option<String>,
    /// Whether each attempt has a `/tmp` of its own, if the server runs as root.
    pub private_tmp: bool,
    pub limits: Limits,
}

impl ShellOptions {
    pub(crate) fn confinement(&self) -> ConfinementOptions<'_> {
        ConfinementOptions { user: self.user.as_deref(), private_tmp: self.private_tmp, limits: self.limits }
    }
}

impl Default for ShellOptions {
    fn default() -> ShellOptions {
        ShellOptions {
            enabled: true,
            allow: None,
            environment: Vec::new(),
            user: None,
            private_tmp: false,
            limits: Limits::default(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Shell {
    runner: Arc<ProcessRunner>,
    allow: Option<Vec<String>>,
    confinement: Confinement,
}

impl Shell {
    pub fn new(runner: Arc<ProcessRunner>, allow: Option<Vec<String>>) -> Shell {
        Shell { runner, allow, confinement: Confinement::default() }
    }

    pub fn confined(self, confinement: Confinement) -> Shell {
        Shell { confinement, ..self }
    }

    fn parse(&self, input: &Value) -> Result<Invocation, InputError> {
        let input = ShellInput::parse(input)?;
        if let Some(allow) = &self.allow {
            permit(&input, allow)?;
        }
        Ok(input.into_invocation())
    }
}

fn permit(input: &ShellInput, allow: &[String]) -> Result<(), InputError> {
    let invocation = match input {
        ShellInput::Script(_) => {
            return Err(InputError::invalid("script", "not allowed here: tools.shell.allow limits what may start"));
        }
        ShellInput::Command(invocation) => invocation,
    };
    if !allow.contains(&invocation.program) {
        let why = format!("{:?} is not among the commands of tools.shell.allow", invocation.program);
        return Err(InputError::invalid("command", why));
    }
    // PATH, LD_PRELOAD, BASH_ENV and their many relatives would start something else; so would a program that reads
    // what to do from its input, or from a file in the folder it is started in.
    let asked =
        [("env", !invocation.env.is_empty()), ("cwd", invocation.cwd.is_some()), ("stdin", invocation.stdin.is_some())];
    match asked.into_iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            let why = "not allowed together with tools.shell.allow; configure a tool of your own under tools instead";
            Err(InputError::invalid(field, why))
        }
        None => Ok(()),
    }
}

/// Programs that run whatever their arguments say: allowing one of these allows everything.
const INTERPRETERS: [&str; 23] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "xargs", "find", "make", "awk", "perl", "python",
    "python3", "ruby", "node", "php", "ssh", "sudo", "nohup", "timeout", "docker",
];

/// Those of the allowed commands that let every other one through.
pub(crate) fn loopholes(allow: &[String]) -> Vec<&str> {
    let name = |command: &'_ str| command.rsplit('/').next().unwrap_or_default().to_owned();
    allow.iter().map(String::as_str).filter(|command| INTERPRETERS.contains(&name(command).as_str())).collect()
}

#[async_trait]
impl Tool for Shell {
    fn check(&self, input: &Value) -> Result<(), String> {
        self.parse(input).map(drop).map_err(|error| error.to_string())
    }

    async fn run(&self, work: Work) -> Result<Value, Failure> {
        let invocation = self.parse(&work.input).map_err(|error| Failure::new(error.to_string()))?;
        self.runner.run(invocation, &self.confinement, &work).await
    }

    async fn sweep(&self) -> Result<usize, std::io::Error> {
        self.runner.sweep().await
    }
}
