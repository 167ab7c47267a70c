//! Runs one command as a process group of its own, from intent to last line.
//!
//! Invariant: when a run returns, nothing that it had to stop is alive, and its record is gone from the book.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use bytes::Bytes;
use ordo_engine::tool::{Failure, Work};
use rustix::process::Pid;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio_util::task::AbortOnDropHandle;

use super::attend::Attended;
use super::environment::Environment;
use crate::process::book::{OpenRecord, ProcessBook};
use crate::process::group::Group;

/// One command, ready to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
    pub stdin: Option<String>,
}

/// What every tool that starts processes shares.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    book: ProcessBook,
    environment: Environment,
}

/// Dropped before anybody attends to it, it is killed.
struct Started {
    group: Group,
    child: Child,
    entry: OpenRecord,
}

impl ProcessRunner {
    pub fn new(book: ProcessBook, environment: Environment) -> ProcessRunner {
        ProcessRunner { book, environment }
    }

    pub async fn sweep(&self) -> io::Result<usize> {
        self.book.sweep().await
    }

    pub async fn run(&self, mut invocation: Invocation, work: &Work) -> Result<Value, Failure> {
        if work.cancel.is_cancelled() {
            return Err(Failure::new("stopped before it was started"));
        }
        let own = invocation.stdin.take().map(Bytes::from);
        let stdin = own.or_else(|| work.payload.as_ref().map(|payload| payload.body.clone()));
        let (runner, asked, has_stdin) = (self.clone(), work.clone(), stdin.is_some());
        let Started { group, mut child, entry } = aside(move || runner.start(&invocation, has_stdin, &asked)).await??;
        let _feed = stdin.zip(child.stdin.take()).map(|(bytes, pipe)| feed(bytes, pipe));
        let outcome = Attended::new(child, group, work.log.clone()).until_the_end(&work.cancel, &entry).await;
        aside(move || entry.close()).await?;
        outcome
    }

    fn start(&self, invocation: &Invocation, has_stdin: bool, work: &Work) -> Result<Started, Failure> {
        let mut entry = self.book.intend(work).map_err(|error| unrecorded(&error))?;
        let child = match self.spawn(invocation, has_stdin, work) {
            Ok(child) => child,
            Err(error) => {
                entry.close();
                return Err(invocation.explain(&error));
            }
        };
        let (group, pid) = group_of(&child)?;
        entry.started(pid).map_err(|error| unrecorded(&error))?;
        Ok(Started { group, child, entry })
    }

    fn spawn(&self, invocation: &Invocation, has_stdin: bool, work: &Work) -> io::Result<Child> {
        let mut command = Command::new(&invocation.program);
        command
            .args(&invocation.args)
            .env_clear()
            .envs(self.environment.for_attempt(&invocation.env, work))
            .stdin(if has_stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = &invocation.cwd {
            command.current_dir(cwd);
        }
        command.spawn()
    }
}

/// Files and forks block; the threads that attend to other runs do not wait for them.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(format!("interrupted while starting or ending the command: {error}")))
}

fn group_of(child: &Child) -> Result<(Group, i32), Failure> {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(Pid::from_raw).ok_or_else(|| Failure::new("the started command has no process number"))?;
    Ok((Group::led_by(pid), pid.as_raw_nonzero().get()))
}

fn unrecorded(error: &io::Error) -> Failure {
    Failure::new(format!("not started: cannot write to the book of processes: {error}"))
}

/// Writes beside the reading, so that neither waits for the other. A command that does not read its input is fine.
fn feed(bytes: Bytes, mut pipe: ChildStdin) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        if let Err(error) = pipe.write_all(&bytes).await {
            tracing::debug!(%error, "the command did not take all of its input");
        }
    }))
}

impl Invocation {
    fn explain(&self, error: &io::Error) -> Failure {
        if let Some(cwd) = self.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
            return Failure::new(format!("working folder not found: {:?}", cwd.display().to_string()));
        }
        let program = &self.program;
        Failure::new(match error.kind() {
            io::ErrorKind::NotFound if program.contains('/') && self.program_exists() => {
                format!("cannot start {program:?}: the interpreter named in its first line is missing")
            }
            io::ErrorKind::NotFound => format!("command not found {program:?}{}", self.forgotten_args()),
            io::ErrorKind::PermissionDenied => {
                format!("cannot start {program:?}: permission denied (is it executable?)")
            }
            io::ErrorKind::ArgumentListTooLong => {
                format!("cannot start {program:?}: its arguments and environment are too long, use stdin")
            }
            _ => format!("cannot start {program:?}: {error}"),
        })
    }

    fn program_exists(&self) -> bool {
        self.cwd.as_deref().unwrap_or(".".as_ref()).join(&self.program).exists()
    }

    fn forgotten_args(&self) -> String {
        match self.program.split_once(char::is_whitespace) {
            Some((first, rest)) if self.args.is_empty() => {
                format!(
                    ": did you forget \"args\"? Write {{\"command\": {first:?}, \"args\": [{rest:?}]}} or use \"script\""
                )
            }
            _ => String::new(),
        }
    }
}
