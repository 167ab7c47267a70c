//! What the shell tool is asked to do.
//!
//! Invariant: a command is started as it is written, argument by argument; only `script` goes through a shell.

use serde::Deserialize;
use serde_json::Value;

use super::environment::check_env;
use super::runner::Invocation;
use crate::confinement::Limits;
use crate::fields::{InputError, InputFields};

const FIELDS: [&str; 8] = ["command", "args", "env", "cwd", "stdin", "limits", "script", "after"];
const EXAMPLE: &str = r#"{"command": "echo", "args": ["hi"]}"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellInput {
    Command(Invocation),
    /// `sh -c`; `args` become "$1", "$2" and so on.
    Script(Invocation),
}

impl ShellInput {
    pub(crate) fn parse(input: &Value) -> Result<ShellInput, InputError> {
        let fields = InputFields::of("shell", input, &FIELDS, EXAMPLE)?;
        let args = fields.texts("args")?;
        let (command, script) = (fields.text("command")?, fields.text("script")?);
        let env = fields.text_map("env")?;
        check_env(&env)?;
        let cwd = fields.text("cwd")?;
        // What a chain brings along is read like what a webhook brought.
        let stdin = fields.text("stdin")?.or_else(|| fields.value("after").map(ToString::to_string));
        let limits = limits(fields.value("limits"))?;
        let invoke = |program: String, args: Vec<String>| {
            let invocation = Invocation { program, args, env, cwd: cwd.map(Into::into), stdin, limits };
            invocation.check().map(|()| invocation)
        };
        match (command, script) {
            (Some(command), None) => invoke(command, args).map(ShellInput::Command),
            (None, Some(script)) => {
                let all = ["-c".to_owned(), script, "sh".to_owned()].into_iter().chain(args).collect();
                invoke("sh".to_owned(), all).map(ShellInput::Script)
            }
            (Some(_), Some(_)) => Err(incomplete("both \"command\" and \"script\" are given: choose one")),
            (None, None) => Err(incomplete(
                "shell needs \"command\" (a program, with \"args\") or \"script\" (text for sh -c): did you forget it?",
            )),
        }
    }

    pub(crate) fn into_invocation(self) -> Invocation {
        match self {
            ShellInput::Command(invocation) | ShellInput::Script(invocation) => invocation,
        }
    }
}

/// Narrower ones than the tool has: no right is needed to be held to less.
fn limits(value: Option<&Value>) -> Result<Limits, InputError> {
    let Some(value) = value else { return Ok(Limits::default()) };
    let limits = Limits::deserialize(value).map_err(|error| InputError::invalid("limits", error.to_string()))?;
    match limits.zero() {
        Some(limit) => Err(InputError::invalid(format!("limits.{limit}"), "must be at least 1")),
        None => Ok(limits),
    }
}

fn incomplete(why: &str) -> InputError {
    InputError::Incomplete(why.to_owned())
}

impl Invocation {
    /// Refuses what the system could never start.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        if self.program.is_empty() {
            return Err(InputError::invalid("command", "must not be empty"));
        }
        let zero = |field: &str, text: &str| match text.contains('\0') {
            true => Err(InputError::invalid(field, "cannot hold a zero byte")),
            false => Ok(()),
        };
        zero("command", &self.program)?;
        self.args.iter().try_for_each(|arg| zero("args", arg))?;
        let Some(cwd) = &self.cwd else { return Ok(()) };
        if cwd.as_os_str().is_empty() {
            return Err(InputError::invalid("cwd", "must not be empty; leave it out to stay in the server's folder"));
        }
        zero("cwd", &cwd.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_never_split_or_joined() {
        let input = json!({"command": "echo", "args": ["a b", "$HOME; rm"], "env": {"A": "1"}, "cwd": "/tmp"});
        let ShellInput::Command(invocation) = ShellInput::parse(&input).unwrap() else { panic!("a command") };
        assert_eq!(invocation.args, ["a b", "$HOME; rm"]);
        assert_eq!(invocation.stdin, None);
    }

    #[test]
    fn a_script_goes_through_sh() {
        let parsed = ShellInput::parse(&json!({"script": "echo $1", "args": ["x"]})).unwrap();
        let ShellInput::Script(invocation) = parsed else { panic!("a script") };
        assert_eq!((invocation.program.as_str(), invocation.args.join("|")), ("sh", "-c|echo $1|sh|x".to_owned()));
    }

    #[test]
    fn what_cannot_work_is_refused_with_what_to_do() {
        let refused = |input: Value| ShellInput::parse(&input).expect_err("refused").to_string();
        assert!(refused(json!({})).contains("did you forget"));
        assert!(refused(json!({"command": "a", "script": "b"})).contains("choose one"));
        assert_eq!(refused(json!({"command": ""})), "command: must not be empty");
        assert!(refused(json!({"command": "a\0"})).contains("zero byte"));
        assert!(refused(json!({"command": "a", "cwd": ""})).contains("leave it out"));
        assert!(refused(json!({"command": "a", "env": {"ORDO_X": "1"}})).starts_with("env.ORDO_X: "));
        assert!(refused(json!({"command": "a", "limits": {"cpu_secs": 1}})).contains("cpu_seconds"));
        assert!(refused(json!({"command": "a", "limits": {"processes": 0}})).starts_with("limits.processes: "));
        assert!(refused(json!({"command": "a", "arg": []})).contains(r#"did you mean "args"?"#));
    }
}
